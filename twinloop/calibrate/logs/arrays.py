"""Read logs from NumPy archives: each array is one log."""

import io
import zipfile
from pathlib import Path

import numpy as np

from twinloop.calibrate.logs.log import Log
from twinloop.durable import digest_file, read_bounded
from twinloop.errors import DatasetError

MAX_BYTES = 1 << 30
COLUMN = "state"
"""Name of the column that holds the rows of an array."""


def read_array_logs(path: Path, *, rate_hz: float) -> list[Log]:
    """The logs of an archive, in natural order of their names: toss10 comes after toss9."""
    content = read_bounded(path, MAX_BYTES, error=DatasetError)
    digest = digest_file(path).sha256
    logs = []
    try:
        # NumPy refuses arrays of objects, so no pickle is loaded.
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            for name in sorted(archive.files, key=lambda text: (len(text), text)):
                rows = np.asarray(archive[name], float)
                if rows.ndim < 2:
                    continue  # a number or a list is no log
                if rows.ndim > 2:
                    raise DatasetError(f"{path}: {name} has shape {rows.shape}; (frames, elements) was expected")
                logs.append(Log(name, np.arange(len(rows)) / rate_hz, {COLUMN: rows}, digest=digest))
    except (ValueError, TypeError, AttributeError, zipfile.BadZipFile, OSError, KeyError) as error:
        raise DatasetError(f"{path}: not a NumPy archive of numbers: {error}") from None
    if not logs:
        raise DatasetError(f"{path}: has no array of shape (frames, elements); each array is one log")
    return logs
