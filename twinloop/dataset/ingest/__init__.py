"""Real recordings -> Dataset: LeRobot folders, robomimic HDF5 files, and logs with a mapping."""

from twinloop.dataset.ingest.ingest import CONVERSIONS, Ingested, IngestProgress, ingest, stored_qualities
from twinloop.dataset.ingest.mapping import MappingConfig, load_mapping
from twinloop.dataset.ingest.open_source import open_source
from twinloop.dataset.ingest.options import IngestOptions
from twinloop.dataset.ingest.shaping import restored

__all__ = [
    "CONVERSIONS",
    "IngestOptions",
    "IngestProgress",
    "Ingested",
    "MappingConfig",
    "ingest",
    "load_mapping",
    "open_source",
    "restored",
    "stored_qualities",
]
