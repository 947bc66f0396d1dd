"""Laws of the image pipeline: off is the identity to the bit, more is more, and noise is the episode's own."""

from dataclasses import replace

import numpy as np
import pytest

from tests.observe.conftest import Varied, values_of
from twinloop.observe.camera import LABELS
from twinloop.observe.clip import Clip
from twinloop.observe.compression import compressed
from twinloop.observe.image import sensed
from twinloop.observe.image_settings import HOOKS
from twinloop.observe.labels import keypoint_names, label
from twinloop.observe.lens import through_lens
from twinloop.observe.renderer import Renderer
from twinloop.observe.shutter import Shutter
from twinloop.observe.truth import labels_of
from twinloop.randomize.imaging import ImageSettings
from twinloop.randomize.table import BY_NAME
from twinloop.simulate.episodes import Episodes

KEYPOINTS = keypoint_names(("object",))


@pytest.fixture(scope="module")
def clip(clips: dict[str, Clip]) -> Clip:
    one = clips["front"]
    return replace(
        one, rgb=one.rgb[40:44], depth_m=one.depth_m[40:44], ticks=one.ticks[40:44], light_px=one.light_px[40:44],
        geom_ids=None if one.geom_ids is None else one.geom_ids[40:44],
    )  # fmt: skip


@pytest.fixture(scope="module")
def develop(clip: Clip, few: Episodes):
    def run(seed: int = 0, attempt: int = 2, name: str = "front", **changed: float) -> np.ndarray:
        return sensed(clip, values_of(few, 2, **changed), seed=seed, attempt=attempt, name=name).rgb

    return run


def residual(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.square(a.astype(float) - b).mean())


def test_all_off_is_the_picture_as_drawn_to_the_bit(clip: Clip, develop):
    np.testing.assert_array_equal(develop(), clip.rgb)


def test_light_and_back_is_the_identity(clip: Clip, develop):
    """A stage that changes next to nothing shows that the others, and the way there and back, change nothing."""
    np.testing.assert_array_equal(develop(vignette=1e-9), clip.rgb)


def test_a_nominal_row_leaves_the_settings_as_they_are():
    for row, on_image in HOOKS:
        settings = ImageSettings()
        on_image(settings, np.full(len(row.elements), row.nominal) if row.elements else np.array(row.nominal))
        assert settings == ImageSettings(), row.name


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("read_noise", (1, 3, 8)),
        ("shot_noise", (0.01, 0.03, 0.1)),
        ("vignette", (0.1, 0.3, 0.6)),
        ("lens_flare", (0.05, 0.2, 0.5)),
        ("lens_distortion", (0.01, 0.05, 0.1)),
        ("lens_distortion", (-0.01, -0.05, -0.1)),
        ("compression_quality", (95, 60, 20)),
        ("exposure_ev", (0.2, 0.6, 1.2)),
        ("exposure_ev", (-0.2, -0.6, -1.2)),
        ("white_balance_shift.red", (0.05, 0.1, 0.3)),
        ("defocus_px", (0.3, 0.8, 2.0)),
        ("colour_saturation", (0.9, 0.6, 0.2)),
        ("colour_saturation", (1.1, 1.4, 2.0)),
    ],
)
def test_a_larger_value_changes_the_image_more(clip: Clip, develop, column: str, values: tuple[float, ...]):
    changes = [residual(develop(**{column: value}), clip.rgb) for value in values]
    assert 0 < changes[0] < changes[1] < changes[2]


def test_read_noise_has_its_standard_deviation(clip: Clip, develop):
    noise = develop(read_noise=3.0).astype(float) - clip.rgb
    middle = (clip.rgb > 40) & (clip.rgb < 215)
    assert noise[middle].std() == pytest.approx(3.0, rel=0.05)


def test_noise_is_the_episodes_and_the_cameras_own(develop):
    first = develop(read_noise=3)
    np.testing.assert_array_equal(first, develop(read_noise=3))
    for other in ({"seed": 1}, {"attempt": 3}, {"name": "wrist"}):
        assert (first != develop(read_noise=3, **other)).any()


def test_an_ev_more_doubles_the_light(develop):
    plain, brighter = develop().astype(float), develop(exposure_ev=1.0).astype(float)
    clear = (plain > 60) & (brighter < 250)
    assert np.median(brighter[clear] / plain[clear]) == pytest.approx(2 ** (1 / 2.2), rel=0.02)


def test_no_saturation_is_grey(develop):
    grey = develop(colour_saturation=0.0).astype(int)
    assert np.ptp(grey, axis=-1).max() <= 1


