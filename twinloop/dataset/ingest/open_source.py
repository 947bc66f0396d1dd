"""Which format is it? By what is there, not by what it is called alone."""

from pathlib import Path

from twinloop.dataset.ingest.lerobot_folder import INFO, read_info
from twinloop.dataset.ingest.lerobot_v2 import LerobotV2
from twinloop.dataset.ingest.lerobot_v3 import LerobotV3
from twinloop.dataset.ingest.logs import Logs
from twinloop.dataset.ingest.mapping import MappingConfig
from twinloop.dataset.ingest.robomimic import Robomimic
from twinloop.dataset.ingest.source import IngestSource
from twinloop.errors import UsageError

HDF5 = (".hdf5", ".h5")


def open_source(path: Path, mapping: MappingConfig | None = None) -> IngestSource:
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if path.is_dir() and (path / INFO).exists():
        return LerobotV3(path) if read_info(path).version == "v3.0" else LerobotV2(path)
    if path.is_dir() and (path / "meta").is_dir():
        raise UsageError(f"{path}: looks like a LeRobot dataset, but {INFO} is missing")
    if path.is_file() and path.suffix.lower() in HDF5:
        return Robomimic(path)
    return Logs(path, mapping)
