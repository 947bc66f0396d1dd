"""Laws of the renderer: pictures are a function of tape and draw, and geometry is metric."""

import numpy as np
import pytest

from tests.observe.conftest import CAMERAS, Varied, values_of
from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.projection import rays
from twinloop.observe.renderer import Renderer
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


def test_images_do_not_depend_on_earlier_episodes(renderer: Renderer, few: Episodes, varied: Varied, twin: Twin):
    first = renderer.film(few, 2, ticks=np.array([40]))
    unusual = varied(texture_pool=17, light_count=4, light_warmth=1, camera_jitter_deg=4, reflectance=0.5,
                     background_shade=0.2, object_size_scale=1.2, table_height_cm=1, lighting_intensity=2)  # fmt: skip
    renderer.film(unusual, 0, ticks=np.array([40]))
    again = renderer.film(few, 2, ticks=np.array([40]))
    other = Renderer(twin, CAMERAS).film(few, 2, ticks=np.array([40]))
    # A second renderer has drawn since: the first must still draw into buffers of its own.
    after = renderer.film(few, 2, ticks=np.array([40]))
    for name in CAMERAS:
        for clip in (again, other, after):
            np.testing.assert_array_equal(clip[name].rgb, first[name].rgb)
            np.testing.assert_array_equal(clip[name].depth_m, first[name].depth_m)


def test_asking_for_masks_changes_no_pixel(renderer: Renderer, few: Episodes, clips: dict[str, Clip]):
    bare = renderer.film(few, 2)
    for name, clip in clips.items():
        np.testing.assert_array_equal(bare[name].rgb, clip.rgb)
        np.testing.assert_array_equal(bare[name].depth_m, clip.depth_m)
        assert bare[name].geom_ids is None
    with pytest.raises(ValueError, match="masks=True"):
        _ = bare["front"].class_ids


def test_every_camera_pictures_at_its_own_rate(few: Episodes, clips: dict[str, Clip]):
    length = few.lengths[2]
    np.testing.assert_array_equal(clips["front"].ticks, np.arange(length))
    np.testing.assert_array_equal(clips["down"].ticks, np.arange(0, length, 5))
    assert clips["down"].rgb.shape == (len(clips["down"].ticks), 80, 96, 3)


def test_the_wrist_camera_moves_with_the_tool_and_the_fixed_one_stays(clips: dict[str, Clip]):
    assert np.ptp(clips["front"].camera_to_world, axis=0).max() == 0
    wrist = clips["wrist"]
    assert np.ptp(wrist.camera_to_world[:, :3, 3], axis=0).max() > 0.1
    offset = wrist.camera_to_world[:, :3, 3] - wrist.tool_to_world[:, :3, 3]
    np.testing.assert_allclose(np.linalg.norm(offset, axis=1), np.linalg.norm(CAMERAS["wrist"].position_m), atol=1e-6)


@pytest.mark.parametrize("height_cm", [0.0, 1.0])
def test_depth_of_the_table_is_right_to_a_millimetre(renderer: Renderer, varied: Varied, height_cm: float):
    for clip in renderer.film(varied(table_height_cm=height_cm), 0, masks=True, ticks=np.array([0, 50])).values():
        points = rays(clip.intrinsics, *clip.depth_m.shape[1:]) * clip.depth_m[..., None]
        pose = clip.camera_to_world[:, None, None]
        world = (pose[..., :3, :3] @ points[..., None])[..., 0] + pose[..., :3, 3]
        # The slab's sides are of the same geom: its top is what lies within its outline.
        slab = clip.geom_ids == renderer.stage.model.geom("table").id
        inner = slab & (np.abs(world[..., 0] - 0.35) < 0.44) & (np.abs(world[..., 1]) < 0.59)
        assert inner.sum() > 1000
        np.testing.assert_allclose(world[inner][:, 2], height_cm / 100, atol=1e-3)


def test_masks_have_the_ids_of_visible_things(clips: dict[str, Clip]):
    front = clips["front"]
    classes = {CLASSES[number] for number in np.unique(front.class_ids)}
    assert classes == {"background", "robot", "object", "table", "target"}
    seen = {front.names[number] for number in np.unique(front.instance_ids)}
    assert {"world", "object", "table", "robot/hand", "robot/link5"} <= seen


def test_the_object_grows_and_the_table_rises(renderer: Renderer, varied: Varied):
    def pixels(**values: float) -> int:
        clip = renderer.film(varied(**values), 0, masks=True, ticks=np.array([0]))["down"]
        return int((clip.class_ids == CLASSES.index("object")).sum())

    assert pixels(object_size_scale=0.8) < pixels() < pixels(object_size_scale=1.2)


@pytest.mark.parametrize(
    ("name", "values"),
    [("lighting_intensity", (0.3, 0.6, 1.0)), ("background_shade", (0.3, 0.8, 1.2)), ("table_height_cm", (-2, 0, 2))],
)
def test_light_and_table_height_grow_with_their_rows(
    renderer: Renderer, varied: Varied, name: str, values: tuple[float, ...]
):
    def measure(value: float) -> float:
        clip = renderer.film(varied(**{name: value}), 0, ticks=np.array([0]))["front"]
        return -float(clip.depth_m.mean()) if name == "table_height_cm" else float(clip.rgb.mean())

    measured = [measure(value) for value in values]
    assert measured == sorted(measured)
    assert len(set(measured)) == len(measured)


@pytest.mark.parametrize(
    "change",
    [
        {"texture_pool": 5}, {"light_count": 1}, {"light_count": 4}, {"light_direction_deg": 30}, {"light_warmth": 0.5},
        {"light_softness": 0.6}, {"camera_position_noise_cm": 1}, {"camera_fov_noise_deg": 2}, {"reflectance": 0.2},
        {"camera_jitter_deg": 2},
    ],
)  # fmt: skip
def test_every_row_of_appearance_shows(renderer: Renderer, varied: Varied, change: dict[str, float]):
    before, after = (renderer.film(varied(**row), 0, ticks=np.array([30]))["front"] for row in ({}, change))
    assert (np.abs(before.rgb.astype(int) - after.rgb).max(axis=-1) > 4).mean() > 0.01


def test_warm_light_is_red_and_cold_light_blue(renderer: Renderer, varied: Varied):
    def redness(warmth: float) -> float:
        rgb = renderer.film(varied(light_warmth=warmth), 0, ticks=np.array([0]))["front"].rgb
        return float(rgb[..., 0].mean() - rgb[..., 2].mean())

    assert redness(-0.8) < redness(0.0) < redness(0.8)


def test_reflections_leave_depth_alone(renderer: Renderer, varied: Varied):
    plain, shiny = (
        renderer.film(varied(**row), 0, ticks=np.array([30]))["front"] for row in ({}, {"reflectance": 0.5})
    )  # fmt: skip
    np.testing.assert_allclose(shiny.depth_m, plain.depth_m, atol=1e-6)


def test_stored_intrinsics_are_those_that_were_drawn(renderer: Renderer, varied: Varied):
    episodes = varied(camera_fov_noise_deg=3)
    clip = renderer.film(episodes, 0, ticks=np.array([0]))["front"]
    fov = np.rad2deg(2 * np.arctan(40 / clip.intrinsics.fy))
    assert fov == pytest.approx(CAMERAS["front"].fov_deg + 3)
    assert values_of(episodes, 0)["camera_fov_noise_deg"] == 3
