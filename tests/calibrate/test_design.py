"""Excitation: motions within the limits that tell more than others, played through the safety filter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.calibrate.config_bench import read_run_logs
from twinloop.calibrate.design import ExcitationPlan, design_excitation
from twinloop.deploy.description import description_of
from twinloop.deploy.play import play
from twinloop.deploy.robot import Description
from twinloop.errors import UsageError
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of


def so101() -> tuple[RunConfig, Description]:
    config = config_from_text("scene: {robot: so101}", name="cell.yaml", folder=Path())
    return config, description_of(twin_of(config), id="twin", lockstep=True)


@pytest.fixture(scope="module")
def plan() -> ExcitationPlan:
    return design_excitation(*so101(), seconds=4, candidates=4, seed=0)


def test_motions_keep_to_the_limits_and_begin_and_end_at_home(plan: ExcitationPlan):
    _, about = so101()
    (motion,) = plan.motions
    low, high = about.limits.position.T
    velocity = np.diff(motion, axis=0) * plan.rate_hz
    acceleration = np.diff(velocity, axis=0) * plan.rate_hz
    assert motion.shape == (100, 6)
    assert ((motion >= low) & (motion <= high)).all()
    assert (np.abs(velocity) <= about.limits.velocity).all()
    assert (np.abs(acceleration[:, :5]) <= about.limits.acceleration[:5]).all()
    assert np.abs(motion[[0, -1]] - about.home).max() < 0.02
    assert np.ptp(motion[:, :5], axis=0).min() > 0.1


def test_the_chosen_motion_is_expected_to_tell_more_than_the_median_one(plan: ExcitationPlan):
    assert np.log(list(plan.std.values())).sum() <= np.log(list(plan.typical_std.values())).sum()
    assert "elbow_flex.stiffness_nm_rad" in plan.known


def test_no_motion_is_chosen_twice_while_there_are_others():
    first, second = design_excitation(*so101(), seconds=4, motions=2, candidates=2, seed=0).motions
    assert not np.array_equal(first, second)


def test_an_excitation_that_would_leave_the_workspace_is_refused():
    config, about = so101()
    far = replace(about.limits, workspace_m=np.array([[0.1, 0.12], [-0.5, 0.5], [0.0, 0.7]]))
    with pytest.raises(UsageError, match=r"--robot twin: .*the tool would leave the workspace.*`workspace_m`"):
        design_excitation(config, replace(about, limits=far), seconds=4, candidates=1, seed=0)


def test_a_robot_of_another_model_is_refused():
    config, about = so101()
    with pytest.raises(UsageError, match="is a xarm7, and the config has robot so101; give the config"):
        design_excitation(config, replace(about, robot="xarm7"), seconds=4, candidates=1, seed=0)


def test_motions_are_played_through_the_safety_filter_and_logged(plan: ExcitationPlan, tmp_path: Path):
    (tmp_path / "cell.yaml").write_text("scene: {robot: so101}\n")
    name = f"twin:{tmp_path / 'cell.yaml'}"
    result = play(name, tmp_path / "log", plan.motions, stop_file=tmp_path / "stop")
    assert (result.played, result.stopped) == (1, "")
    (log,) = read_run_logs(result.path)
    assert len(log) == 100
    assert np.abs(log.columns["command"] - plan.motions[0]).mean() < 0.05
