"""Summary of a dataset as plain JSON, the output of `twinloop info`."""

from collections import Counter
from pathlib import Path

import pyarrow as pa

from twinloop.curate.verdict import ACCEPTED, current_verdict
from twinloop.durable import storage_errors

from ._install import installed_export
from .reader import Dataset

DRAW_PREFIX = "draw/"


def describe(path: Path | str) -> dict:
    """Return counts, size, features, drawn ranges and versions of the dataset at `path`."""
    dataset = Dataset.open(path)
    header, attempts, digest = dataset.header, dataset.attempts(), dataset.digest()
    verdicts: Counter[str] = Counter(map(current_verdict, attempts["verdict"].to_pylist()) if dataset.entries else [])
    accepted = verdicts.pop(ACCEPTED, 0)
    with storage_errors(dataset.path):
        file_stats = [file.stat() for file in dataset.path.rglob("*") if file.is_file()]
        # The export's videos are hard links to the shards' videos, so each inode is counted once.
        size = sum({(stat.st_dev, stat.st_ino): stat.st_size for stat in file_stats}.values())
    return {
        "path": str(dataset.path),
        "name": header.name,
        "source": header.source,
        "robot": header.robot,
        "fps": header.fps,
        "digest": digest,
        "complete": dataset.complete,
        "exported": installed_export(dataset.path, digest),
        "episodes": {
            "planned": header.episodes,
            "attempted": attempts.num_rows,
            "accepted": accepted,
            "stored": dataset.stored,
            "rejected": dict(sorted(verdicts.items())),
        },
        "failures": _failures(attempts),
        "frames": dataset.frame_count,
        "hours": dataset.frame_count / header.fps / 3600,
        "bytes": size,
        "features": [
            {
                "name": feature.name,
                "dtype": feature.dtype,
                "shape": list(feature.shape),
                "unit": feature.unit,
                "names": list(feature.names),
            }
            for feature in header.features
        ],
        "phases": list(header.phases),
        "draws": _draw_ranges(attempts),
        "config_digest": header.config_digest,
        "run_seed": header.run_seed,
        "versions": dict(header.versions),
    }


def count_rejected(dataset: Dataset) -> dict[str, int]:
    """Return verdict -> number of rejected attempts, as in `describe`. Only one column is read."""
    verdicts = Counter[str]()
    for entry in dataset.entries:
        verdicts.update(map(current_verdict, dataset.episodes(entry, ["verdict"])["verdict"].to_pylist()))
    del verdicts[ACCEPTED]
    return dict(sorted(verdicts.items()))


def _failures(attempts: pa.Table) -> dict[str, int]:
    """Return failure name -> number of attempts, the most common first."""
    names = attempts["failure"].to_pylist() if "failure" in attempts.column_names else []
    return dict(Counter(sorted(name for name in names if name)).most_common())


def _draw_ranges(attempts: pa.Table) -> dict[str, dict]:
    """Return parameter name -> {min, max} for numbers, {values} for texts."""
    ranges = {}
    for column in attempts.column_names:
        if column.startswith(DRAW_PREFIX):
            name, values = column.removeprefix(DRAW_PREFIX), attempts[column]
            if pa.types.is_floating(values.type) or pa.types.is_integer(values.type):
                known = values.drop_null().to_numpy()
                if len(known):
                    ranges[name] = {"min": known.min().item(), "max": known.max().item()}
            else:
                ranges[name] = {"values": sorted(map(str, set(values.drop_null().to_pylist())))}
    return ranges
