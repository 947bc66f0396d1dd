"""Laws of the posture support: residuals are excused in new postures, unless the posture itself is the fault."""

from dataclasses import replace

import numpy as np
import pytest

from twinloop.curate.discriminator.posture_support import fit_posture_support
from twinloop.curate.discriminator.trajectories import COMMAND, EFFORT, STATE, Trajectories, TrajectorySchema

JOINTS = ("shoulder", "elbow", "gripper")


@pytest.fixture
def trajectories() -> Trajectories:
    """Four episodes of an arm whose state follows its command."""
    rng = np.random.default_rng(0)
    command = np.cumsum(rng.normal(0, 0.02, (400, 3)), axis=0)
    signals = {STATE: command + 1e-3, COMMAND: command, EFFORT: rng.normal(size=(400, 3))}
    return Trajectories(
        TrajectorySchema("arm", 25.0, dict.fromkeys(signals, JOINTS)),
        attempts=np.arange(4), lengths=np.full(4, 100), signals=signals, success=np.ones(4), tasks=("move",) * 4,
    )  # fmt: skip


def moved(trajectories: Trajectories, feature: str, by: float, joint: int = 0) -> Trajectories:
    values = trajectories.signals[feature].copy()
    values[:, joint] += by
    return replace(trajectories, signals={**trajectories.signals, feature: values})


def test_nothing_is_excused_in_the_postures_of_the_training_data(trajectories: Trajectories):
    growth = fit_posture_support(trajectories).growth(trajectories)
    assert growth.keys() == {STATE, COMMAND, EFFORT}
    assert all((factor == 1).mean() >= 0.98 for factor in growth.values())


def test_the_allowance_grows_with_the_distance(trajectories: Trajectories):
    support = fit_posture_support(trajectories)
    near, far = (support.growth(moved(trajectories, STATE, by))[EFFORT].min() for by in (2.0, 6.0))
    assert 1 < near < far


def test_a_fault_does_not_excuse_itself(trajectories: Trajectories):
    """A biased state shows in the state's own model: its distance is that of the command."""
    growth = fit_posture_support(trajectories).growth(moved(trajectories, STATE, 5.0))
    assert (growth[STATE] == 1).mean() >= 0.98
    assert (growth[COMMAND] > 1).all()


def test_the_hand_is_no_part_of_the_posture(trajectories: Trajectories):
    growth = fit_posture_support(trajectories).growth(moved(trajectories, STATE, 5.0, joint=2))
    assert (growth[EFFORT] == 1).mean() >= 0.98
