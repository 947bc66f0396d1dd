"""Law: every conversion has an inverse."""

import numpy as np
import pytest

from twinloop.dataset.ingest.units import UNITS, Conversion, factor


@pytest.mark.parametrize("recorded", UNITS)
def test_every_conversion_can_be_undone(recorded: str):
    values = np.random.default_rng(0).normal(size=200) * 100
    for stored, (quantity, _) in UNITS.items():
        size = factor(recorded, stored)
        if quantity != UNITS[recorded][0]:
            assert size is None
            continue
        assert size is not None
        conversion = Conversion(-size, 0.3, recorded, stored)
        assert conversion.invert(conversion.apply(values)) == pytest.approx(
            values, rel=1e-12, abs=1e-12 * abs(1 / size) + 1e-12
        )


def test_no_conversion_changes_nothing():
    values = np.arange(5, dtype=np.int64)
    assert Conversion().apply(values) is values
    assert Conversion().invert(values) is values


def test_a_half_turn_is_pi():
    assert Conversion(factor("deg", "rad") or 0).apply(np.array([180.0])) == pytest.approx([np.pi])
