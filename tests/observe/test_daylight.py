"""The sun by the hour: direction, strength, colour, and its effect on images."""

import numpy as np
import pytest

from tests.observe.conftest import Varied
from twinloop.observe.daylight import daylight
from twinloop.observe.renderer import Renderer

HOURS = np.arange(6.5, 18, 0.5)


def test_the_sun_rises_in_the_east_is_south_at_noon_and_sets_in_the_west():
    """South straight ahead (x): east is to the left (y), west to the right."""
    morning, noon, evening = (daylight(hour, 0.0, 1.0).towards for hour in (7.0, 12.0, 17.0))
    assert morning[1] > 0.9
    np.testing.assert_allclose(noon, [np.sin(np.deg2rad(48)), 0, np.cos(np.deg2rad(48))], atol=1e-12)
    np.testing.assert_allclose(evening, morning * [1, -1, 1], atol=1e-12)
    turned = daylight(12.0, 90.0, 1.0).towards
    np.testing.assert_allclose(turned, [0, noon[0], noon[2]], atol=1e-12)


def test_the_sun_is_higher_stronger_and_whiter_near_noon():
    days = [daylight(float(hour), 20.0, 1.0) for hour in HOURS]
    height = np.array([day.towards[2] for day in days])
    strength = np.array([day.beam_rgb.mean() for day in days])
    redness = np.array([day.beam_rgb[0] / day.beam_rgb[2] for day in days])
    morning = HOURS < 12
    for rising, sign in ((height, 1), (strength, 1), (redness, -1)):
        assert (sign * np.diff(rising[morning]) > 0).all()
        np.testing.assert_allclose(rising, rising[::-1], rtol=1e-9)
    assert redness.min() > 1
    assert redness.max() > 2
    np.testing.assert_allclose([np.linalg.norm(day.towards) for day in days], 1)


@pytest.mark.parametrize("hour", [0.0, 3.0, 5.9, 18.1, 24.0])
def test_there_is_no_sun_at_night(hour: float):
    night = daylight(hour, 0.0, 1.0)
    assert not night.beam_rgb.any()
    assert not night.sky_rgb.any()


def test_pictures_are_bright_at_noon_red_in_the_evening_and_as_without_at_night(renderer: Renderer, varied: Varied):
    def mean_rgb(**drawn: float) -> np.ndarray:
        clip = renderer.film(varied(lighting_intensity=0.3, **drawn), 0, ticks=np.array([0]))["front"]
        return clip.rgb[0].reshape(-1, 3).mean(axis=0)

    lamps, night = mean_rgb(), mean_rgb(time_of_day_h=3.0)
    noon, evening = mean_rgb(time_of_day_h=12.0), mean_rgb(time_of_day_h=17.0)
    np.testing.assert_array_equal(night, lamps)
    assert noon.mean() > evening.mean() > lamps.mean()
    assert evening[0] / evening[2] > 1.03 * noon[0] / noon[2]
    clouded = mean_rgb(time_of_day_h=12.0, daylight_intensity=0.2)
    assert lamps.mean() < clouded.mean() < noon.mean()


def test_the_shadow_turns_with_the_room(renderer: Renderer, varied: Varied):
    first, second = (
        renderer.film(varied(time_of_day_h=15.0, room_heading_deg=heading), 0, ticks=np.array([0]))["down"].rgb[0]
        for heading in (0.0, 180.0)
    )
    changed = np.abs(first.astype(int) - second).max(axis=2) > 20
    assert changed.mean() > 0.01


def test_mirror_and_gloss_rows_change_the_image(renderer: Renderer, varied: Varied):
    plain = renderer.film(varied(), 0, masks=True, ticks=np.array([0]))["front"]
    floor = renderer.film(varied(floor_reflectance=0.5), 0, masks=True, ticks=np.array([0]))["front"]
    changed = (plain.rgb != floor.rgb).any(axis=3)
    assert changed.mean() > 0.01
    # Nothing but the background: floor and walls.
    assert not changed[plain.class_ids > 0].any()
    shiny = renderer.film(varied(object_gloss=0.8), 0, masks=True, ticks=np.array([0]))
    matt = renderer.film(varied(), 0, masks=True, ticks=np.array([0]))
    differs = [(shiny[name].rgb != matt[name].rgb).any(axis=3) for name in shiny]
    assert sum(difference.sum() for difference in differs) > 0
    for name, difference in zip(shiny, differs, strict=True):
        assert not difference[matt[name].class_ids != 2].any()
