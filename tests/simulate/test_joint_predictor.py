"""JointPredictor: joints that are late, off, or stuck are found where they will stand."""

import numpy as np
import pytest

from twinloop.simulate.joint_predictor import JointPredictor

PERIOD_S = 0.04
HOME = np.array([0.2, -0.4])


def ramp(ticks: int) -> np.ndarray:
    """(ticks, joints) commands: from home on at a steady pace, then still."""
    return HOME + np.minimum(np.arange(1, ticks + 1), 30)[:, None] * np.array([0.02, -0.01])


def followed(late: int, *, wrong_rad: float = 0.0, ticks: int = 60) -> tuple[JointPredictor, np.ndarray]:
    """After an arm that is `late` periods behind has been watched for a while, and its last command."""
    sent = ramp(ticks)
    following = JointPredictor(HOME, width=1, period_s=PERIOD_S)
    following.begin(np.zeros(1, int))
    for tick in range(ticks):
        at = HOME if tick <= late else sent[tick - 1 - late]
        following.take(at[None] + wrong_rad, sent[tick - 1][None])
    return following, sent[ticks - 2]


@pytest.mark.parametrize("late", [0, 3, 8, 14])
def test_in_the_middle_of_a_movement_a_late_arm_is_where_it_was_sent(late: int):
    following, sent = followed(late, ticks=28)
    np.testing.assert_allclose(following.believed_rad[0], sent, atol=2e-3)


def test_how_far_it_is_behind_is_told():
    assert np.abs(followed(8, ticks=28)[0].behind_rad).max() > 0.1
    assert np.abs(followed(8, ticks=60)[0].behind_rad).max() < 0.01


def test_what_encoders_say_of_home_is_their_error():
    following, sent = followed(3, wrong_rad=0.02)
    np.testing.assert_allclose(following.believed_rad[0], sent, atol=1e-6)
    np.testing.assert_allclose(following.measured_rad[0], sent, atol=1e-6)


def test_a_joint_that_stands_off_its_command_is_believed_to_stand_there():
    following = JointPredictor(HOME, width=1, period_s=PERIOD_S)
    for tick in range(100):
        following.take(HOME[None] + (0.03 if tick else 0.0), HOME[None])
    np.testing.assert_allclose(following.believed_rad[0], HOME + 0.03, atol=1e-6)


def test_rows_do_not_know_of_each_other():
    rng = np.random.default_rng(0)
    readings, sent = rng.normal(HOME, 0.02, (40, 5, 2)), rng.normal(HOME, 0.02, (40, 5, 2))
    together = JointPredictor(HOME, width=5, period_s=PERIOD_S)
    alone = JointPredictor(HOME, width=1, period_s=PERIOD_S)
    for tick in range(40):
        together.take(readings[tick], sent[tick])
        alone.take(readings[tick, 3:4], sent[tick, 3:4])
        np.testing.assert_array_equal(together.believed_rad[3:4], alone.believed_rad)
