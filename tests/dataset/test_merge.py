import dataclasses

import numpy as np
import pytest

from tests.dataset.synthetic import FEATURES, episode_frames, header, run
from twinloop.dataset import Dataset, DatasetWriter, merge, verify
from twinloop.errors import DatasetError
from twinloop.observe.recording import Feature


@pytest.fixture
def parts(tmp_path):
    run(tmp_path / "a", header(episodes=10))
    run(tmp_path / "b", header(episodes=7, run_seed=9, shard_episodes=3, keep_rejected=True, source="real"))
    return tmp_path / "a", tmp_path / "b"


def origins(dataset: Dataset) -> list[tuple[str, int]]:
    table = dataset.attempts()
    return list(zip(table["origin"].to_pylist(), table["origin_attempt"].to_pylist(), strict=True))


def test_a_merged_dataset_is_a_dataset(tmp_path, parts):
    digest = merge(tmp_path / "c", parts)
    report = verify(tmp_path / "c").require()
    assert (report.digest, report.complete, report.exported) == (digest, True, True)
    inputs = [Dataset.open(path) for path in parts]
    merged = Dataset.open(tmp_path / "c")
    assert merged.stored == sum(dataset.stored for dataset in inputs)
    assert merged.frame_count == sum(dataset.frame_count for dataset in inputs)
    assert merged.header.source == "mixed"


def test_every_attempt_names_its_origin(tmp_path, parts):
    merge(tmp_path / "c", parts)
    merged, inputs = Dataset.open(tmp_path / "c"), [Dataset.open(path) for path in parts]
    expected = [
        (dataset.digest(), attempt) for dataset, count in zip(inputs, (10, 7), strict=True) for attempt in range(count)
    ]
    assert origins(merged) == expected
    rows = merged.attempts().to_pylist()
    assert [row["attempt"] for row in rows] == list(range(17))
    for row in rows:
        if row["length"]:
            frames = merged.episode(attempt=row["attempt"])
            for name, values in episode_frames(row["origin_attempt"], row["seed"]).items():
                assert np.array_equal(frames[name], values)


def test_origins_stay_when_merged_again(tmp_path, parts):
    merge(tmp_path / "c", parts)
    run(tmp_path / "e", header(episodes=5, run_seed=11))
    merge(tmp_path / "d", [tmp_path / "c", tmp_path / "e"])
    again = Dataset.open(tmp_path / "d")
    assert origins(again)[:17] == origins(Dataset.open(tmp_path / "c"))
    assert origins(again)[17:] == [(Dataset.open(tmp_path / "e").digest(), attempt) for attempt in range(5)]
    assert verify(tmp_path / "d").ok


def test_the_same_merge_is_the_same_dataset(tmp_path, parts):
    assert merge(tmp_path / "c", parts) == merge(tmp_path / "other", parts) == merge(tmp_path / "c", parts)
    assert merge(tmp_path / "turned", parts[::-1]) != merge(tmp_path / "c", parts)


def test_an_unfinished_input_contributes_its_committed_shards(tmp_path, parts):
    manifest = parts[0] / "manifest.jsonl"
    lines = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(lines[0] + lines[2])
    merge(tmp_path / "c", parts)
    assert [attempt for _, attempt in origins(Dataset.open(tmp_path / "c"))][:6] == [0, 1, 2, 3, 8, 9]


def test_incompatible_datasets_are_refused_with_a_table(tmp_path, parts):
    turned = dataclasses.replace(FEATURES[0], unit="mm")
    features = (turned, *FEATURES[1:], Feature("force", "float32", (3,)))
    DatasetWriter.open(tmp_path / "x", header(features=features, fps=25, robot="ur5"), "").close()
    with pytest.raises(DatasetError) as caught:
        merge(tmp_path / "c", [parts[0], tmp_path / "x"])
    text = str(caught.value)
    for words in (
        "fps",
        "50",
        "25",
        "robot",
        "ur5",
        "observation.state",
        "in mm",
        "force",
        "absent",
        str(parts[0]),
    ):
        assert words in text
    assert not (tmp_path / "c").exists()


def test_nothing_to_merge_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="nothing to merge"):
        merge(tmp_path / "c", [])
