"""Labels are exact by construction; here they are held against pixels."""

import numpy as np
import pytest

from tests.observe.conftest import Varied
from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.labels import boxes, keypoint_names, label
from twinloop.observe.lens import through_lens
from twinloop.observe.renderer import Renderer

OBJECT = CLASSES.index("object")
KEYPOINTS = keypoint_names(("object",))
BEFORE_THE_ARM = 4  # control periods until it reaches over the object


@pytest.mark.parametrize("distortion", [0.0, -0.1, 0.08])
@pytest.mark.parametrize("camera", ["front", "wrist", "down"])
def test_the_projected_centre_of_the_object_lands_on_its_mask(clips: dict[str, Clip], camera: str, distortion: float):
    clip = through_lens(clips[camera], distortion)
    labels = label(clip)
    masks = clip.class_ids == OBJECT
    centre = KEYPOINTS.index("object")
    # An object of which little is seen may have its centre behind a finger: those are not called visible.
    seen = labels.keypoints.visible[:, centre]
    assert seen.mean() > (0.0 if camera == "down" else 0.3)
    u, v = np.floor(labels.keypoints.px[seen, centre]).astype(int).T
    assert masks[seen][np.arange(seen.sum()), v, u].all()
    # And unoccluded on the table at the start, it is seen by the cameras that look there.
    if camera != "wrist":
        assert seen[clip.ticks < BEFORE_THE_ARM].all()


@pytest.mark.parametrize("distortion", [0.0, -0.1])
@pytest.mark.parametrize("camera", ["front", "down"])
def test_the_box_in_the_image_holds_the_seen_corners_of_the_box_in_space(clips, camera: str, distortion: float):
    clip = through_lens(clips[camera], distortion)
    labels = label(clip)
    first = KEYPOINTS.index("object.corner0")
    corners, seen = labels.keypoints.px[:, first:], labels.keypoints.visible[:, first:]
    left, top, right, bottom = labels.boxes_px[:, clip.things.boxed.index("object")].T[..., None]
    u, v = corners[..., 0], corners[..., 1]
    inside = (u >= left - 1) & (u <= right + 1) & (v >= top - 1) & (v <= bottom + 1)
    free = clip.ticks < BEFORE_THE_ARM
    assert seen[free].any()
    assert inside[free][seen[free]].all()


def test_the_box_in_the_image_is_as_tight_as_the_corners(renderer: Renderer, varied: Varied):
    """Nothing is before the cube at the start: its box is that of its projected corners, to a pixel."""
    clip = renderer.film(varied(object_yaw_deg=20), 0, masks=True, ticks=np.array([0]))["down"]
    labels = label(clip)
    corners = labels.keypoints.px[0, KEYPOINTS.index("object.corner0") :]
    expected = [*corners.min(axis=0), *corners.max(axis=0)]
    np.testing.assert_allclose(labels.boxes_px[0, clip.things.boxed.index("object")], expected, atol=1.0)


def test_the_pose_in_the_camera_agrees_with_depth(clips: dict[str, Clip]):
    """Seen from above, the object's nearest depth is its top."""
    clip = clips["down"]
    labels = label(clip)
    top = labels.poses.corners_in_camera[0, 0, :, 2].min()
    seen = clip.depth_m[0][clip.class_ids[0] == OBJECT].min()
    assert seen == pytest.approx(top, abs=1e-3)


def test_the_object_in_the_gripper_is_at_the_tool(clips: dict[str, Clip]):
    labels = label(clips["front"])
    apart = np.linalg.norm(labels.poses.things_to_camera[:, 0, :3, 3] - labels.poses.tool_to_camera[:, :3, 3], axis=1)
    assert apart.min() < 0.02


def test_boxes_of_masks():
    masks = np.zeros((3, 5, 6), bool)
    masks[0, 2, 3] = True
    masks[1, 1:4, 0:6] = True
    np.testing.assert_array_equal(boxes(masks), [[3, 2, 4, 3], [0, 1, 6, 4], [np.nan] * 4])


def test_points_behind_the_camera_have_no_pixel(clips: dict[str, Clip]):
    pixels = label(clips["wrist"]).keypoints.px
    assert np.isfinite(pixels[:, KEYPOINTS.index("tool")]).all()
