import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.dataset.synthetic import FEATURES, episode_frames, header, run, task_of, verdict_of
from twinloop.dataset import Dataset, _lerobot_episodes, export, lerobot
from twinloop.dataset.parquet import to_numpy
from twinloop.durable import digest_file

ACCEPTED = [attempt for attempt in range(30) if verdict_of(attempt) == "accepted"]


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("lerobot") / "d"
    run(path, header(episodes=30))
    return path


def small_files(monkeypatch):
    monkeypatch.setattr(lerobot, "WRITTEN_FILE_MB", 0.01)
    monkeypatch.setattr(_lerobot_episodes, "FILE_EPISODES", 7)
    monkeypatch.setattr(_lerobot_episodes, "GROUP_EPISODES", 3)


@pytest.fixture(params=["one file", "many files"])
def exported(request, path, tmp_path, monkeypatch) -> Path:
    if request.param == "many files":
        small_files(monkeypatch)
    files = export(Dataset.open(path), tmp_path)
    assert {name: digest_file(tmp_path / name) for name in files} == files
    assert len(files) == len([file for file in tmp_path.rglob("*") if file.is_file()])
    assert (len(list(tmp_path.glob("data/*/*"))) > 1) == (request.param == "many files")
    return tmp_path


def table(folder: Path):
    return pq.read_table(sorted(folder.glob("*/*.parquet")))


def test_frames_are_those_of_the_accepted_attempts_in_order(exported):
    frames = table(exported / "data")
    for name in episode_frames(0, 7):
        expected = np.concatenate([episode_frames(attempt, 7)[name] for attempt in ACCEPTED])
        assert np.array_equal(to_numpy(frames[name]), expected)
    lengths = [len(episode_frames(attempt, 7)["phase"]) for attempt in ACCEPTED]
    assert np.array_equal(to_numpy(frames["index"]), np.arange(sum(lengths)))
    assert np.array_equal(to_numpy(frames["episode_index"]), np.repeat(np.arange(len(ACCEPTED)), lengths))
    assert set(frames.column_names) == {feature.name for feature in FEATURES} | set(lerobot.COUNTERS)


def test_episodes_point_at_their_frames(exported):
    rows = table(exported / "meta/episodes").to_pylist()
    tasks = pq.read_table(exported / "meta/tasks.parquet").to_pylist()
    text_of = {row["task_index"]: row["task"] for row in tasks}
    assert [row["episode_index"] for row in rows] == list(range(len(ACCEPTED)))
    for row, attempt in zip(rows, ACCEPTED, strict=True):
        name = f"data/chunk-{row['data/chunk_index']:03d}/file-{row['data/file_index']:03d}.parquet"
        meta = f"chunk-{row['meta/episodes/chunk_index']:03d}/file-{row['meta/episodes/file_index']:03d}.parquet"
        assert row["episode_index"] in pq.read_table(exported / "meta/episodes" / meta)["episode_index"].to_pylist()
        frames = pq.read_table(exported / name, filters=[("episode_index", "=", row["episode_index"])])
        assert frames.num_rows == row["length"] == row["dataset_to_index"] - row["dataset_from_index"]
        assert frames["index"][0].as_py() == row["dataset_from_index"]
        assert row["tasks"] == [task_of(attempt)] == [text_of[frames["task_index"][0].as_py()]]
        assert row["sim/attempt"] == attempt
        assert row["sim/verdict"] == "accepted"
        assert row["sim/draw/mass_kg"] == 0.1 + attempt / 100
        assert (row["sim/seed"], row["sim/config_digest"]) == (7, "c0ffee")
        assert "mujoco 4.0" in row["sim/engine"]


def test_statistics_are_those_of_the_frames(exported):
    frames = table(exported / "data")
    stats = json.loads((exported / "meta/stats.json").read_text())
    rows = table(exported / "meta/episodes").to_pylist()
    assert set(stats) == set(frames.column_names)
    for name in frames.column_names:
        values = to_numpy(frames[name]).astype(np.float64).reshape(frames.num_rows, -1)
        check_stats(stats[name], values)
        row = rows[4]
        own = values[row["dataset_from_index"] : row["dataset_to_index"]]
        check_stats({key.rsplit("/", 1)[1]: row[key] for key in row if key.startswith(f"stats/{name}/")}, own)


def check_stats(stats: dict, values: np.ndarray) -> None:
    assert stats["count"] == [len(values)]
    expected = {"min": values.min(0), "max": values.max(0), "mean": values.mean(0), "std": values.std(0)}
    for key, share in (("q01", 0.01), ("q10", 0.1), ("q50", 0.5), ("q90", 0.9), ("q99", 0.99)):
        expected[key] = np.quantile(values, share, axis=0)
    for key, value in expected.items():
        np.testing.assert_allclose(stats[key], value, rtol=1e-5, atol=1e-6)


def test_the_task_is_the_index_pandas_will_restore(exported):
    metadata = pq.read_schema(exported / "meta/tasks.parquet").metadata
    note = json.loads(metadata[b"pandas"])
    assert note["index_columns"] == ["task"]
    assert [column["name"] for column in note["columns"]] == ["task_index", "task"]


def test_info_counts_and_names(exported):
    info = json.loads((exported / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["robot_type"]) == ("v3.0", 50, "panda")
    assert (info["total_episodes"], info["total_tasks"]) == (len(ACCEPTED), 2)
    assert info["total_frames"] == table(exported / "data").num_rows
    assert info["features"]["observation.state"] == {
        "dtype": "float32",
        "shape": [3],
        "names": ["x", "y", "z"],
    }
    assert info["features"]["next.done"] == {"dtype": "bool", "shape": [1], "names": None}


def test_a_run_that_accepted_nothing_exports_nothing(tmp_path):
    run(tmp_path / "d", header(episodes=1))
    info = json.loads((tmp_path / "d/meta/info.json").read_text())
    assert (info["total_episodes"], info["total_frames"]) == (0, 0)
    assert json.loads((tmp_path / "d/meta/stats.json").read_text()) == {}


def test_a_shard_with_nullable_columns_is_encoded_again(path, tmp_path):
    shutil.copytree(path, tmp_path / "d")
    file = sorted((tmp_path / "d").glob("shards/*/frames.parquet"))[0]
    frames = pq.read_table(file)
    pq.write_table(frames.cast(pa.schema([field.with_nullable(True) for field in frames.schema])), file)
    for source, out in ((path, tmp_path / "before"), (tmp_path / "d", tmp_path / "after")):
        out.mkdir()
        export(Dataset.open(source), out)
    data = "data/chunk-000/file-000.parquet"
    assert pq.read_table(tmp_path / "after" / data).equals(pq.read_table(tmp_path / "before" / data))
