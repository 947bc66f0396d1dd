import numpy as np
import pytest

from twinloop.diagnose.findings import _reach, _wrong, as_distribution
from twinloop.diagnose.posterior import RowPosterior
from twinloop.randomize.draw import Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME, TABLE


@pytest.mark.parametrize("size", [-2.0, -0.7, 0.4, 2.0])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_row_estimates_are_plausible(row: Parameter, size: float):
    estimate = RowPosterior(row.name, size, 0.1)
    if _reach(estimate) == 0:
        return  # it cannot err to this side, and nothing is said of it
    wrong = _wrong(estimate, {})
    assert wrong.interval[0] < wrong.interval[1]
    assert wrong.interval[0] <= wrong.value <= wrong.interval[1]
    if not wrong.spread and not (row.chance is not None or row.words or row.pool):
        assert row.plausible[0] <= wrong.interval[0] < wrong.interval[1] <= row.plausible[1]
    if wrong.spread or row.chance is not None or row.words or row.pool:
        assert wrong.value > 0
        return
    low, high = row.plausible
    assert low <= wrong.value <= high
    assert np.sign(wrong.value - row.nominal) == np.sign(_reach(estimate))
    values = Sampler({row.name: as_distribution(wrong)}, seed=0).draw(0, 8).values
    assert all((values[column] == wrong.value).all() for column in row.columns)


def test_a_row_without_room_below_has_nothing_to_say_of_less():
    assert _reach(RowPosterior("action_delay_ms", -0.5, 0.1)) == 0
    assert _reach(RowPosterior("action_delay_ms", 0.5, 0.1)) > BY_NAME["action_delay_ms"].sensible[1]


def test_a_two_sided_row_has_a_spread():
    wrong = _wrong(RowPosterior("object_position_noise_cm", -0.5, 0.1), {})
    assert wrong.spread
    assert wrong == _wrong(RowPosterior("object_position_noise_cm", 0.5, 0.1), {})
