"""Which diagnoses change the ranges of the next round."""

from dataclasses import replace

import pytest

from tests.diagnose.test_plan import report, wrong
from tests.pipeline.loop.test_steps import ranged
from twinloop.calibrate.robot_twin import diagnosed_config
from twinloop.diagnose.report import GapReport

DELAY = "action_delay_ms"


def diagnosis(*, predicted: float | None, p_value: float | None) -> GapReport:
    """A report on a robot that succeeds in 20 of 40 episodes, with an estimated delay."""
    late = report({"latency": 40.0}, {"latency": (wrong(DELAY, 80.0, 10.0),)})
    return replace(late, predicted=predicted, unmodelled=replace(late.unmodelled, success_p_value=p_value))


@pytest.mark.parametrize(
    ("predicted", "p_value", "changes"),
    [
        (0.5, 0.6, True),
        (0.9, 0.1, True),  # more than the robot's, and possible by chance
        (1.0, 0.001, False),  # lacks what makes the robot fail
        (0.1, 1.0, False),  # too severe
        (None, None, False),  # was not simulated
    ],
)
def test_ranges_change_only_if_the_explanation_predicts_the_success_of_the_robot(
    predicted: float | None, p_value: float | None, changes: bool
):
    report = diagnosis(predicted=predicted, p_value=p_value)
    config = diagnosed_config(ranged(1.0), report, calibrated=frozenset())
    assert (DELAY in config.randomization) is changes
    assert (config == ranged(1.0)) is not changes
