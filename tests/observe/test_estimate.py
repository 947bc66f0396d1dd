"""The state estimate: whole episodes give the same as single periods, which use earlier readings only."""

import numpy as np

from tests.conftest import Simulate
from twinloop.observe.estimate import ESTIMATE, NEEDED, StateEstimator, derived, estimated
from twinloop.observe.features import features_of, observe
from twinloop.observe.sensors import ObserveConfig
from twinloop.randomize.distribution import Uniform
from twinloop.twin.twin import Twin

LATE = {
    "observation_delay_ms": Uniform(0.0, 60.0),
    "tracker_noise_mm": Uniform(0.0, 4.0),
    "tracker_delay_ms": Uniform(0.0, 100.0),
}


def test_an_estimate_needs_the_readings_of_a_known_robot(twin: Twin):
    by_name = {feature.name: feature for feature in features_of(twin, ObserveConfig())}
    feature = derived(by_name, twin.robot.name)
    assert feature is not None
    assert feature.name == ESTIMATE
    assert feature.names[: len(twin.robot.arm_joints)] == twin.robot.arm_joints
    assert derived(by_name, "a robot nobody knows") is None
    assert derived({name: by_name[name] for name in NEEDED[:2]}, twin.robot.name) is None


def test_whole_episodes_and_single_periods_give_the_same(simulate: Simulate, twin: Twin):
    episodes = simulate(3)
    frames = observe(episodes, twin, ObserveConfig(), seed=0).frames
    whole = estimated(frames, frames["command"], episodes.lengths, twin)
    start, length = int(episodes.starts[1]), int(episodes.lengths[1])
    alone = StateEstimator(twin, width=1)
    for frame in range(start, start + length):
        seen = {name: frames[name][frame : frame + 1] for name in NEEDED}
        alone.take(seen, frames["command"][max(frame - 1, start)][None].astype(float))
        np.testing.assert_array_equal(alone.vector()[0], whole[frame])


def test_the_estimate_is_nearer_to_the_truth_than_the_readings(simulate: Simulate, twin: Twin):
    episodes = simulate(8, ranges=LATE)
    frames = observe(episodes, twin, ObserveConfig(), seed=0).frames
    made_out = estimated(frames, frames["command"], episodes.lengths, twin)
    object_at = slice(8, 11)
    there, raw = episodes["environment"][:, :3], frames["observation.environment_state"][:, :3]
    lies = (episodes["phase"][:, 0] < 2) & (np.arange(len(raw)) % 7 == 3)
    wrong = np.linalg.norm(made_out[lies, object_at] - there[lies], axis=1).mean()
    assert wrong < 0.7 * np.linalg.norm(raw[lies] - there[lies], axis=1).mean()
