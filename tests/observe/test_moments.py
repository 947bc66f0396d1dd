"""When a camera pictures, and where everything is between two rows of the tape."""

import numpy as np
import pytest

from twinloop.observe.moments import picture_ticks, shown_in, states_at, turned
from twinloop.observe.renderer import Renderer
from twinloop.simulate.episodes import Episodes

RNG = np.random.default_rng(4)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def tape(length: int) -> tuple[np.ndarray, np.ndarray]:
    environment = RNG.normal(size=(length, 14))
    environment[:, 3:7], environment[:, 10:14] = unit(environment[:, 3:7]), unit(environment[:, 10:14])
    return RNG.normal(size=(length, 8)).astype(np.float32), environment.astype(np.float32)


@pytest.mark.parametrize("length", [1, 2, 5, 98])
@pytest.mark.parametrize("rate", [1, 5, 25])
def test_a_rate_that_divides_pictures_whole_rows(length: int, rate: int):
    ticks = picture_ticks(length, control_hz=25, rate_hz=rate)
    np.testing.assert_array_equal(ticks, np.arange(0, length, 25 // rate))


@pytest.mark.parametrize("rate", [10, 24, 12.5, 7, 0.5, 30 / 1.001])
def test_pictures_come_at_their_own_times_and_no_later_than_the_last_row(rate: float):
    ticks = picture_ticks(98, control_hz=30, rate_hz=rate)
    np.testing.assert_allclose(ticks / 30, np.arange(len(ticks)) / rate, atol=1e-7)
    assert ticks[-1] <= 97 < ticks[-1] + 30 / rate


def test_a_row_shows_the_last_picture_taken_by_then():
    ticks = picture_ticks(9, control_hz=25, rate_hz=10)
    np.testing.assert_array_equal(ticks, [0, 2.5, 5, 7.5])
    np.testing.assert_array_equal(shown_in(ticks, 9), [0, 0, 0, 1, 1, 2, 2, 2, 3])


def test_at_a_row_the_state_is_that_of_the_tape():
    position, environment = tape(6)
    joints, places = states_at(position, environment, np.array([0, 0.4, 1, 2.5, 5]))
    np.testing.assert_array_equal(joints[[0, 2, 4]], position[[0, 1, 5]])
    np.testing.assert_array_equal(places[[0, 2, 4]], environment[[0, 1, 5]])
    np.testing.assert_allclose(joints[3], position[2:4].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(places[3, :3], environment[2:4, :3].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(places[:, 3:7], axis=1), 1, atol=1e-6)


def test_turning_is_even_and_takes_the_shorter_way():
    start, end = unit(RNG.normal(size=(200, 4))), unit(RNG.normal(size=(200, 4)))
    whole = 2 * np.arccos(np.abs((start * end).sum(axis=1)))
    for share in (0.0, 0.2, 0.5, 0.9, 1.0):
        part = turned(start, end, np.full((200, 1), share))
        angle = 2 * np.arccos(np.clip(np.abs((start * part).sum(axis=1)), 0, 1))
        np.testing.assert_allclose(angle, share * whole, atol=1e-6)
        np.testing.assert_allclose(turned(start, -end, np.full((200, 1), share)), part, atol=1e-12)
    np.testing.assert_allclose(turned(start, start, np.full((200, 1), 0.3)), start, atol=1e-12)


def test_between_rows_the_picture_lies_between_them(renderer: Renderer, few: Episodes):
    """The moving hand is rendered halfway, and images at whole rows do not change."""
    both = renderer.film(few, 2, ticks=np.array([30, 30.5, 31]))["wrist"]
    alone = renderer.film(few, 2, ticks=np.array([30, 31]))["wrist"]
    np.testing.assert_array_equal(both.rgb[[0, 2]], alone.rgb)
    before, between, after = both.tool_to_world[:, :3, 3]
    assert np.linalg.norm(after - before) > 2e-3
    np.testing.assert_allclose(between, (before + after) / 2, atol=1e-4)
    assert not np.array_equal(both.rgb[1], both.rgb[0])
