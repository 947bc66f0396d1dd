"""Makes the bank of a policy's counterfactuals. Every finished chunk is stored, so no cell is simulated twice."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.dataset.versions import versions
from twinloop.diagnose.bank import Bank, CounterfactualCell, Simulate
from twinloop.diagnose.hypothesis import NOTHING
from twinloop.diagnose.hypothesis_set import Chunk, causes_in, chunks_of, hypotheses_of
from twinloop.diagnose.traits import TRAITS
from twinloop.durable import read_bounded, replace_file, storage_errors
from twinloop.errors import CorruptError
from twinloop.run.config import RunConfig

MAX_BYTES = 1 << 26
TRAITS_VERSION = 8
"""To be raised when a trait is measured in another way under the same name."""


def make_bank(
    config: RunConfig,
    simulate: Simulate,
    *,
    folder: Path,
    levels: int,
    episodes: int,
    seed: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Bank:
    """Simulate all counterfactual cells that are not in `folder` yet, and return the bank.

    Args:
        simulate: rolls out the policy; called once with the missing chunks.
        folder: finished chunks are stored here; its name should contain `bank_key`.
        levels: sizes at which each cause is simulated.
        episodes: episodes that `simulate` rolls out in each cell.
        on_progress: called with (cells done, cells in all).
    """
    hypotheses = hypotheses_of(config, levels=levels, seed=seed)
    chunks = chunks_of(hypotheses, episodes=episodes)
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    cells: dict[int, CounterfactualCell] = {}
    missing = []
    for chunk in chunks:
        stored = _load(folder, chunk)
        if stored is None:
            missing.append(chunk)
        else:
            cells |= zip(chunk.numbers, stored, strict=True)
    on_progress(len(cells), len(hypotheses))
    for chunk, simulated in simulate(missing) if missing else ():
        _store(folder, chunk, simulated)
        cells |= zip(chunk.numbers, simulated, strict=True)
        on_progress(len(cells), len(hypotheses))
    all_cells = [cells[number] for number in range(len(hypotheses))]
    reference = np.concatenate([cell.traits for cell in all_cells if not cell.hypothesis.sizes])
    return Bank(
        causes_in(config),
        CounterfactualCell(NOTHING, reference),
        tuple(cell for cell in all_cells if cell.hypothesis.sizes),
    )


def bank_key(
    *,
    policy: str,
    config: RunConfig,
    cameras: Sequence[str],
    levels: int,
    episodes: int,
    seed: int,
    acting: Mapping[str, Any],
) -> str:
    """A short digest of everything that a bank depends on. policy: the digest of its card."""
    chunks = chunks_of(hypotheses_of(config, levels=levels, seed=seed), episodes=episodes)
    hypotheses = [[[repr(item.ranges), dict(item.elements)] for item in chunk.hypotheses] for chunk in chunks]
    traits = [TRAITS_VERSION, *(trait.name for trait in TRAITS)]
    made_with = [policy, config.digest, versions((), films=False), episodes, seed, dict(acting)]
    content = [*made_with, hypotheses, traits, *cameras]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _file(folder: Path, chunk: Chunk) -> Path:
    return folder / f"{chunk.numbers[0]:06d}.npy"


def _store(folder: Path, chunk: Chunk, cells: list[CounterfactualCell]) -> None:
    buffer = BytesIO()
    np.save(buffer, np.stack([cell.traits for cell in cells]), allow_pickle=False)
    with storage_errors(folder):
        replace_file(_file(folder, chunk), buffer.getvalue(), scratch=folder)


def _load(folder: Path, chunk: Chunk) -> list[CounterfactualCell] | None:
    file = _file(folder, chunk)
    if not file.exists():
        return None
    try:
        parts = np.load(BytesIO(read_bounded(file, MAX_BYTES)), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise CorruptError(f"{file}: cannot be read ({error!s:.80}); delete it and run again") from None
    if parts.ndim != 3 or len(parts) != len(chunk.hypotheses) or parts.shape[2] != len(TRAITS):
        raise CorruptError(f"{file}: has shape {parts.shape}; delete it and run again")
    return [CounterfactualCell(assumed, traits) for assumed, traits in zip(chunk.hypotheses, parts, strict=True)]
