"""Datasets in an object store, at any fsspec address such as `s3://bucket/run`.

Shards, manifest entries and digest are the same as in a folder. `layout.py` lists the objects.

A commit is atomic because of two properties of the store: an object appears complete or not at all, and it can be
created on condition that it does not exist (a conditional PUT, If-None-Match). A shard's files are uploaded first,
under names that contain their hash. Then one object, the shard's entry, is created. A kill in between leaves files
without an entry, which readers ignore.
"""
