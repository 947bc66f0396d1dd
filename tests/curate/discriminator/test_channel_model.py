"""Channel models: predictions for all models at once, and blocks of episodes."""

from dataclasses import replace

import numpy as np
import pytest

from twinloop.curate.discriminator import channel_inputs, trajectories
from twinloop.curate.discriminator.channel_inputs import ChannelInput, input_table, inputs_of, own_past, parts_of
from twinloop.curate.discriminator.channel_model import channel_residuals, fit_channel, fit_channels
from twinloop.curate.discriminator.trajectories import Trajectories, TrajectorySchema

LENGTHS = np.array([40, 7, 25, 60])
JOINTS = ("joint1", "joint2", "gripper")
ELEMENTS = {
    "observation.state": JOINTS,
    "observation.effort": JOINTS,
    "action": JOINTS,
    "contact": ("left_finger", "support"),
}


@pytest.fixture
def episodes() -> Trajectories:
    rng = np.random.default_rng(4)
    signals = {name: rng.normal(size=(LENGTHS.sum(), len(names))) for name, names in ELEMENTS.items()}
    return Trajectories(TrajectorySchema("nobody", 25.0, ELEMENTS), np.arange(4), LENGTHS, signals,
                        np.ones(4), ("pick",) * 4)  # fmt: skip


def test_residuals_of_all_models_together_are_those_of_each_alone(episodes, monkeypatch):
    monkeypatch.setattr(channel_inputs, "CHUNK", 50)  # several chunks, the last one is shorter
    models = [
        model
        for feature in ("observation.state", "observation.effort", "action")
        for columns in parts_of(episodes.schema, feature)
        for model in fit_channel(episodes, feature, columns)
    ]
    assert len(models) == 12
    by_channel = {
        (aspect.partition(":")[0], label): values[:, column]
        for aspect, values, labels in channel_residuals(episodes, models)
        for column, label in enumerate(labels)
    }
    for model in models:
        past = own_past(model.feature, model.columns) if model.step else []
        table = input_table(episodes, inputs_of(episodes.schema, model.feature, model.columns) + past)
        predicted = table @ model.weights[:-1] + model.weights[-1]
        expected = episodes.signals[model.feature][:, model.columns] - predicted
        for column, values in zip(model.columns, expected.T, strict=True):
            label = episodes.schema.channel(model.feature, column)
            np.testing.assert_allclose(by_channel["step" if model.step else "static", label], values, atol=1e-9)


def test_an_input_stays_in_its_episode(episodes):
    (columns, _) = parts_of(episodes.schema, "action")
    earlier = input_table(episodes, own_past("action", columns))[:, :2]
    starts = np.cumsum(LENGTHS) - LENGTHS
    np.testing.assert_array_equal(earlier[starts], episodes.signals["action"][starts][:, columns])
    np.testing.assert_array_equal(earlier[1:7], episodes.signals["action"][:6][:, columns])


def test_the_arm_does_not_read_the_hand(episodes):
    arm, hand = parts_of(episodes.schema, "action")
    assert (arm, hand) == ((0, 1), (2,))
    read = {column for part in inputs_of(episodes.schema, "action", arm) if part.feature != "contact"
            for column in part.columns}  # fmt: skip
    assert read == {0, 1}


@pytest.mark.parametrize(("most", "count"), [(1000, 1), (70, 2), (20, 4)])
def test_blocks_hold_every_episode_once_in_order(episodes, monkeypatch, most, count):
    monkeypatch.setattr(trajectories, "BLOCK_FRAMES", most)
    blocks = episodes.blocks()
    assert 1 <= len(blocks) <= count
    assert np.concatenate([block.attempts for block in blocks]).tolist() == [0, 1, 2, 3]
    assert max(block.frames for block in blocks) <= max(most, episodes.frames / count) + LENGTHS.max()


def test_shifted_values_stay_in_their_episode(episodes):
    values = episodes.signals["action"]
    rows = np.arange(episodes.frames)
    for frames in (-70, -8, -1, 0, 1, 8, 70):  # more than the shortest and the longest episode
        expected = values[np.clip(rows + frames, episodes.first_of, episodes.last_of)]
        np.testing.assert_array_equal(episodes.shifted(values, frames), expected)
        np.testing.assert_array_equal(input_table(episodes, [ChannelInput("action", frames, (0, 1, 2))]), expected)


@pytest.mark.parametrize("index", [[2, 3], [3, 0, 0], [1], []])
def test_taken_episodes_are_those_of_the_index(episodes, index):
    taken = episodes.take(np.array(index, int))
    parts = np.split(episodes.signals["action"], np.cumsum(LENGTHS)[:-1])
    expected = np.concatenate([parts[i] for i in index] or [np.zeros((0, 3))])
    np.testing.assert_array_equal(taken.signals["action"], expected)
    np.testing.assert_array_equal(taken.lengths, LENGTHS[index])


def test_a_hand_that_moves_without_a_command_is_found_where_it_touches_nothing():
    frames, count = 120, 8
    commands, states, forces = [], [], []
    for number in range(count):
        command = np.where((np.arange(frames) > 30 + number) & (np.arange(frames) < 90 - number), 0.0, 0.08)
        state = np.full(frames, 0.08)
        for row in range(1, frames):
            state[row] = state[row - 1] + 0.3 * (command[row - 1] - state[row - 1])
            if 45 < row < 80:
                state[row] = max(state[row], 0.02 + 0.003 * number)  # objects of several sizes
        commands.append(command)
        states.append(state)
        forces.append(np.where((np.arange(frames) > 45) & (np.arange(frames) < 80), 20.0, 0.0))
    elements = {"observation.state": ("gripper",), "action": ("gripper",), "contact": ("left_finger", "right_finger")}
    force = np.concatenate(forces)
    signals = {
        "observation.state": np.concatenate(states)[:, None],
        "action": np.concatenate(commands)[:, None],
        "contact": np.stack([force, force], axis=1),
    }
    good = Trajectories(TrajectorySchema("nobody", 25.0, elements), np.arange(count), np.full(count, frames), signals,
                        np.ones(count), ("pick",) * count)  # fmt: skip
    models = fit_channels(good, None)
    assert {model.aspect for model in models if model.free} == {
        f"free_{kind}:{feature}" for kind in ("step", "static") for feature in ("observation.state", "action")
    }
    action = signals["action"].copy()
    action[:frames] = 0.08  # the command of the first episode is not recorded
    faulty = replace(good, signals={**signals, "action": action})
    usual, faulty_residual = (
        {aspect: np.abs(values) for aspect, values, _ in channel_residuals(episodes, models)}["free_static:action"]
        for episodes in (good, faulty)
    )
    assert usual.max() < 0.02
    assert faulty_residual[:frames].max() > 0.06
    assert faulty_residual[46:80].max() == 0  # in contact, the object decides
