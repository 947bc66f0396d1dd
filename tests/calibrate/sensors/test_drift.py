import numpy as np
import pytest

from twinloop.calibrate.sensors.drift import drift_scale, line_of


def test_a_line_is_found_again():
    rng = np.random.default_rng(0)
    time_s = np.arange(400) / 50
    line = line_of(2 + 0.3 * time_s + 0.1 * rng.standard_normal(400), time_s)
    assert line.start == pytest.approx(2, abs=0.03)
    assert line.slope == pytest.approx(0.3, abs=4 * line.slope_error)
    assert line.noise.low < 0.1 < line.noise.high


@pytest.mark.parametrize("zeroed", [False, True])
def test_the_scale_of_drift_is_in_its_interval(zeroed: bool):
    rng = np.random.default_rng(1)
    time_s, hits = np.arange(200) / 25, 0
    for _ in range(30):
        scale = 10 ** rng.uniform(-0.5, 1)
        lines = []
        for start, slope in rng.standard_normal((6, 2)):
            readings = scale * (start + slope * time_s / 10) + 0.2 * rng.standard_normal(200)
            lines.append(line_of(readings, time_s))
        result = drift_scale(lines, over_s=10, zeroed=zeroed)
        hits += result.low <= scale <= result.high
    assert hits >= 24
