"""History: a live policy gets the earlier readings that a recording has."""

import numpy as np

from twinloop.observe.history import AGES_S, HISTORY, History, history_feature, past_readings
from twinloop.observe.recording import Feature

RATE_HZ = 25.0
NAMES = ("observation.state", "observation.environment_state")


def readings(rng: np.random.Generator, frames: int) -> dict[str, np.ndarray]:
    sizes = zip(NAMES, (2, 7), strict=True)
    return {name: rng.standard_normal((frames, size)).astype(np.float32) for name, size in sizes}


def test_elements_are_named_by_age_and_reading():
    state = Feature(NAMES[0], "float32", (2,), ("shoulder", "elbow"), "rad")
    feature = history_feature([state])
    assert feature.name == HISTORY
    assert feature.names[:3] == ("80ms_ago.shoulder", "80ms_ago.elbow", "160ms_ago.shoulder")
    assert feature.names[-1] == "1280ms_ago.elbow"
    assert feature.shape == (2 * len(AGES_S),)


def test_a_recorded_history_repeats_earlier_frames_of_its_episode(rng: np.random.Generator):
    lengths = np.array([12, 3])
    vectors = readings(rng, 15)
    past = past_readings(vectors, NAMES[:1], lengths, rate_hz=RATE_HZ)
    state = vectors[NAMES[0]]
    np.testing.assert_array_equal(past[11], np.concatenate([state[9], state[7], state[3], state[0], state[0]]))
    # The second episode does not see the first.
    np.testing.assert_array_equal(past[14], np.concatenate([state[12]] * len(AGES_S)))


def test_a_live_history_is_the_recorded_one_also_in_a_slot_that_is_used_again(rng: np.random.Generator):
    lengths = {0: (9, 40), 1: (49,)}
    vectors = {slot: readings(rng, 49) for slot in lengths}
    recorded = {
        slot: past_readings(vectors[slot], NAMES, np.array(counts), rate_hz=RATE_HZ) for slot, counts in lengths.items()
    }
    live = History(NAMES, width=2, rate_hz=RATE_HZ)
    for tick in range(49):
        if tick == 9:
            live.begin(np.array([0]))
        past = live.take({name: np.stack([vectors[slot][name][tick] for slot in lengths]) for name in NAMES})
        for slot in lengths:
            np.testing.assert_array_equal(past[slot], recorded[slot][tick])
