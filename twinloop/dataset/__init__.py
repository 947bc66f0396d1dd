"""Datasets of recordings: immutable shards, their manifest, and the LeRobot v3.0 export."""

from twinloop.durable import FileDigest

from .describe import describe
from .header import Header
from .identity import dataset_digest
from .lerobot import export
from .lock import WriterLock
from .manifest import ShardEntry
from .merge import merge
from .query import QUERY_TIMEOUT_S, query
from .reader import Dataset
from .shard import ShardDraft, write_shard
from .transitions import STATE_FEATURES, TransitionBatch
from .verify import Problem, VerifyReport, verify
from .video import encoder_version
from .writer import DatasetWriter

__all__ = [
    "QUERY_TIMEOUT_S",
    "STATE_FEATURES",
    "Dataset",
    "DatasetWriter",
    "FileDigest",
    "Header",
    "Problem",
    "ShardDraft",
    "ShardEntry",
    "TransitionBatch",
    "VerifyReport",
    "WriterLock",
    "dataset_digest",
    "describe",
    "encoder_version",
    "export",
    "merge",
    "query",
    "verify",
    "write_shard",
]
