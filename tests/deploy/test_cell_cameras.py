"""Images of rehearsal cells: the config's cameras, another renderer, the same in both engines."""

from pathlib import Path

import numpy as np
import pytest

from tests.deploy.conftest import need_drake, need_physx
from twinloop.deploy.rehearsal.client import RehearsalRobot
from twinloop.deploy.twin_robot import TwinRobot

FRONT = "observation.images.front"
FRONT_DEPTH = "observation.images.front_depth"
CONFIG = """
cameras:
  front: {position_m: [1.0, -0.2, 0.6], look_at_m: [0.42, -0.03, 0.1], width: 96, height: 96, depth: true}
  hand: {mount: wrist, position_m: [0.085, 0, -0.05], look_at_m: [0, 0, 0.035], rate_hz: 5, width: 64, height: 64}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cameras") / "cell.yaml"
    path.write_text(CONFIG)
    return path


def images(name: str, *, periods: int = 0) -> list[dict[str, np.ndarray]]:
    # In its own process: two renderers in one process disturb each other.
    with RehearsalRobot(name) as cell:
        cell.begin(0)
        seen = [dict(cell.observe().features)]
        command = np.array(cell.describe().home)
        command[0] += 0.3
        for _ in range(periods):
            cell.act(command)
            seen.append(dict(cell.observe().features))
        return seen


def test_readings_have_the_images_of_the_configs_cameras(config: Path):
    need_drake()
    first, *_, last = images(f"nominal,config={config}", periods=4)
    assert first[FRONT].shape == (96, 96, 3)
    assert first[FRONT].dtype == np.uint8
    moved = np.abs(last[FRONT].astype(int) - first[FRONT]).mean()
    assert moved > 2  # the arm moves, and noise differs
    np.testing.assert_array_equal(last["observation.images.hand"], first["observation.images.hand"])  # 5 Hz


def test_the_renderer_is_another_one_and_shows_the_same_scene(config: Path):
    need_drake()
    ours = images(f"nominal,config={config}")[0][FRONT].astype(int)
    with TwinRobot(str(config)) as robot:
        robot.begin(0)
        theirs = robot.observe().features[FRONT].astype(int)
    assert np.abs(ours - theirs).mean() > 5
    # The lens and the layout differ by a few pixels; the green zone is in the same place.
    np.testing.assert_allclose(green_at(ours), green_at(theirs), atol=8)


def test_depth_of_the_cell_is_that_of_the_scene_with_errors_of_its_own(config: Path):
    need_drake()
    ours_m = images(f"nominal,config={config}")[0][FRONT_DEPTH][..., 0]
    with TwinRobot(str(config)) as robot:
        robot.begin(0)
        theirs_m = robot.observe().features[FRONT_DEPTH][..., 0]
    assert ours_m.dtype == theirs_m.dtype == np.float32
    both = (ours_m > 0) & (theirs_m > 0)
    assert both.mean() > 0.5
    error = ours_m[both] / theirs_m[both] - 1
    assert np.abs(np.median(error)) < 0.03  # scale, mount and field of view
    assert 1e-4 < np.std(error[np.abs(error) < 0.05]) < 0.03
    assert 0 < (ours_m == 0).mean() < 0.5  # edges have no value


def test_both_engines_give_the_same_depth_in_every_run(config: Path):
    need_drake()
    need_physx()
    drake, again, physx = (
        images(f"{engine}:nominal,config={config}")[0][FRONT_DEPTH] for engine in ("drake", "drake", "physx")
    )
    np.testing.assert_array_equal(drake, again)
    assert np.median(np.abs(drake - physx)) < 0.001


def green_at(image: np.ndarray) -> np.ndarray:
    """Mean place of the bright green pixels. The robot's shaded side may be dark green."""
    red, green, _ = np.moveaxis(image, -1, 0)
    return np.argwhere((green - red > 20) & (green > 100)).mean(axis=0)


def test_both_engines_give_the_same_images(config: Path):
    need_drake()
    need_physx()
    one, other = (images(f"{engine}:nominal,config={config}")[0][FRONT].astype(int) for engine in ("drake", "physx"))
    assert np.abs(one - other).mean() < 1


def test_light_follows_the_visual_gap(config: Path):
    need_drake()
    normal, dark = (images(f"{cell},config={config}")[0][FRONT].mean() for cell in ("nominal", "gap=visual:1"))
    assert dark < 0.7 * normal
