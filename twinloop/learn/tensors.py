"""Reads and writes tensors as safetensors files, which cannot run code. The header is checked before the file is read.

Layout: 8 bytes with the length of a JSON header, the header (name -> dtype, shape, offsets), the numbers.
"""

import json
import math
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from twinloop.durable import FileDigest, read_bounded, replace_file, storage_errors
from twinloop.errors import CheckpointError

MAX_HEADER_BYTES = 1 << 20
MAX_FILE_BYTES = 1 << 30  # 268 million float32 numbers
ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
DISGUISES = {b"PK\x03\x04": "a zip archive, as torch.save writes", b"\x80": "a Python pickle", b"\x7fELF": "a program"}


def write_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, str] | None = None) -> FileDigest:
    """Write the tensors to `path` atomically: readers find the old file or the new one, also after a kill."""
    with storage_errors(path):
        return replace_file(path, to_bytes(tensors, facts), scratch=path.parent)


def to_bytes(tensors: Mapping[str, Tensor], facts: Mapping[str, str] | None = None) -> bytes:
    content = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    return save(content, dict(facts or {}))


def read_tensors(path: Path, expected: Mapping[str, Tensor] | None = None) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and the metadata of a file.

    Args:
        expected: tensors with the names and shapes that the file must have; None accepts any.

    Raises:
        CheckpointError: the file is malformed, differs from `expected`, or holds NaN or infinity.
    """
    size, start = _start(path)
    header = _header(path, start, size)
    facts = header.pop("__metadata__", {})
    _look_over(path, header, size - 8 - int.from_bytes(start[:8], "little"))
    if expected is not None:
        _refuse_other(path, header, expected)
    # The whole file is read only after its header has passed all checks.
    content = read_bounded(path, MAX_FILE_BYTES, error=CheckpointError)
    if content[: len(start)] != start:
        raise CheckpointError(f"{path}: changed while it was being read")
    tensors = load(content)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise CheckpointError(f"{path}: {name}: contains NaN or infinity; finite numbers were expected")
    return tensors, facts


def _start(path: Path) -> tuple[int, bytes]:
    """Return the size of a file and its first bytes, which contain the header."""
    if not path.is_file():
        raise CheckpointError(f"{path}: is missing; a safetensors file was expected")
    with storage_errors(path), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(8 + MAX_HEADER_BYTES)
    if size > MAX_FILE_BYTES:
        raise CheckpointError(f"{path}: has {size:,} bytes; the maximum is {MAX_FILE_BYTES:,}")
    for start, kind in DISGUISES.items():
        # A valid file may begin with a one-byte signature by chance, because its first bytes are the header's length.
        if content.startswith(start) and (len(start) > 1 or not _plausible(content, size)):
            raise CheckpointError(
                f"{path}: is {kind}, which could run code when loaded; only safetensors files are read"
            )
    return size, content


def _plausible(content: bytes, size: int) -> bool:
    return len(content) > 8 and content[8:9] == b"{" and int.from_bytes(content[:8], "little") <= size - 8


def _header(path: Path, content: bytes, file_bytes: int) -> dict:
    size = int.from_bytes(content[:8], "little") if len(content) >= 8 else -1
    if not 2 <= size <= min(file_bytes - 8, MAX_HEADER_BYTES):
        raise CheckpointError(
            f"{path}: its header claims {size:,} bytes, but the file has {file_bytes:,}; it is truncated "
            "or not a safetensors file"
        )
    try:
        header = json.loads(content[8 : 8 + size])
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: its header is not JSON ({error}); a safetensors file was expected") from None
    if not isinstance(header, dict):
        raise CheckpointError(f"{path}: its header is a {type(header).__name__}; a mapping was expected")
    facts = header.get("__metadata__", {})
    if not isinstance(facts, dict) or not all(isinstance(value, str) for value in facts.values()):
        raise CheckpointError(f"{path}: __metadata__: a mapping of strings was expected")
    return header


def _look_over(path: Path, header: Mapping[str, object], room: int) -> None:
    """Check that every tensor lies inside the file, has the size of its shape, and overlaps no other."""
    places = []
    for name, entry in header.items():
        try:
            dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]  # type: ignore[index]
            size = math.prod(shape) * ITEM_BYTES[dtype]
        except (TypeError, KeyError, ValueError):
            valid = ", ".join(ITEM_BYTES)
            raise CheckpointError(f"{path}: {name}: its entry {entry!r:.80} is malformed; dtypes are {valid}") from None
        if not (0 <= start <= stop <= room and stop - start == size):
            raise CheckpointError(
                f"{path}: {name}: claims bytes {start} to {stop} of {room}; its shape {shape} takes {size}"
            )
        places.append((start, stop, name))
    places.sort()
    for (_, end, name), (begin, _, other) in pairwise(places):
        if begin < end:
            raise CheckpointError(f"{path}: {name} and {other} claim the same bytes")
    claimed = sum(stop - start for start, stop, _ in places)
    if claimed != room:
        raise CheckpointError(f"{path}: has {room:,} bytes of data, but its header claims {claimed:,}")


def _refuse_other(path: Path, header: Mapping[str, object], expected: Mapping[str, Tensor]) -> None:
    missing, extra = sorted(set(expected) - set(header)), sorted(set(header) - set(expected))
    if missing or extra:
        wrong = f"missing {', '.join(missing[:3]) or 'nothing'}; unknown {', '.join(extra[:3]) or 'nothing'}"
        raise CheckpointError(f"{path}: does not match its card: {wrong}")
    for name, tensor in expected.items():
        shape = header[name]["shape"]  # type: ignore[index]
        if tuple(shape) != tuple(tensor.shape):
            raise CheckpointError(f"{path}: {name}: has shape {shape}, but its card describes {list(tensor.shape)}")


def arrays_to_tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
