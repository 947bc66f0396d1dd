"""History: a live policy gets the means of earlier readings that a recording has."""

import numpy as np

from twinloop.observe.history import ENDS_S, HISTORY, History, history_feature, past_readings
from twinloop.observe.recording import Feature

RATE_HZ = 25.0
NAMES = ("observation.state", "observation.environment_state")


def readings(rng: np.random.Generator, frames: int) -> dict[str, np.ndarray]:
    sizes = zip(NAMES, (2, 7), strict=True)
    return {name: rng.standard_normal((frames, size)).astype(np.float32) for name, size in sizes}


def test_elements_are_named_by_window_and_reading():
    state = Feature(NAMES[0], "float32", (2,), ("shoulder", "elbow"), "rad")
    feature = history_feature([state])
    assert feature.name == HISTORY
    assert feature.names[:3] == ("0_to_80ms_ago.shoulder", "0_to_80ms_ago.elbow", "80_to_160ms_ago.shoulder")
    assert feature.names[-1] == "2560_to_5120ms_ago.elbow"
    assert feature.shape == (2 * len(ENDS_S),)


def test_a_recorded_history_has_means_over_windows_of_its_episode(rng: np.random.Generator):
    lengths = np.array([12, 3])
    vectors = readings(rng, 15)
    past = past_readings(vectors, NAMES[:1], lengths, rate_hz=RATE_HZ).reshape(15, len(ENDS_S), 2)
    state = vectors[NAMES[0]]
    recent, older, oldest, *before = past[11]
    np.testing.assert_allclose(recent, state[9:11].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(older, state[7:9].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(oldest, state[3:7].mean(axis=0), atol=1e-6)
    # The next window is cut off by the beginning. Those before it have the mean of all readings.
    np.testing.assert_allclose(before[0], state[:3].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(before[1:], np.tile(state[:12].mean(axis=0), (3, 1)), atol=1e-6)
    # The second episode does not see the first.
    np.testing.assert_allclose(past[12], np.tile(state[12], (len(ENDS_S), 1)), atol=1e-6)
    np.testing.assert_allclose(past[14, 0], state[12:14].mean(axis=0), atol=1e-6)


def test_a_history_averages_the_noise_of_a_thing_that_stands_still(rng: np.random.Generator):
    vectors = {NAMES[1]: rng.standard_normal((200, 7)).astype(np.float32)}
    past = past_readings(vectors, NAMES[1:], np.array([200]), rate_hz=RATE_HZ).reshape(200, len(ENDS_S), 7)
    assert past[130:].mean(axis=1).std() < 1 / 4
    assert np.abs(past[199, -1]).max() < 1 / 2


def test_a_live_history_is_the_recorded_one_also_in_a_slot_that_is_used_again(rng: np.random.Generator):
    lengths = {0: (9, 300), 1: (309,)}
    vectors = {slot: readings(rng, 309) for slot in lengths}
    recorded = {
        slot: past_readings(vectors[slot], NAMES, np.array(counts), rate_hz=RATE_HZ) for slot, counts in lengths.items()
    }
    live = History(NAMES, width=2, rate_hz=RATE_HZ)
    for tick in range(309):
        if tick == 9:
            live.begin(np.array([0]))
        past = live.take({name: np.stack([vectors[slot][name][tick] for slot in lengths]) for name in NAMES})
        for slot in lengths:
            np.testing.assert_array_equal(past[slot], recorded[slot][tick])
