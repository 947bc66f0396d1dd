"""Occluders hide the drawn share and stay outside the workspace; people and things are in the images."""

from collections.abc import Mapping

import numpy as np
import pytest

from tests.conftest import SEED_RANGES, Simulate
from tests.observe.conftest import CAMERAS
from twinloop.observe.camera import CameraConfig
from twinloop.observe.clearance import refuse_blocked
from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.occluders import NEAREST_M, PREFIX, ROOM_CENTRE_M, ROOM_M
from twinloop.observe.projection import inverse
from twinloop.observe.renderer import Renderer
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.hand_path import hand_poses
from twinloop.simulate.episodes import Episodes
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.surroundings import Kind
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

KINDS: frozenset[Kind] = frozenset({"occluders", "distractors", "item", "bystander"})
OBJECT = CLASSES.index("object")
VIEWS: Mapping[str, CameraConfig] = {
    "front": CameraConfig("fixed", (1.2, -0.3, 0.65), (0.46, -0.13, 0.02), 20.0, 160, 160, 25),
    "side": CameraConfig("fixed", (0.5, -1.3, 0.5), (0.46, -0.13, 0.02), 20.0, 160, 160, 25),
    "wrist": CAMERAS["wrist"],
}


@pytest.fixture(scope="module")
def hidden_twin() -> Twin:
    return assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["cube"], features=Features(surroundings=KINDS))


@pytest.fixture(scope="module")
def stage(renderer: Renderer, hidden_twin: Twin) -> Renderer:
    assert renderer  # skips without OpenGL
    return Renderer(hidden_twin, VIEWS)


def first_pictures(stage: Renderer, simulate: Simulate, **drawn: float) -> dict[str, Clip]:
    ranges: dict[str, Distribution] = {**SEED_RANGES, **{name: Constant(value) for name, value in drawn.items()}}
    return stage.film(simulate(1, of=stage.twin, ranges=ranges), 0, masks=True, ticks=np.array([0]))


@pytest.mark.parametrize("side_deg", [0.0, 90.0, -135.0])
@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_about_the_drawn_share_of_the_object_is_hidden(
    stage: Renderer, simulate: Simulate, share: float, side_deg: float
):
    free = first_pictures(stage, simulate)
    hidden = first_pictures(stage, simulate, occluder_share=share, occluder_side_deg=side_deg, camera_jitter_deg=0.5)
    for name in ("front", "side"):
        before, after = ((clips[name].class_ids == OBJECT).sum() for clips in (free, hidden))
        assert before > 50
        # The share is of its extent across the picture; of its area it is a little more or less.
        assert 1 - after / before == pytest.approx(share, abs=0.17)


def test_an_occluder_comes_from_the_drawn_side(stage: Renderer, simulate: Simulate):
    for side_deg, axis, sign in ((0.0, 1, 1), (180.0, 1, -1), (90.0, 0, 1), (-90.0, 0, -1)):
        clip = first_pictures(stage, simulate, occluder_share=0.5, occluder_side_deg=side_deg)["front"]
        ours = clip.names.index(PREFIX + "front")
        hides, thing = clip.instance_ids[0] == ours, clip.class_ids[0] == OBJECT
        offset = np.argwhere(hides).mean(axis=0) - np.argwhere(thing).mean(axis=0)
        assert np.sign(offset[axis]) == sign


def test_an_occluder_is_outside_the_arms_workspace_and_the_lens(stage: Renderer, simulate: Simulate):
    ranges: dict[str, Distribution] = {
        "occluder_share": Uniform(0.05, 1.0), "occluder_side_deg": Uniform(-180.0, 180.0),
        "occluder_width_cm": Uniform(2.0, 40.0), "occluder_distance_share": Uniform(0.1, 0.6),
        "camera_jitter_deg": Uniform(-5.0, 5.0),
    }  # fmt: skip
    episodes = simulate(12, of=stage.twin, ranges={**SEED_RANGES, **ranges})
    model = stage.stage.model
    for row in range(12):
        clips = stage.film(episodes, row, ticks=np.array([0]))
        for name in ("front", "side"):
            centre = model.body(PREFIX + name).pos
            radius = np.linalg.norm(model.geom(PREFIX + name).size[:2])
            assert np.linalg.norm(centre - ROOM_CENTRE_M) - radius > ROOM_M
            assert np.linalg.norm(centre - clips[name].camera_to_world[0, :3, 3]) >= NEAREST_M - 1e-6
    refuse_blocked(stage.twin, VIEWS)


def test_one_that_is_not_drawn_leaves_every_picture_as_it_was(stage: Renderer, simulate: Simulate, twin: Twin):
    """Nor does it linger from the episode before."""
    first_pictures(stage, simulate, occluder_share=0.6)
    free = first_pictures(stage, simulate)
    plain = Renderer(twin, VIEWS)
    bare = plain.film(simulate(1), 0, masks=True, ticks=np.array([0]))
    for name in VIEWS:
        np.testing.assert_array_equal(free[name].rgb, bare[name].rgb)


def test_people_and_things_are_in_the_picture_where_the_physics_had_them(stage: Renderer, simulate: Simulate):
    drawn = {"bystander_probability": 1.0, "bystander_side_deg": -90.0, "bystander_height_cm": 40.0,
             "distractor_count": 4.0, "unexpected_item_probability": 1.0}  # fmt: skip
    episodes: Episodes = simulate(1, of=stage.twin, ranges={name: Constant(value) for name, value in drawn.items()})
    ticks = np.array([0, 30, int(episodes.lengths[0]) - 1])
    down = CameraConfig("fixed", (0.5, 0.0, 2.0), (0.5, 0.0, 0.0), 50.0, 160, 160, 25)
    clip = Renderer(stage.twin, {"down": down}).film(episodes, 0, masks=True, ticks=ticks)["down"]
    seen = {clip.names[number] for number in np.unique(clip.instance_ids)}
    assert {"item", "distractor/a", "distractor/b", "distractor/c", "distractor/d", "person"} <= seen
    values = {name: np.repeat(array, 3) for name, array in episodes.draws.values.items()}
    tips = hand_poses(values, np.maximum(ticks / 25 - 0.004, 0))[:, :3]
    in_camera = np.einsum("nij,nj->ni", inverse(clip.camera_to_world)[:, :3, :3], tips - clip.camera_to_world[:, :3, 3])
    pixels = clip.intrinsics.fx * in_camera[:, :2] / in_camera[:, 2:] + [clip.intrinsics.cx, clip.intrinsics.cy]
    assert np.ptp(pixels, axis=0).max() > 20
    for number, (u, v) in enumerate(pixels):
        person = np.argwhere(clip.instance_ids[number] == clip.names.index("person"))
        assert np.linalg.norm(person + 0.5 - [v, u], axis=1).min() < 2.5
