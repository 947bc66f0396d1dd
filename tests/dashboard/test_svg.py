from itertools import pairwise

import numpy as np
import pytest

from twinloop.dashboard.charts import Bar, bars
from twinloop.dashboard.svg import Axis, Plot, number, percent
from twinloop.dashboard.trajectories import bands_of


@pytest.mark.parametrize("scale", [1e-6, 0.03, 1, 7.7, 1e4, 3e9])
@pytest.mark.parametrize("offset", [-2.5, 0, 0.4, 100])
def test_ticks_are_few_even_and_on_the_axis(scale, offset):
    axis = Axis(offset * scale, (offset + 1) * scale)
    ticks = np.array(axis.ticks())
    assert 2 <= len(ticks) <= 7
    assert np.allclose(np.diff(ticks), ticks[1] - ticks[0])
    assert ticks.min() >= axis.low - 0.006 * scale
    assert ticks.max() <= axis.high + 0.006 * scale


def test_values_stay_inside_the_frame():
    values = np.array([-3.0, 8.0, 2.0])
    plot = Plot(Axis.around(values), Axis.around(values), "")
    for places, room in ((plot.x(values), plot.width), (plot.y(values), plot.height)):
        assert (places > 0).all()
        assert (places < room).all()
    assert plot.y(8.0) < plot.y(-3.0)  # up is up


def test_a_single_value_still_has_an_axis():
    assert Axis.around(np.array([5.0])).ticks()
    assert Axis.around(np.array([0.0])).ticks()
    assert Axis.around(np.array([])).ticks()


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0 %"), (1, "100 %"), (0.5, "50 %"), (0.123, "12.3 %"), (0.99999, "> 99.9 %"), (0.00001, "< 0.1 %")],
)
def test_a_share_never_claims_all_or_nothing_falsely(share, said):
    assert percent(share) == said


def test_numbers_are_short():
    assert [number(value) for value in (0, 0.05234, -4.997, 12345.6, 199)] == ["0", "0.0523", "−5", "12,346", "199"]


def test_bars_are_as_long_as_their_values():
    drawn = bars([Bar("a", 50), Bar("b", 25), Bar("c", 0)], "")
    widths = [float(part.split('"')[0]) for part in drawn.split(' width="')[1:]]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.2)
    assert widths[2] == 0


def test_a_phase_that_comes_twice_has_two_bands():
    bands = bands_of(np.arange(7) / 10, np.array([0, 0, 1, 1, 0, 2, 2]), ("reach", "grasp"))
    assert [band.name for band in bands] == ["reach", "grasp", "reach", "phase 2"]
    assert bands[0].start_s == 0
    assert bands[-1].stop_s == pytest.approx(0.6)
    assert all(before.stop_s == after.start_s for before, after in pairwise(bands))
