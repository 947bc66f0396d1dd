"""The labels as they are stored: finite, named, and of the picture the lens shows."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from tests.observe.conftest import CAMERAS, values_of
from twinloop.observe.camera import LABELS
from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.image import sensed
from twinloop.observe.label_ids import things_in, things_of
from twinloop.observe.labels import CORNERS, keypoint_names
from twinloop.observe.truth import BEHIND, HIDDEN, SEEN, label_features, labels_of, quaternions
from twinloop.simulate.episodes import Episodes
from twinloop.twin.entity import Fixture
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

KEYPOINTS = keypoint_names(("object",))


@pytest.fixture(params=[0.0, -0.1, 0.08])
def pair(request: pytest.FixtureRequest, clips: dict[str, Clip], few: Episodes) -> tuple[Clip, Clip]:
    """As drawn, and as a camera with a bad depth sensor delivers it."""
    clip = clips["front"]
    drawn = replace(clip, camera=replace(clip.camera, depth=True, labels=LABELS))
    values = values_of(few, 2, lens_distortion=request.param, depth_hole_share=0.5, depth_quantisation_mm=50.0)
    return drawn, sensed(drawn, values, seed=0, attempt=2, name="front")


def turn(quaternion: np.ndarray) -> np.ndarray:
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, quaternion)
    return out.reshape(3, 3)


def test_quaternions_are_those_of_the_engine():
    rng = np.random.default_rng(1)
    some = rng.normal(size=(500, 4))
    # And those where one part or another is nothing: half turns about each axis.
    some = np.concatenate([some, np.eye(4), [[1e-9, 1, 0, 0], [0, 1, 1, 0], [0, 1, -1, 1e-8]]])
    some /= np.linalg.norm(some, axis=1, keepdims=True)
    recovered = quaternions(np.array([turn(quat) for quat in some]))
    assert (recovered[:, 0] >= 0).all()
    np.testing.assert_allclose(np.abs((recovered * some).sum(axis=1)), 1, atol=1e-12)


def test_values_are_as_the_features_announce_and_finite(pair: tuple[Clip, Clip]):
    drawn, seen = pair
    features = label_features("front", drawn.camera, drawn.things)
    made = labels_of(drawn, seen)
    assert tuple(made) == LABELS
    for feature, values in zip(features, made.values(), strict=True):
        if feature.dtype == "mask":
            assert (values.shape[1:], values.dtype) == (feature.shape[:2], np.uint8)
            assert values.max() < len(feature.names)
        else:
            assert values.shape == (len(seen.rgb), len(feature.names))
            assert (values.dtype, np.isfinite(values).all()) == (np.float32, True)


@pytest.mark.parametrize("label", LABELS)
def test_each_label_is_made_alone_and_the_same(pair: tuple[Clip, Clip], label):
    drawn, seen = pair
    alone = replace(drawn, camera=replace(drawn.camera, labels=(label,)))
    (made,) = labels_of(alone, seen).values()
    np.testing.assert_array_equal(made, labels_of(drawn, seen)[label])


def test_boxes_are_of_the_stored_masks(pair: tuple[Clip, Clip]):
    drawn, seen = pair
    made, things = labels_of(drawn, seen), drawn.things
    boxes = made["boxes"].reshape(len(seen.rgb), -1, 4)
    for number, thing in enumerate(things.boxed):
        ids = [body for body in range(len(things.names)) if things.thing_of[body] == number]
        for frame in (0, len(boxes) // 2):
            mask = np.isin(made["instances"][frame], ids)
            rows, columns = np.nonzero(mask)
            if not mask.any():
                assert (boxes[frame, number] == 0).all(), thing
            else:
                wanted = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
                np.testing.assert_array_equal(boxes[frame, number], wanted, err_msg=thing)


def test_the_box_in_space_has_the_corners_that_are_keypoints(pair: tuple[Clip, Clip]):
    drawn, seen = pair
    made, lens = labels_of(drawn, seen), seen.intrinsics
    box = made["boxes_3d"][0].astype(float)
    corners = (CORNERS * box[7:]) @ turn(box[3:7]).T + box[:3]
    flat = corners[:, :2] / corners[:, 2:] * (lens.fx, lens.fy)
    square = np.square(flat).sum(axis=1, keepdims=True) / lens.half_diagonal_px**2
    wanted = flat * (1 + lens.distortion * square) + (lens.cx, lens.cy)
    points = made["keypoints"].reshape(len(seen.rgb), len(KEYPOINTS), 3)
    np.testing.assert_allclose(points[0, KEYPOINTS.index("object.corner0") :, :2], wanted, atol=1e-2)


def test_a_bad_depth_sensor_hides_no_keypoint(pair: tuple[Clip, Clip], few: Episodes):
    drawn, seen = pair
    values = values_of(few, 2, lens_distortion=seen.intrinsics.distortion)
    exact = sensed(drawn, values, seed=0, attempt=2, name="front")
    assert not np.array_equal(exact.depth_m, seen.depth_m)
    np.testing.assert_array_equal(labels_of(drawn, seen)["keypoints"], labels_of(drawn, exact)["keypoints"])


def test_visible_hidden_and_behind_are_distinguished(clips: dict[str, Clip]):
    clip = clips["front"]
    clip = replace(clip, camera=replace(clip.camera, labels=("keypoints",)))
    away = replace(clip, camera_to_world=clip.camera_to_world @ np.diag([-1.0, 1.0, -1.0, 1.0]))
    sight = labels_of(clip, clip)["keypoints"][:, 2::3]
    assert {SEEN, HIDDEN} == set(np.unique(sight))
    turned_away = labels_of(away, away)["keypoints"].reshape(-1, 3)
    assert (turned_away == BEHIND).all()


def test_things_are_known_without_drawing(twin: Twin, clips: dict[str, Clip]):
    things = things_in(twin, CAMERAS)
    assert things.names == clips["front"].names
    assert things.boxed == ("table", "robot", "object", "goal")
    assert [CLASSES[kind] for kind in things.class_of] == ["table", "robot", "object", "target"]
    assert things.names[0] == "world"


def test_classes_follow_from_entities_names_and_parent_bodies():
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom name="floor" size="1"/>
      <body name="clutter/mug"><geom size=".1"/></body>
      <body name="palm"><geom size=".1"/><body name="forearm"><geom size=".1"/></body></body>
      <body><geom size=".1"/></body>
      <body name="lamp"><geom size=".1"/></body>
      <body name="object"><geom size=".1"/></body>
      <body name="goal"><geom size=".1"/></body>
      <body name="cabinet"><geom size=".1"/><body name="cabinet.door"><geom size=".1"/></body></body>
      <body name="distractor/cup"><geom size=".1"/></body><body name="empty"/></worldbody></mujoco>""")
    fixtures = (Fixture("cabinet", lambda *_: None), Fixture("palm", lambda *_: None, person=True))
    things = things_of(model, replace(PICK_AND_PLACE, entities=(*PICK_AND_PLACE.entities, *fixtures)))
    kinds = dict(zip(("floor", *things.names[1:-1]), (CLASSES[kind] for kind in things.classes), strict=False))
    assert kinds == {
        "floor": "background", "clutter/mug": "clutter", "palm": "person", "forearm": "person", "body4": "robot",
        "lamp": "background", "object": "object", "goal": "target", "cabinet": "fixture", "cabinet.door": "fixture",
        "distractor/cup": "clutter",
    }  # fmt: skip
    assert things.boxed == (
        "clutter/mug", "palm", "forearm", "robot", "lamp", "object", "goal", "cabinet", "cabinet.door",
        "distractor/cup",
    )  # fmt: skip
    assert things.tracked_names == ("object",)
    assert CLASSES[:5] == ("background", "robot", "object", "table", "target")
