"""Pictures show the shape that was drawn, and the sponge as it is squeezed; masks and boxes agree."""

import numpy as np
import pytest

from tests.conftest import Simulate
from tests.observe.conftest import CAMERAS
from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.labels import keypoint_names, label
from twinloop.observe.renderer import Renderer
from twinloop.randomize.distribution import Constant
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.shapes import SHAPES
from twinloop.twin.twin import Twin

OBJECT = CLASSES.index("object")
KEYPOINTS = keypoint_names(("object",))
START = np.array([0])


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "cut"])
def shaped(request, renderer: Renderer, twin: Twin) -> tuple[Twin, Renderer]:
    assert renderer
    able = assemble(twin.robot, twin.task, twin.object, features=Features(shapes=True, two_materials=request.param))
    return able, Renderer(able, {"down": CAMERAS["down"]})


def pictured(shaped: tuple[Twin, Renderer], simulate: Simulate, number: float) -> Clip:
    able, renderer = shaped
    episodes = simulate(1, of=able, ranges={"object_shape": Constant(number), "object_yaw_deg": Constant(20.0)})
    return renderer.film(episodes, 0, masks=True, ticks=START)["down"]


def area_m2(clip: Clip) -> float:
    """Of the object's outline, seen from above: pixels at their depth."""
    seen = clip.class_ids[0] == OBJECT
    return float(np.square(clip.depth_m[0][seen] / clip.intrinsics.fx).sum())


OUTLINES_M2 = {
    "box": 0.04**2,
    "cylinder": np.pi * 0.02**2,
    "capsule": np.pi * 0.02**2 + 0.024 * 0.04,
    "ellipsoid": np.pi * 0.026 * 0.02,
    "hammer": 2 * 0.025 * 0.024 + 0.014 * 0.052,
    "tee": 0.052 * 0.04,
    "ell": 0.052 * 0.034,
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_outline_of_a_shape_is_its_own(shaped: tuple[Twin, Renderer], simulate: Simulate, name: str):
    clip = pictured(shaped, simulate, float(SHAPES.index(name)))
    # Some pixels of an outline of a dozen pixels are on the edge; and depth differs over a tee.
    np.testing.assert_allclose(area_m2(clip), OUTLINES_M2[name], rtol=0.15)


@pytest.mark.parametrize("name", SHAPES)
def test_the_centre_lands_on_the_mask_and_the_box_holds_it(
    shaped: tuple[Twin, Renderer], simulate: Simulate, name: str
):
    clip = pictured(shaped, simulate, float(SHAPES.index(name)))
    labels = label(clip)
    assert labels.keypoints.visible[0, KEYPOINTS.index("object")]
    corners = labels.keypoints.px[0, KEYPOINTS.index("object.corner0") :]
    left, top, right, bottom = labels.boxes_px[0, clip.things.boxed.index("object")]
    low, high = corners.min(axis=0) - 1, corners.max(axis=0) + 1
    assert low[0] <= left < right <= high[0]
    assert low[1] <= top < bottom <= high[1]


def test_a_stage_shows_each_shape_after_any_other(shaped: tuple[Twin, Renderer], simulate: Simulate):
    first = pictured(shaped, simulate, 0.0)
    pictured(shaped, simulate, float(SHAPES.index("hammer")))
    np.testing.assert_array_equal(pictured(shaped, simulate, 0.0).rgb, first.rgb)


def test_the_scenes_own_shape_is_drawn_where_none_is(renderer: Renderer, twin: Twin, simulate: Simulate):
    """A twin that could have any shape shows the cube exactly as one that can have no other."""
    episodes = simulate(1, ranges={})
    able = assemble(twin.robot, twin.task, twin.object, features=Features(shapes=True))
    for name, clip in Renderer(able, CAMERAS).film(episodes, 0, masks=True, ticks=START).items():
        np.testing.assert_array_equal(clip.rgb, renderer.film(episodes, 0, masks=True, ticks=START)[name].rgb)


def test_a_squeezed_sponge_is_seen_to_be_narrower(renderer: Renderer, twin: Twin, simulate: Simulate):
    assert renderer
    spongy = assemble(twin.robot, twin.task, OBJECTS["sponge"])
    episodes = simulate(1, of=spongy, ranges={"object_stiffness_kpa": Constant(50.0)})
    clip = Renderer(spongy, {"down": CAMERAS["down"]}).film(episodes, 0, masks=True, ticks=START)["down"]
    half = spongy.object.half_extents_m
    np.testing.assert_allclose(area_m2(clip), 4 * half[0] * half[1], rtol=0.15)
    labels = label(clip)
    corners = labels.keypoints.px[0, KEYPOINTS.index("object.corner0") :]
    expected = [*corners.min(axis=0), *corners.max(axis=0)]
    np.testing.assert_allclose(labels.boxes_px[0, clip.things.boxed.index("object")], expected, atol=1.0)

    def across(tick: int) -> float:
        """Pixels of the block seen from the hand, which turns with it, along the axis on which it closes."""
        view = Renderer(spongy, {"wrist": CAMERAS["wrist"]})
        seen = view.film(episodes, 0, masks=True, ticks=np.array([tick]))["wrist"].class_ids[0] == OBJECT
        columns = np.flatnonzero(seen.any(axis=0))
        return float(columns[-1] - columns[0])

    names = [phase.name for phase in spongy.task.phases]
    grasp = int(np.flatnonzero(episodes["phase"][:, 0] == names.index("grasp"))[0])
    held = int(np.flatnonzero(episodes["phase"][:, 0] == names.index("lift"))[3])
    assert across(held) < 0.9 * across(grasp)
