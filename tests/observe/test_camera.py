import numpy as np
import pytest

from twinloop.errors import ConfigError
from twinloop.observe.camera import CameraConfig, Mount, default_cameras, intrinsics_of
from twinloop.observe.clearance import refuse_blocked
from twinloop.twin.twin import Twin


def camera(mount: Mount = "fixed", position=(1.0, 0.2, 0.5), look_at=(0.4, 0.0, 0.0)) -> CameraConfig:
    return CameraConfig(mount, position, look_at, 45.0, 64, 48, 25)


@pytest.mark.parametrize("look_at", [(0.4, 0.0, 0.0), (1.0, 0.2, 0.0), (1.0, 0.2, 2.0), (-2.0, 0.2, 0.5)])
@pytest.mark.parametrize("mount", ["fixed", "wrist"])
def test_axes_are_a_right_handed_frame_that_looks_at_its_point(mount, look_at):
    one = camera(mount, look_at=look_at)
    np.testing.assert_allclose(one.axes.T @ one.axes, np.eye(3), atol=1e-12)
    assert np.linalg.det(one.axes) == pytest.approx(1)
    forward = np.subtract(look_at, one.position_m)
    np.testing.assert_allclose(one.axes[:, 2], forward / np.linalg.norm(forward), atol=1e-12)


def test_a_fixed_camera_stands_upright():
    assert camera().axes[2, 1] < 0  # down in the image is down in the world
    assert camera().axes[2, 0] == pytest.approx(0)


def test_intrinsics_are_those_of_the_field_of_view():
    intrinsics = intrinsics_of(camera(), 90.0, 0.0)
    assert intrinsics.fy == pytest.approx(24)
    assert (intrinsics.fx, intrinsics.cx, intrinsics.cy) == (intrinsics.fy, 32, 24)


def test_the_default_cameras_see_past_everything(twin: Twin):
    refuse_blocked(twin, default_cameras(rate_hz=25))


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (camera(position=(0.46, -0.13, 0.01)), ["cameras.top.position_m", "geom 'object'", "the world"]),
        (camera(position=(0.4, 0.1, -0.02)), ["geom 'table'"]),
        (camera(position=(0.4, 0.1, -0.4)), ["geom 'table_base'"]),
        (camera(position=(1.0, 0.1, -0.9)), ["geom 'floor'"]),
        (camera(position=(0.0, 0.0, 0.2)), ["body 'robot/link1'"]),
        (camera("wrist", (0.0, 0.05, -0.07), (0.0, 0.0, 0.1)), ["body 'robot/hand'", "tool frame"]),
    ],
)
def test_a_camera_inside_a_body_is_refused_by_name(twin: Twin, one: CameraConfig, words: list[str]):
    with pytest.raises(ConfigError) as error:
        refuse_blocked(twin, {"side": camera(), "top": one})
    assert all(word in str(error.value) for word in words), error.value