def test_a_vignette_leaves_the_centre(clip: Clip, develop):
    after = develop(vignette=0.5)
    np.testing.assert_allclose(after[:, 39:41, 47:49].astype(int), clip.rgb[:, 39:41, 47:49], atol=1)
    assert after[:, :4, :4].mean() < 0.85 * clip.rgb[:, :4, :4].mean()


def test_the_lens_bends_masks_with_the_picture(clip: Clip):
    bent = through_lens(clip, -0.1)
    assert bent.intrinsics.distortion == -0.1
    assert bent.geom_ids is not None
    assert (bent.geom_ids != clip.geom_ids).any()
    assert (bent.geom_ids[:, 40, 48] == clip.geom_ids[:, 40, 48]).all()  # type: ignore[index]


def test_compression_hardly_changes_a_flat_image():
    flat = np.full((1, 20, 36, 3), (90, 140, 200), np.uint8)
    assert np.abs(compressed(flat, 75).astype(int) - flat).max() <= 4
    assert compressed(flat, 100) is flat


def test_a_clip_without_images_passes_all_stages(renderer: Renderer, varied: Varied):
    """An episode that diverged at once has no frames."""
    rows = {name: row.sensible[1] for name, row in BY_NAME.items() if row.group == "visual" and not row.pool}
    episodes = varied(**rows)
    clip = renderer.film(episodes, 0, masks=True, ticks=np.array([], int))["front"]
    assert sensed(clip, values_of(episodes, 0), seed=0, attempt=0, name="front").rgb.shape == (0, 80, 96, 3)
    assert label(clip).boxes_px.shape == (0, 4, 4)
    labelled = replace(clip, camera=replace(clip.camera, labels=LABELS))
    assert all(len(values) == 0 for values in labels_of(labelled, labelled).values())


def bar(velocity_px_s: float) -> tuple[np.ndarray, np.ndarray]:
    light = np.zeros((20, 40, 1), np.float32)
    light[:, 18:22] = 1
    velocity = np.zeros((20, 40, 2), np.float32)
    velocity[:, 18:22, 0] = velocity_px_s
    return light, velocity


def test_motion_blur_smears_moving_things_along_their_way():
    light, velocity = bar(400.0)
    out = Shutter(20, 40, 0.01, 0.0).exposed(light, velocity)[10, :, 0]
    assert out.sum() == pytest.approx(4, abs=0.3)  # no light is made or lost
    assert (out > 0.05).sum() == pytest.approx(8, abs=1)  # 4 wide and 4 further
    np.testing.assert_allclose(out, out[::-1], atol=0.15)


def test_resting_things_stay_sharp():
    light, velocity = bar(0.0)
    np.testing.assert_array_equal(Shutter(20, 40, 0.02, 0.03).exposed(light, velocity), light)


def test_a_rolling_shutter_slants_moving_things():
    light, velocity = bar(200.0)
    out = Shutter(20, 40, 0.0, 0.02).exposed(light, velocity)[..., 0]
    centre = (out * np.arange(40)).sum(axis=1) / out.sum(axis=1)
    np.testing.assert_allclose(np.diff(centre).mean(), 200 * 0.02 / 20, atol=0.05)


def test_motion_blur_of_an_episode_follows_its_motion(renderer: Renderer, varied: Varied):
    """While the arm swings the picture changes; before it starts, hardly."""
    episodes = varied(shutter_ms=40)
    clip = renderer.film(episodes, 0, ticks=np.array([0, 12]))["front"]
    after = sensed(clip, values_of(episodes, 0), seed=0, attempt=0, name="front")
    assert clip.pixel_velocity is not None
    assert residual(after.rgb[1], clip.rgb[1]) > 3 * residual(after.rgb[0], clip.rgb[0])


def test_velocities_of_pixels_lead_to_the_next_picture(renderer: Renderer, varied: Varied, twin):
    """The object's keypoint moves by the flow at its pixel."""
    episodes = varied(shutter_ms=10)
    clip = renderer.film(episodes, 0, masks=True)["front"]
    labels = label(clip)
    corner = KEYPOINTS.index("object.corner0")
    moved = np.diff(labels.keypoints.px[:, corner:], axis=0)
    seen = labels.keypoints.visible[:-1, corner:]
    assert clip.pixel_velocity is not None
    for frame in np.flatnonzero(seen.any(axis=1) & (np.abs(moved).max(axis=(1, 2)) > 0.5)):
        of_object = clip.class_ids[frame] == 2
        flow = clip.pixel_velocity[frame][of_object] * twin.control_period_s
        np.testing.assert_allclose(np.median(flow, axis=0), moved[frame].mean(axis=0), atol=0.25)
