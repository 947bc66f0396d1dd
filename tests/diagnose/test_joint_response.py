"""The regression of joints on their targets."""

import numpy as np
import pytest

from twinloop.diagnose.traits.joint_response import MIN_ROWS, TAPS, joint_response

ROWS, JOINTS = 600, 3


def servo(*, pull: float, brake: float, delay_rows: int, noise: float = 0.0) -> dict[str, np.ndarray]:
    """Joints whose velocity changes by `pull` per distance from the delayed target and by `brake` per velocity."""
    rng = np.random.default_rng(0)
    target = np.cumsum(rng.normal(0, 0.05, (ROWS, JOINTS)), axis=0)
    position, velocity = np.zeros((ROWS, JOINTS)), np.zeros((ROWS, JOINTS))
    for row in range(ROWS - 1):
        distance = target[max(row - delay_rows, 0)] - position[row]
        velocity[row + 1] = (1 - brake) * velocity[row] + pull * distance + noise * rng.standard_normal(JOINTS)
        position[row + 1] = position[row] + 0.02 * velocity[row + 1]
    return {"target": target, "position": position, "velocity": velocity}


@pytest.mark.parametrize("delay", [2, 5])
def test_the_coefficients_of_a_servo_are_found_at_any_delay(delay: int):
    counts = np.ones(ROWS, bool)
    response = joint_response(
        **servo(pull=8.0, brake=0.5, delay_rows=delay), delay_rows=float(delay), groups=[([0, 1, 2], counts)]
    )
    assert response is not None
    np.testing.assert_allclose(response.kicks, [8.0 * (tap == 0) for tap in TAPS], atol=0.2)
    assert response.brake == pytest.approx(-0.5, abs=0.02)


def test_what_targets_do_not_explain_is_the_residual():
    counts = np.ones(ROWS, bool)
    response = joint_response(
        **servo(pull=8.0, brake=0.5, delay_rows=2, noise=0.1), delay_rows=2.0, groups=[([0, 1, 2], counts)]
    )
    assert response is not None
    assert response.residual_rad_s == pytest.approx(0.1, rel=0.1)


def test_a_leg_with_few_rows_does_not_count():
    few = np.arange(ROWS) < MIN_ROWS // 2
    signals = servo(pull=8.0, brake=0.5, delay_rows=2)
    assert joint_response(**signals, delay_rows=2.0, groups=[([0, 1, 2], few)]) is None
