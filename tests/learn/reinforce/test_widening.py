"""Automatic domain randomization: ranges follow performance, and entropy measures them."""

import numpy as np
import pytest

from twinloop.errors import UsageError
from twinloop.learn.reinforce.widening import TRIALS, WideningCurriculum
from twinloop.randomize.distribution import Choice, Distribution, Uniform
from twinloop.randomize.draw import Sampler

ROWS: dict[str, Distribution] = {"object_mass_kg": Uniform(0.05, 0.4), "object_position_noise_cm": Uniform(-2, 2)}
WIDTH = 64


def played(curriculum: WideningCurriculum, rounds: int, *, limit_kg: float) -> list[np.ndarray]:
    """Masses of episodes of a policy that fails with heavier things than `limit_kg`."""
    sampler, ids, masses = Sampler(ROWS, seed=0), np.arange(WIDTH), []
    for number in range(rounds):
        draws = curriculum.adjust(ids, sampler.draw(number * WIDTH, (number + 1) * WIDTH))
        masses.append(draws.values["object_mass_kg"])
        curriculum.ended(ids, masses[-1] <= limit_kg)
    return masses


def test_ranges_begin_narrow_and_grow_to_the_configs_range_while_the_policy_succeeds():
    curriculum = WideningCurriculum(ROWS, width=WIDTH, seed=1)
    start = curriculum.entropy
    masses = played(curriculum, 60, limit_kg=1.0)
    assert np.ptp(masses[0]) < 0.1
    assert curriculum.low.tolist() == pytest.approx([0.05, -2])
    assert curriculum.high.tolist() == pytest.approx([0.4, 2])
    assert start < curriculum.entropy == pytest.approx(0)


def test_an_end_stops_where_the_policy_begins_to_fail():
    curriculum = WideningCurriculum(ROWS, width=WIDTH, seed=1)
    played(curriculum, 80, limit_kg=0.25)
    assert 0.2 < curriculum.high[0] < 0.3
    assert curriculum.high[1] == pytest.approx(2)


def test_the_same_seed_gives_the_same_ranges_and_a_restored_one_continues():
    one, two = (WideningCurriculum(ROWS, width=WIDTH, seed=1) for _ in range(2))
    played(one, 7, limit_kg=0.3)
    played(two, 7, limit_kg=0.3)
    restored = WideningCurriculum(ROWS, width=WIDTH, seed=1)
    restored.restore(one.state())
    for curriculum in (one, two, restored):
        played(curriculum, 5, limit_kg=0.3)
    assert one.figures() == two.figures() == restored.figures()


def test_an_end_does_not_move_before_it_has_been_tried_often_enough():
    curriculum = WideningCurriculum(ROWS, width=1, seed=1)
    before = curriculum.high.copy()
    sampler = Sampler(ROWS, seed=0)
    for number in range(TRIALS - 1):
        curriculum.adjust(np.array([0]), sampler.draw(number, number + 1))
        curriculum.ended(np.array([0]), np.array([True]))
    assert np.array_equal(curriculum.high, before)


def test_a_config_without_numeric_rows_is_refused():
    with pytest.raises(UsageError, match="varies no numeric row"):
        WideningCurriculum({"object_shape": Choice((0.0, 1.0), (1.0, 1.0))}, width=1, seed=0)
