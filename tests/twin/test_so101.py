"""The SO-101: dimensions, masses and directions as published, and units as lerobot tells them."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from twinloop.cli import main
from twinloop.dataset import Dataset
from twinloop.twin.robots import robots
from twinloop.twin.robots.so101 import LINKS, SO101, radians_per_unit

EXAMPLE = Path(__file__).parents[2] / "examples" / "so101_pick_and_place.yaml"


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return SO101.build().compile()


def at(model: mujoco.MjModel, **joints: float) -> mujoco.MjData:
    data = mujoco.MjData(model)
    for name, value in joints.items():
        data.joint(name).qpos = value
    mujoco.mj_forward(model, data)
    return data


def test_it_can_be_named_in_a_config():
    assert robots()["so101"] is SO101
    assert len(SO101.arm_joints) == 5


def test_its_masses_are_the_published_ones(model: mujoco.MjModel):
    moving = sum(link.mass_kg for link in LINKS)
    assert sum(model.body(link.body).mass[0] for link in LINKS) == pytest.approx(moving)
    assert moving == pytest.approx(0.485, abs=0.001)


def test_in_the_middle_of_its_ranges_it_reaches_forward(model: mujoco.MjModel):
    tool = at(model).site("tool")
    np.testing.assert_allclose(tool.xpos, [0.391, 0, 0.250], atol=0.002)
    np.testing.assert_allclose(tool.xmat.reshape(3, 3)[:, 2], [1, 0, 0], atol=0.01)


@pytest.mark.parametrize("joint", ["shoulder_lift", "elbow_flex", "wrist_flex"])
def test_positive_lowers_the_hand(model: mujoco.MjModel, joint: str):
    assert at(model, **{joint: 0.5}).site("tool").xpos[2] < at(model).site("tool").xpos[2] - 0.03


def test_the_jaw_opens_away_from_the_fixed_one(model: mujoco.MjModel):
    gaps = [
        np.linalg.norm(data.geom("moving_pad").xpos - data.geom("fixed_pad").xpos)
        for data in (at(model, gripper=angle) for angle in (0.0, 0.5, 1.0))
    ]
    assert gaps[0] < gaps[1] < gaps[2]


@pytest.mark.parametrize(("angle", "tips_mm", "behind_mm"), [(0.0, 15.8, 23.2), (-0.1745, 2.0, 13.0)])
def test_the_faces_of_the_jaws_are_as_printed(model: mujoco.MjModel, angle: float, tips_mm: float, behind_mm: float):
    """Distances of the printed parts: parallel at 0, and at the end of the range only the tips meet."""
    data = at(model, gripper=angle)
    for name, gap_mm in (("pad", tips_mm), ("root", behind_mm)):
        pads = [model.geom(f"{side}_{name}").id for side in ("fixed", "moving")]
        assert 1000 * mujoco.mj_geomDistance(model, data, *pads, 1.0, None) == pytest.approx(gap_mm, abs=1.0)
    if not angle:
        faces = [data.geom(f"{side}_pad").xmat.reshape(3, 3) for side in ("fixed", "moving")]
        assert abs(faces[0][:, 0] @ faces[1][:, 0]) == pytest.approx(1)


def test_it_holds_a_pose_against_gravity(model: mujoco.MjModel):
    data = at(model, shoulder_lift=0.3)
    data.ctrl[:] = data.qpos
    for _ in range(1000):
        mujoco.mj_step(model, data)
    assert np.abs(data.qpos - data.ctrl).max() < 0.08


def test_the_scripted_expert_picks_and_places_with_it(tmp_path: Path):
    out = tmp_path / "data"
    words = ["generate", str(EXAMPLE), "--out", str(out), "--episodes", "8", "--workers", "1", "--json"]
    assert main(words) == 0
    attempts = Dataset.open(out).attempts()
    assert sum(attempts["success"].to_pylist()) >= 7
    assert attempts.num_rows == 8


def test_a_unit_of_lerobot_is_half_a_hundredth_of_the_range():
    assert 200 * radians_per_unit(4096) == pytest.approx(2 * np.pi)
    assert 100 * radians_per_unit(1463, units=100) == pytest.approx(np.deg2rad(128.6), abs=1e-3)
