"""Datasets in an object store: the same shards, manifest and digest under any fsspec address, as `s3://bucket/run`.

An object appears whole or not at all, and can be created only if nobody else has (a conditional PUT, If-None-Match).
That is all the atomic commit needs: files are put under names made of their content, then one object, the shard's
entry, is created. What a kill leaves is files that nothing names. layout.py says where things are.
"""
