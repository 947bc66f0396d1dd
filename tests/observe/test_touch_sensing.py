"""Touch sensors: each error has the size of its row, 0 is off, and other sensors do not change."""

from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import Simulate
from twinloop.observe.features import features_of, observe
from twinloop.observe.sensors import ObserveConfig, sense
from twinloop.randomize.distribution import Constant
from twinloop.randomize.draw import Sampler
from twinloop.simulate.episodes import Episodes
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.twin import Twin

TOLD = ObserveConfig(touch=True)


@pytest.fixture(scope="module")
def feeling(twin: Twin) -> Twin:
    return assemble(twin.robot, twin.task, twin.object, features=Features(touch=True, wrist_sensors=True))


@pytest.fixture(scope="module")
def felt(feeling: Twin, simulate: Simulate) -> Episodes:
    return simulate(4, of=feeling)


def readings(felt: Episodes, twin: Twin, **drawn: float) -> dict[str, np.ndarray]:
    draws = Sampler({name: Constant(value) for name, value in drawn.items()}, seed=0).draw(0, len(felt.lengths))
    return sense(replace(felt, draws=draws), twin, TOLD, seed=0)


def test_a_clean_touch_is_the_force(felt: Episodes, feeling: Twin):
    np.testing.assert_array_equal(readings(felt, feeling)["touch"], felt["touch"])
    np.testing.assert_allclose(readings(felt, feeling, touch_noise_n=0.0)["touch"], felt["touch"], atol=1e-6)


def test_noise_has_its_deviation(felt: Episodes, feeling: Twin):
    error = readings(felt, feeling, touch_noise_n=0.05)["touch"] - felt["touch"]
    np.testing.assert_allclose(error.std(), 0.05, rtol=0.05)
    assert abs(error.mean()) < 0.002


def test_steps_and_threshold(felt: Episodes, feeling: Twin):
    rounded = readings(felt, feeling, touch_step_n=0.25)["touch"]
    np.testing.assert_allclose(rounded / 0.25, np.round(rounded / 0.25), atol=1e-6)
    assert np.abs(rounded - felt["touch"]).max() <= 0.125 + 1e-6
    deaf = readings(felt, feeling, touch_threshold_n=0.3)["touch"]
    faint = np.abs(felt["touch"]) < 0.29
    assert not deaf[faint].any()
    clear = np.abs(felt["touch"]) > 0.31
    np.testing.assert_allclose(deaf[clear], felt["touch"][clear], rtol=1e-6)


def test_dead_taxels_stay_dead_through_an_episode(felt: Episodes, feeling: Twin):
    seen = readings(felt, feeling, touch_dead_share=0.3, touch_drift_n=1.0)["touch"]
    first = seen[: felt.lengths[0]]
    dead = ~first.any(axis=0)
    assert 0.1 < np.mean([~seen[a : a + n].any(axis=0) for a, n in zip(felt.starts, felt.lengths, strict=True)]) < 0.5
    assert not (first == 0).all(axis=0)[~dead].any()


def test_gain_and_drift_differ_between_taxels_and_episodes(felt: Episodes, feeling: Twin):
    first = slice(0, int(felt.lengths[0]))
    pressed = felt["touch"][first].sum(axis=0) > 1
    uneven = readings(felt, feeling, touch_gain_error=0.1)["touch"][first].sum(axis=0)[pressed]
    assert pressed.sum() > 8
    assert 0.04 < (uneven / felt["touch"][first].sum(axis=0)[pressed]).std() < 0.2
    drift = readings(felt, feeling, touch_drift_n=0.1)["touch"] - felt["touch"]
    assert 0.05 < drift[felt.starts].std() < 0.2
    assert np.abs(drift[felt.lengths[0] - 1] - drift[0]).max() > 0.01


def test_a_delayed_observation_is_a_delayed_touch(felt: Episodes, feeling: Twin):
    late = readings(felt, feeling, observation_delay_ms=80.0)["touch"][: felt.lengths[0]]
    np.testing.assert_allclose(late[2:], felt["touch"][: felt.lengths[0] - 2], atol=1e-6)


def test_touch_does_not_change_other_sensors(felt: Episodes, feeling: Twin):
    with_touch = readings(felt, feeling, touch_noise_n=0.1, encoder_noise_mrad=1.0, force_noise_n=0.2)
    plain = readings(felt, feeling, encoder_noise_mrad=1.0, force_noise_n=0.2)
    for channel in ("position", "wrench", "environment"):
        np.testing.assert_array_equal(with_touch[channel], plain[channel])


def test_clean_touch_is_kept_beside_the_noisy_one(felt: Episodes, feeling: Twin):
    draws = Sampler({"touch_noise_n": Constant(0.1)}, seed=0).draw(0, len(felt.lengths))
    config = replace(TOLD, keep_clean=True)
    recording = observe(replace(felt, draws=draws), feeling, config, seed=0)
    np.testing.assert_array_equal(recording.frames["clean.observation.touch"], felt["touch"])
    assert np.abs(recording.frames["observation.touch"] - felt["touch"]).max() > 0.1
    feature = next(candidate for candidate in features_of(feeling, config) if candidate.name == "observation.touch")
    assert feature.shape == (len(feature.names),) == (28,)
