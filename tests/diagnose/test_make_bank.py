"""The bank is made by a simulator that is passed in; stored chunks are not simulated again."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from twinloop.diagnose.bank import Bank, CounterfactualCell
from twinloop.diagnose.hypothesis_set import Chunk
from twinloop.diagnose.make_bank import make_bank
from twinloop.diagnose.traits import TRAITS
from twinloop.errors import CorruptError
from twinloop.run.default import embedded_config

EPISODES = 5


class Simulator:
    """Traits are the number of the cell. stop_after: chunks after which it fails, as a killed run does."""

    def __init__(self, stop_after: int | None = None):
        self.simulated: list[int] = []
        self._stop_after = stop_after

    def __call__(self, chunks: Sequence[Chunk]):
        for chunk in chunks:
            if len(self.simulated) == self._stop_after:
                raise KeyboardInterrupt
            self.simulated.append(chunk.numbers[0])
            cells = [
                CounterfactualCell(hypothesis, np.full((EPISODES, len(TRAITS)), float(number)))
                for number, hypothesis in zip(chunk.numbers, chunk.hypotheses, strict=True)
            ]
            yield chunk, cells


def made(folder: Path, simulator: Simulator) -> Bank:
    return make_bank(embedded_config(), simulator, folder=folder, levels=2, episodes=EPISODES, seed=1)


def test_a_stopped_bank_continues_with_the_missing_chunks(tmp_path: Path):
    whole = Simulator()
    bank = made(tmp_path / "whole", whole)
    stopped, rest = Simulator(stop_after=2), Simulator()
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path / "parts", stopped)
    again = made(tmp_path / "parts", rest)
    assert stopped.simulated + rest.simulated == whole.simulated
    assert len(again.cells) == len(bank.cells)
    for one, other in zip((bank.reference, *bank.cells), (again.reference, *again.cells), strict=True):
        np.testing.assert_array_equal(one.traits, other.traits)
        assert one.hypothesis == other.hypothesis


def test_a_damaged_chunk_is_named(tmp_path: Path):
    made(tmp_path, Simulator())
    file = min(tmp_path.glob("*.npy"))
    file.write_bytes(b"garbage")
    with pytest.raises(CorruptError, match=rf"{file.name}: cannot be read .*delete it and run again"):
        made(tmp_path, Simulator())
