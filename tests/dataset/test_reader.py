from dataclasses import replace

import numpy as np
import pytest

from tests.dataset.synthetic import CONFIG_TEXT, draft, episode_frames, header, run, verdict_of
from tests.learn.demonstrated import reaching
from twinloop.dataset import STATE_FEATURES, Dataset, DatasetWriter, transitions
from twinloop.errors import CorruptError, DatasetError, UsageError
from twinloop.learn.space import Space

HEAD = header(episodes=40, keep_rejected=True)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader") / "d"
    run(path, HEAD)
    return Dataset.open(path)


def test_an_episode_is_found_by_number_and_by_attempt(tmp_path):
    run(tmp_path / "d", header(episodes=20))
    dataset = Dataset.open(tmp_path / "d")
    accepted = [attempt for attempt in range(20) if verdict_of(attempt) == "accepted"]
    for index, attempt in enumerate(accepted):
        by_index, by_attempt = dataset.episode(index), dataset.episode(attempt=attempt)
        for name, expected in episode_frames(attempt, 7).items():
            assert np.array_equal(by_index[name], expected)
            assert np.array_equal(by_attempt[name], expected)


def test_a_missing_episode_is_an_error(tmp_path):
    run(tmp_path / "d", header(episodes=20))
    dataset = Dataset.open(tmp_path / "d")
    with pytest.raises(DatasetError, match="attempt 0 has no rows"):
        dataset.episode(attempt=0)
    with pytest.raises(DatasetError, match="attempt 20 is not in a committed shard"):
        dataset.episode(attempt=20)
    with pytest.raises(DatasetError, match="the dataset has 13, counted from 0"):
        dataset.episode(13)
    with pytest.raises(UsageError):
        dataset.episode()


def test_attempts_have_every_column_but_statistics(dataset):
    table = dataset.attempts()
    assert table["attempt"].to_pylist() == list(range(40))
    assert table["verdict"].to_pylist() == [verdict_of(attempt) for attempt in range(40)]
    assert not any(name.startswith("stats/") for name in table.column_names)


def test_a_dataset_can_be_read_while_it_is_written(tmp_path):
    with DatasetWriter.open(tmp_path / "d", header(), CONFIG_TEXT) as writer:
        assert Dataset.open(tmp_path / "d").attempts().num_rows == 0
        writer.commit(draft(writer.scratch("0"), 4, 8, header()))
        half = Dataset.open(tmp_path / "d")
        assert half.attempts()["attempt"].to_pylist() == [4, 5, 6, 7]
        assert not half.complete
        assert sum(len(batch.terminal) for batch in half.transitions(4, seed=0)) == half.frame_count - half.stored


def expected_transitions(verdict):
    rows = set()
    for attempt in range(40):
        if verdict in (None, verdict_of(attempt)):
            frames = episode_frames(attempt, 7)
            state, action = frames["observation.state"], frames["action"]
            for row in range(len(state) - 1):
                last = row == len(state) - 2
                rows.add((state[row].tobytes(), action[row].tobytes(), state[row + 1].tobytes(), last))
    return rows


@pytest.mark.parametrize("verdict", ["accepted", None, "dropped"])
@pytest.mark.parametrize("window_frames", [1, 60, 10**6])
@pytest.mark.parametrize("batch_size", [1, 7, 64, 10**6])
def test_an_epoch_has_every_transition_once(dataset, monkeypatch, verdict, window_frames, batch_size):
    monkeypatch.setattr(transitions, "WINDOW_FRAMES", window_frames)
    batches = list(dataset.transitions(batch_size, seed=3, verdict=verdict))
    assert all(len(batch.terminal) == batch_size for batch in batches[:-1])
    results = [
        (state.tobytes(), action.tobytes(), after.tobytes(), bool(last))
        for batch in batches
        for state, action, after, last in zip(batch.state, batch.action, batch.next_state, batch.terminal, strict=True)
    ]
    assert len(results) == len(set(results))
    assert set(results) == expected_transitions(verdict)


def test_the_order_follows_from_the_seed(dataset):
    def states(seed, **options):
        return np.concatenate([batch.state for batch in dataset.transitions(16, seed=seed, **options)])

    assert np.array_equal(states(1), states(1))
    assert not np.array_equal(states(1), states(2))
    assert np.array_equal(states(1, shuffle=False), states(2, shuffle=False))
    assert np.array_equal(states(1, shuffle=False)[0], episode_frames(1, 7)["observation.state"][0])


def test_arrow_batches_hold_the_same(dataset):
    columns = {"state": ["observation.state"], "action": "next.reward"}
    numpy_batch = next(iter(dataset.transitions(16, seed=1, **columns)))
    arrow_batch = next(iter(dataset.transitions(16, seed=1, as_="arrow", **columns)))
    names = ["observation.state", "next.reward", "next.observation.state", "terminal"]
    assert arrow_batch.schema.names == names
    arrays = (numpy_batch.state, numpy_batch.action, numpy_batch.next_state, numpy_batch.terminal)
    for column, values in zip(arrow_batch.columns, arrays, strict=True):
        assert np.array_equal(np.array(column.to_pylist(), values.dtype), values)


def test_the_state_equals_the_input_of_a_policy(tmp_path):
    dataset = Dataset.open(reaching(tmp_path / "d", episodes=9))
    assert Space.of(dataset.header).vectors == tuple(map(dataset.header.feature, STATE_FEATURES))
    batch = next(iter(dataset.transitions(10**6, seed=0, shuffle=False)))
    assert batch.state.shape[1] == batch.next_state.shape[1] == 2 + 7
    frames = [dataset.episode(index) for index in range(9)]
    for name, columns in batch.layout.items():
        assert np.array_equal(batch.state[:, columns], np.concatenate([episode[name][:-1] for episode in frames]))
        assert np.array_equal(batch.next_state[:, columns], np.concatenate([episode[name][1:] for episode in frames]))
    record = next(iter(dataset.transitions(16, seed=0, as_="arrow")))
    assert record.schema.names[:3] == ["observation.state", "observation.environment_state", "action"]
    assert len(record["next.observation.environment_state"][0]) == 7


def test_a_dataset_without_state_features_asks_for_their_names(tmp_path):
    dataset = Dataset.open(reaching(tmp_path / "d", episodes=2))
    header = replace(dataset.header, features=dataset.header.features[2:])
    with pytest.raises(DatasetError, match=r"give the features of the state.*features: action"):
        replace(dataset, header=header).transitions(4, seed=0)


def test_an_unknown_feature_gets_the_nearest_name(dataset):
    with pytest.raises(DatasetError, match=r"did you mean observation\.state"):
        next(iter(dataset.transitions(4, seed=0, state=["observation.stat"])))


def test_damage_is_reported_with_the_file(tmp_path):
    run(tmp_path / "d", header())
    dataset = Dataset.open(tmp_path / "d")
    file = tmp_path / "d/shards/000000000-000000004/frames.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(CorruptError, match=r"frames\.parquet: cannot be read"):
        dataset.frames(dataset.entries[0])
    file.unlink()
    with pytest.raises(CorruptError, match=r"frames\.parquet: is missing"):
        dataset.frames(dataset.entries[0])
