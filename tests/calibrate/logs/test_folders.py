"""Folders of logs: all supported layouts are read, and logs that cannot be used are named."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.calibrate.made import command, write_json, xl330
from tests.dataset.people.peopled import ADA, consent_of, peopled
from twinloop.calibrate.check import check, playable
from twinloop.calibrate.logs import read_logs
from twinloop.calibrate.people import ask_people
from twinloop.calibrate.replay import replay
from twinloop.calibrate.sweep import Where
from twinloop.diagnose.compare import compare_datasets
from twinloop.errors import ConsentError, DatasetError

NAMES = ["pan", "lift"]


def read(path: Path, format: str = "lerobot", files: str = "*"):
    return read_logs(path, format=format, files=files, rows="entries", time="timestamp", rate_hz=30)


def episode(number: int, rows: int = 40) -> pa.Table:
    state = np.arange(2 * rows, dtype=np.float32) + number
    return pa.table({
        "observation.state": pa.FixedSizeListArray.from_arrays(pa.array(state), 2),
        "timestamp": (np.arange(rows) / 30).astype(np.float32),
        "episode_index": np.full(rows, number),
    })  # fmt: skip


def lerobot(root: Path, *, version: str) -> Path:
    (root / "meta").mkdir(parents=True)
    (root / "data/chunk-000").mkdir(parents=True)
    features = {"observation.state": {"dtype": "float32", "shape": [2], "names": NAMES}}
    info = {"codebase_version": version, "fps": 30, "total_episodes": 3, "features": features}
    (root / "meta/info.json").write_text(json.dumps(info))
    tables = {number: episode(number) for number in range(3)}
    if version == "v3.0":
        pq.write_table(pa.concat_tables(tables.values()), root / "data/chunk-000/file-000.parquet")
    else:
        for number, table in tables.items():
            pq.write_table(table, root / f"data/chunk-000/episode_{number:06d}.parquet")
    return root


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_both_versions_of_a_dataset_are_the_same_logs(tmp_path: Path, version: str):
    logs = read(lerobot(tmp_path / "it", version=version))
    assert [log.name for log in logs] == ["episode_000000", "episode_000001", "episode_000002"]
    assert logs[2].names["observation.state"] == tuple(NAMES)
    np.testing.assert_array_equal(logs[2].columns["observation.state"][0], [2, 3])


def test_a_part_of_a_dataset_is_read_despite_incomplete_lists(tmp_path: Path):
    root = lerobot(tmp_path / "it", version="v2.1")
    files = sorted((root / "data/chunk-000").iterdir())
    files[0].unlink()
    assert len(read(root)) == 2
    assert [log.name for log in read(files[2])] == ["episode_000002"]
    assert read(files[2])[0].names["observation.state"] == tuple(NAMES)


def test_files_without_a_dataset_and_datasets_in_a_folder_are_read(tmp_path: Path):
    first, second = (lerobot(tmp_path / "many" / name, version="v2.1") for name in ("one", "two"))
    logs = read(tmp_path / "many")
    assert len({log.name for log in logs}) == 6
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(first / "data/chunk-000/episode_000001.parquet", bare / "a.parquet")
    assert [len(log) for log in read(bare)] == [40]
    shutil.rmtree(second / "data")
    with pytest.raises(DatasetError, match="without Parquet files"):
        read(tmp_path / "many")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match=r"no meta/info\.json and no Parquet file"):
        read(tmp_path / "empty")


def test_rows_that_are_missing_keep_their_place(tmp_path: Path):
    rows = pa.table({"observation.state": pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float32()))})
    pq.write_table(rows, tmp_path / "a.parquet")
    state = read(tmp_path)[0].columns["observation.state"]
    np.testing.assert_array_equal(state, [[1, 2], [np.nan, np.nan], [3, np.nan]])


def test_json_in_folders_of_folders_and_with_holes(tmp_path: Path):
    for kind, folder in ((0, "a"), (0, "b"), (1, "b")):
        write_json(command(kind, 200), tmp_path / folder)
    logs = read(tmp_path, "json", "*.json")
    assert len({log.name for log in logs}) == 3
    path = next((tmp_path / "a").iterdir())
    value = json.loads(path.read_text())
    del value["entries"][3]["position"]
    value["entries"][4]["position"] = None
    path.write_text(json.dumps(value))
    holes = read(path, "json")[0].columns["position"]
    assert np.flatnonzero(np.isnan(holes[:, 0])).tolist() == [3, 4]


def test_archives_may_hold_more_than_recordings(tmp_path: Path):
    np.savez(tmp_path / "a.npz", allow_pickle=False, toss=np.zeros((5, 13)), rate_hz=np.array(148.0))
    assert [log.name for log in read(tmp_path, "npz", "*.npz")] == ["toss"]
    np.savez(tmp_path / "a.npz", allow_pickle=False, rate_hz=np.array(148.0))
    with pytest.raises(DatasetError, match="no array of shape"):
        read(tmp_path, "npz", "*.npz")
    np.save(tmp_path / "b.npy", np.zeros(3))
    with pytest.raises(DatasetError, match="not a NumPy archive"):
        read(tmp_path / "b.npy", "npz")


def test_logs_that_cannot_be_replayed_are_named():
    bench, good = xl330(), command(0, 200)
    back = good.select(slice(None, None, -1))
    nothing = command(1, 200)
    nothing.columns["goal_position"][:] = np.nan
    result = playable(bench, [good, back, nothing])
    assert result.logs == (good,)
    assert {finding.kind for finding in result.findings} == {"timestamp_order", "non_finite"}
    with pytest.raises(DatasetError, match="no log can be played"):
        playable(bench, [back])


def test_logs_of_people_need_consent_to_analyse(tmp_path: Path):
    agreed = consent_of(ADA, scope=("record", "analyse"))
    peopled(tmp_path / "agreed", [ADA, ""], consents={ADA: agreed})
    assert len(read(tmp_path / "agreed")) == 2
    ask_people(tmp_path / "agreed" / "videos")
    peopled(tmp_path / "not", [ADA, ""])
    with pytest.raises(ConsentError, match="but not analyse"):
        read(tmp_path / "not")
    with pytest.raises(ConsentError, match="but not analyse"):
        compare_datasets(tmp_path / "agreed", tmp_path / "not", seed=0)
    # What was exported still knows.
    (tmp_path / "not" / "dataset.json").unlink()
    for path in (tmp_path / "not", next((tmp_path / "not" / "data").rglob("*.parquet"))):
        with pytest.raises(ConsentError, match="but not analyse"):
            read(path)


def test_a_velocity_that_is_not_logged_counts_as_rest():
    bench = xl330()
    log, without = command(0, 200), command(0, 200)
    del without.columns["speed"]
    results = [replay(bench, [one_log], where=Where(1)).errors["position"].mae for one_log in (log, without)]
    assert results[0] == results[1]
    assert "not logged" in " ".join(map(str, check(bench, [without]).findings))
