"""Datasets of recordings: immutable shards, their manifest, and the LeRobot v3.0 export."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.dataset._describe import count_rejected as count_rejected
    from twinloop.dataset._describe import describe as describe
    from twinloop.dataset._merge import merge as merge
    from twinloop.dataset._query import QUERY_TIMEOUT_S as QUERY_TIMEOUT_S
    from twinloop.dataset._query import query as query
    from twinloop.dataset._verify import Problem as Problem
    from twinloop.dataset._verify import VerifyReport as VerifyReport
    from twinloop.dataset._verify import verify as verify
    from twinloop.dataset.header import Header as Header
    from twinloop.dataset.identity import dataset_digest as dataset_digest
    from twinloop.dataset.lerobot import export as export
    from twinloop.dataset.lock import WriterLock as WriterLock
    from twinloop.dataset.manifest import ShardEntry as ShardEntry
    from twinloop.dataset.reader import Dataset as Dataset
    from twinloop.dataset.shard import ShardDraft as ShardDraft
    from twinloop.dataset.shard import write_shard as write_shard
    from twinloop.dataset.transitions import STATE_FEATURES as STATE_FEATURES
    from twinloop.dataset.transitions import TransitionBatch as TransitionBatch
    from twinloop.dataset.video import encoder_version as encoder_version
    from twinloop.dataset.writer import DatasetWriter as DatasetWriter

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Dataset": "reader",
        "DatasetWriter": "writer",
        "Header": "header",
        "Problem": "_verify",
        "QUERY_TIMEOUT_S": "_query",
        "STATE_FEATURES": "transitions",
        "ShardDraft": "shard",
        "ShardEntry": "manifest",
        "TransitionBatch": "transitions",
        "VerifyReport": "_verify",
        "WriterLock": "lock",
        "count_rejected": "_describe",
        "dataset_digest": "identity",
        "describe": "_describe",
        "encoder_version": "video",
        "export": "lerobot",
        "merge": "_merge",
        "query": "_query",
        "verify": "_verify",
        "write_shard": "shard",
    },
)
