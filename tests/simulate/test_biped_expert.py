"""The scripted walk of a humanoid: it stands, takes steps at the commanded speed, and is refused for other robots."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import twinloop as tl
from twinloop.environments.legs import LegsEmbodiment
from twinloop.environments.mobile_rollout import expert_act, mobile_rollout
from twinloop.errors import UsageError
from twinloop.run.walk import WalkConfig, walk_twin_of
from twinloop.simulate.biped_expert import BipedExpert
from twinloop.simulate.leg_kinematics import LegKinematics
from twinloop.simulate.trot import TrotExpert

WALK = """\
scene: {robot: %s}
commands: {forward_m_s: %s, sideways_m_s: 0, turn_rad_s: 0, standing_share: 0}
environment: {time_limit_s: 7}
"""


def config_of(folder: Path, robot: str, speed_m_s: float) -> WalkConfig:
    file = folder / f"{robot}.yaml"
    file.write_text(WALK % (robot, speed_m_s), encoding="utf-8")
    config = tl.load_config(file)
    assert isinstance(config, WalkConfig)
    return config


@pytest.mark.parametrize("speed_m_s", [0.0, 0.15])
def test_a_humanoid_stands_and_walks(tmp_path: Path, speed_m_s: float):
    robot = LegsEmbodiment(config_of(tmp_path, "humanoid", speed_m_s), width=2, seed=1)
    act, speeds, heights = expert_act(robot), [], []

    def watch(seen: Mapping[str, np.ndarray], tick: int) -> np.ndarray:
        speeds.append(robot.cell.base_velocity_m_s[:, 0].copy())
        heights.append(robot.cell.foot_height_m.max(axis=1))
        return act(seen, tick)

    episodes = mobile_rollout(robot, watch, 0)
    assert episodes.success.all()
    assert np.mean(speeds[150:]) == pytest.approx(speed_m_s, abs=0.1)
    lifted = np.max(heights[50:]) > robot.twin.foot_rest_m + 0.03
    assert lifted == (speed_m_s > 0)


def test_feet_are_where_the_joint_angles_put_them(tmp_path: Path):
    legs = LegKinematics(walk_twin_of(config_of(tmp_path, "humanoid", 0.0)))
    places = legs.feet_m + np.array([[0.05, 0.02, 0.06], [-0.04, -0.03, 0.03]])
    turns = np.broadcast_to(np.eye(3), (1, 2, 3, 3))
    angles = legs.home[None]
    for _ in range(3):
        angles = legs.solved(angles, places[None], turns)
    np.testing.assert_allclose(legs.feet_of(angles)[0], places, atol=1e-4)


def test_a_scripted_walk_is_refused_for_robots_with_other_legs(tmp_path: Path):
    quadruped, humanoid = (walk_twin_of(config_of(tmp_path, name, 0.1)) for name in ("quadruped", "humanoid"))
    with pytest.raises(UsageError, match="two legs of 6 joints; quadruped"):
        BipedExpert(quadruped, width=1)
    with pytest.raises(UsageError, match="quadrupeds with 3 joints a leg; humanoid"):
        TrotExpert(humanoid, width=1)
