import numpy as np
import pytest

from twinloop.diagnose.causes import Cause, causes_of
from twinloop.diagnose.findings import _estimate, as_distribution
from twinloop.diagnose.interval_scale import UNSCALED
from twinloop.randomize.draw import Sampler
from twinloop.randomize.table import BY_NAME, TABLE

CAUSES = causes_of(TABLE, laid_out={})


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_row_estimates_are_plausible_and_have_intervals(cause: Cause):
    row = cause.parameter
    samples = np.random.default_rng(0).uniform(0.3, 0.6, 200) * cause.max_size
    estimate = _estimate([cause], samples[:, None], {}, UNSCALED)[0]
    low, high = estimate.interval
    assert low <= estimate.value <= high
    assert low < high or row.unit in ("things", "lights")
    if cause.side in ("low", "high"):
        assert row.plausible[0] <= low <= high <= row.plausible[1]
        values = Sampler({row.name: as_distribution(estimate)}, seed=0).draw(0, 8).values
        assert all((values[column] == estimate.value).all() for column in row.columns)
    else:
        assert estimate.value > 0


def test_an_uncertain_row_has_nominal_in_its_interval():
    cause = next(cause for cause in CAUSES if cause.row == "action_delay_ms")
    sizes = np.where(np.arange(100) < 60, 1.0, 0.0)
    estimate = _estimate([cause], sizes[:, None], {}, UNSCALED)[0]
    assert estimate.interval[0] == BY_NAME["action_delay_ms"].nominal
    assert estimate.value == pytest.approx(BY_NAME["action_delay_ms"].sensible[1])


def test_a_row_that_may_be_too_low_or_too_high_has_both_in_its_interval():
    """Without a camera only unusual light is known, not whether it is too dark or too bright."""
    low, high = (
        next(cause for cause in CAUSES if cause.name == f"lighting_intensity ({side})") for side in ("low", "high")
    )
    sizes = np.zeros((100, 2))
    sizes[:60, 1], sizes[60:, 0] = 1.0, 1.0
    estimate = _estimate([low, high], sizes, {}, UNSCALED)[0]
    assert estimate.interval == pytest.approx((low.value(1.0), high.value(1.0)))
    assert estimate.value == pytest.approx(high.value(1.0))
