import numpy as np
import pytest

from twinloop.diagnose.hypothesis import drawn, ends_of, rows_of
from twinloop.randomize.draw import Sampler
from twinloop.randomize.parameter import GAPS, Gap
from twinloop.randomize.table import BY_NAME, TABLE

THERE = {"pictures": False, "wrist": False, "touch": False, "person": False, "soft": False}


@pytest.mark.parametrize("gap", GAPS)
def test_every_draw_of_every_hypothesis_is_plausible(gap: Gap):
    rows = rows_of(gap, **THERE)
    assert rows
    for number in range(4):
        hypothesis = drawn(gap, rows, number, seed=3)
        values = Sampler(hypothesis.ranges, seed=3).draw(0, 32).values
        for row in rows:
            low, high = row.plausible
            for column in row.columns:
                inside = (values[column] >= low - 1e-9) & (values[column] <= high + 1e-9)
                assert (inside | (values[column] == row.nominal)).all(), (row.name, number)


@pytest.mark.parametrize("gap", GAPS)
def test_the_same_number_is_the_same_hypothesis_and_something_is_wrong_in_it(gap: Gap):
    rows = rows_of(gap, **THERE)
    assert drawn(gap, rows, 4, seed=1) == drawn(gap, rows, 4, seed=1)
    assert drawn(gap, rows, 4, seed=1) != drawn(gap, rows, 5, seed=1)
    assert all(drawn(gap, rows, number, seed=1).sizes for number in range(20))


def test_rows_of_things_that_are_not_there_are_not_asked_for():
    names = {row.name for gap in GAPS for row in rows_of(gap, **THERE)}
    assert not any(name.startswith(("touch_", "force_", "hand_", "occluder", "solver_")) for name in names)
    assert "lighting_intensity" in names
    more = {row.name for gap in GAPS for row in rows_of(gap, **dict.fromkeys(THERE, True))}
    assert {"force_noise_n", "touch_noise_n", "exposure_ev", "hand_speed_m_s"} <= more
    assert more == {row.name for row in TABLE if row.reach > 0}


def test_hypotheses_reach_further_than_sensible_ranges_and_no_further_than_plausible_ones():
    low, high = ends_of(BY_NAME["action_delay_ms"])
    assert low == 0
    assert BY_NAME["action_delay_ms"].sensible[1] < high <= BY_NAME["action_delay_ms"].plausible[1]


def test_a_larger_magnitude_is_further_off():
    rows = rows_of("latency", **THERE)
    small, large = (drawn("latency", rows, 2, magnitude=size, seed=1) for size in (0.2, 1.0))
    assert np.abs(list(large.sizes.values())).sum() > np.abs(list(small.sizes.values())).sum()
