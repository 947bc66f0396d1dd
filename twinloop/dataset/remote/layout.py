"""The objects of a dataset in an object store, below its address.

dataset.json, config.yaml          as in a folder
manifest/IDENTITY/SHARD.json       the entry of a committed shard: its manifest line
manifest/IDENTITY.jsonl            snapshot: all entries of a finished run in one object, for faster reading
shards/SHARD/NAME.HASH.parquet     the files of a shard; the names contain their hash
lock/000007.json                   the lease of the current or last writer

IDENTITY is a hash of the properties that identify the dataset (config, seed, features, versions). It keeps a worker of
an earlier run from adding shards to another dataset that was later written to the same address.
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
