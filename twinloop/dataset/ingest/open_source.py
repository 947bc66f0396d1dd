"""Detect the format of a source by its files, and open it."""

from pathlib import Path

from twinloop.dataset.ingest.lerobot_folder import INFO, read_info
from twinloop.dataset.ingest.lerobot_v2 import LerobotV2
from twinloop.dataset.ingest.lerobot_v3 import LerobotV3
from twinloop.dataset.ingest.logs import Logs
from twinloop.dataset.ingest.mapping import MappingConfig
from twinloop.dataset.ingest.robomimic import Robomimic
from twinloop.dataset.ingest.source import IngestSource
from twinloop.durable import require_utf8
from twinloop.errors import UsageError

HDF5 = (".hdf5", ".h5")
LEROBOT_V1 = ("meta_data/info.json", "train/dataset_info.json", "train/state.json", "dataset_info.json")


def open_source(path: Path, mapping: MappingConfig | None = None) -> IngestSource:
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    require_utf8(path.resolve())
    if path.is_dir() and (path / INFO).exists():
        return LerobotV3(path) if read_info(path).version == "v3.0" else LerobotV2(path)
    if path.is_dir() and _is_lerobot_v1(path):
        raise UsageError(
            f"{path}: this is a LeRobot v1 dataset (Arrow files of Hugging Face datasets), which cannot be read. "
            "Convert it with LeRobot (lerobot/common/datasets/v2/convert_dataset_v1_to_v2.py) and ingest the result"
        )
    if path.is_dir() and (path / "meta").is_dir():
        raise UsageError(f"{path}: looks like a LeRobot dataset, but {INFO} is missing")
    if path.is_file() and path.suffix.lower() in HDF5:
        return Robomimic(path)
    return Logs(path, mapping)


def _is_lerobot_v1(path: Path) -> bool:
    arrow = any(path.glob("*.arrow")) or any(path.glob("train/*.arrow"))
    return arrow or any((path / name).exists() for name in LEROBOT_V1)
