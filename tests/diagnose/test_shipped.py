"""Figures that are shipped with the package: they are read, and a broken file is named."""

import pytest

from twinloop.diagnose.engine_spread import engine_spread
from twinloop.diagnose.shipped import shipped_figures
from twinloop.errors import CorruptError


def test_the_shipped_spread_was_measured_in_several_cells():
    spread = engine_spread()
    assert spread.cells.max() >= 2
    assert spread.squares.max() > 0
    assert spread.relative > 0


def test_a_shipped_file_without_its_measurements_is_named():
    with pytest.raises(CorruptError, match=r"engine_spread\.json \(shipped\).*rows.*install twinloop again"):
        shipped_figures("engine_spread.json", "rows", len)
