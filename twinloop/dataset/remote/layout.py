"""Where things are below the address of a dataset in an object store.

dataset.json, config.yaml          as in a folder
manifest/IDENTITY/SHARD.json       the entry of a committed shard: its line of a manifest
manifest/IDENTITY.jsonl            all entries of a finished run in one object, to read fewer
shards/SHARD/NAME.HASH.parquet     its files, under names made of their content
lock/000007.json                   who writes, or wrote last

IDENTITY is of what makes the dataset this one and no other (config, seed, features, versions). A worker that outlives
its run, and the dataset's replacement by another, can add nothing to that other.
"""

from twinloop.dataset.header import Header
from twinloop.dataset.identity import dataset_digest
from twinloop.dataset.layout import SHARDS
from twinloop.durable import FileDigest

MANIFESTS = "manifest"
LEASES = "lock"
LETTERS = 16


def identity(header: Header) -> str:
    return dataset_digest(header, ())[:LETTERS]


def entry_key(identity: str, shard: str) -> str:
    return f"{MANIFESTS}/{identity}/{shard}.json"


def snapshot_key(identity: str) -> str:
    return f"{MANIFESTS}/{identity}.jsonl"


def file_key(shard: str, name: str, file: FileDigest) -> str:
    stem, _, suffix = name.rpartition(".")
    return f"{SHARDS}/{shard}/{stem}.{file.sha256[:LETTERS]}.{suffix}"
