"""Masks and labels in shards: masks are kept to the bit, labels are columns that are known after rendering."""

import dataclasses
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.dataset.synthetic import (
    FEATURES,
    LABEL,
    LABELLED,
    MASK,
    episode_pictures,
    header,
    recording_of,
    run,
    verdict_of,
)
from twinloop.dataset import Dataset, Header, describe, query, verify, write_shard
from twinloop.dataset.seal import unsealed
from twinloop.dataset.video import CODECS, VideoWriter, count_frames, read_frames
from twinloop.errors import DatasetError
from twinloop.observe.recording import Feature, Recording


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Dataset:
    path = tmp_path_factory.mktemp("labels") / "d"
    run(path, header(episodes=12, features=LABELLED))
    return Dataset.open(path)


def write(folder, recording: Recording):
    count = len(recording.lengths)
    columns = {
        "attempt": np.arange(count),
        "task": ["lift"] * count,
        "length": recording.lengths,
        "verdict": ["accepted"] * count,
        "success": [True] * count,
    }
    return write_shard(folder, 0, count, recording, columns, fps=50)


@pytest.mark.parametrize("codec", CODECS["mask"], ids=lambda codec: codec.encoder)
def test_every_id_round_trips_exactly(tmp_path, monkeypatch, codec):
    """The worst case of a mask: all 256 ids, scattered."""
    monkeypatch.setitem(CODECS, "mask", (codec,))
    wanted = np.random.default_rng(0).integers(0, 256, (9, 32, 48), dtype=np.uint8)
    wanted[0].flat[:256] = np.arange(256)
    with VideoWriter(tmp_path / "m.mp4", MASK, 50) as writer:
        writer.write(wanted)
        writer.finish(9)
    assert count_frames(tmp_path / "m.mp4") == 9
    assert np.array_equal(read_frames(tmp_path / "m.mp4", MASK, 0, 9, fps=50), wanted)
    assert np.array_equal(read_frames(tmp_path / "m.mp4", MASK, 3, 4, fps=50), wanted[3:4])


def test_an_episode_gets_its_own_masks_and_labels_back(dataset):
    accepted = [attempt for attempt in range(12) if verdict_of(attempt) == "accepted"]
    for index, attempt in enumerate(accepted):
        made = episode_pictures(attempt, 7, LABELLED)
        result = dataset.pictures(index, MASK.name)
        assert result.dtype == np.uint8
        assert np.array_equal(result, made[MASK.name])
        assert np.array_equal(dataset.episode(index)[LABEL.name], made[LABEL.name])
    assert dataset.header.feature(MASK.name).names[2] == "object"


def test_a_dataset_with_labels_can_be_verified_described_and_queried(dataset):
    assert verify(dataset.path).ok
    features = {entry["name"]: entry for entry in describe(dataset.path)["features"]}
    assert (features[MASK.name]["dtype"], features[MASK.name]["names"]) == ("mask", list(MASK.names))
    assert features[LABEL.name]["names"] == list(LABEL.names)
    (row,) = query(dataset.path, f'select max("{LABEL.name}"[3]) as u, count(*) as n from frames').to_pylist()
    assert row["n"] == dataset.frame_count
    assert row["u"] == max(dataset.episode(index)[LABEL.name][:, 2].max() for index in range(dataset.stored))


def test_the_export_has_the_meaning_of_ids_and_three_channels(dataset):
    """lerobot decodes a video to RGB: every channel is the id / 255."""
    info = json.loads((dataset.path / "meta/info.json").read_text())["features"][MASK.name]
    assert (info["dtype"], info["shape"]) == ("video", [32, 48, 3])
    assert info["info"]["mask_names"] == list(MASK.names)
    stats = json.loads((dataset.path / "meta/stats.json").read_text())
    assert np.shape(stats[MASK.name]["mean"]) == (3, 1, 1)
    assert np.asarray(stats[MASK.name]["max"]).max() == pytest.approx(3 / 255)
    values = np.concatenate([dataset.episode(index)[LABEL.name] for index in range(dataset.stored)])
    np.testing.assert_allclose(stats[LABEL.name]["mean"], values.mean(axis=0), rtol=1e-5)


def test_labels_alone_need_no_video(tmp_path):
    written = write(tmp_path / "s", recording_of(range(3), features=(*FEATURES, LABEL)))
    assert set(written.files) == {"frames.parquet", "episodes.parquet"}
    assert len(pq.read_table(tmp_path / "s/frames.parquet")[LABEL.name]) == written.frames


def test_a_shard_without_rows_has_the_column_all_the_same(tmp_path):
    write_shard(
        tmp_path / "s", 0, 1, recording_of([], features=LABELLED), fps=50,
        columns={"attempt": [0], "task": ["lift"], "length": [0], "verdict": ["dropped"], "success": [False]},
    )  # fmt: skip
    assert pq.read_table(tmp_path / "s/frames.parquet")[LABEL.name].type.list_size == 4


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda made: {name: made[name] for name in made if name != LABEL.name}, f"{LABEL.name} has no values"),
        (lambda made: made | {LABEL.name: made[LABEL.name][:, :3]}, r"shape \(\d+, 3\) was given.*4\) was expected"),
        (lambda made: made | {LABEL.name: made[LABEL.name].astype(float)}, "float64 of shape"),
        (lambda made: made | {LABEL.name: made[LABEL.name] * np.float32(np.nan)}, f"{LABEL.name} is not finite"),
        (lambda made: made | {MASK.name: made[MASK.name].astype(np.uint16)}, "uint16 of shape.*uint8 of shape"),
        (lambda made: made | {MASK.name: made[MASK.name][..., None]}, r"32, 48, 1\) was given"),
    ],
)
def test_labels_that_do_not_match_the_header_are_refused(tmp_path, spoil, message):
    def spoilt(episodes):
        return (spoil(episode_pictures(int(episode), 7, LABELLED)) for episode in episodes)

    recording = dataclasses.replace(recording_of(range(2), features=LABELLED), pictures=spoilt)
    with pytest.raises(DatasetError, match=message):
        write(tmp_path / "s", recording)


def test_a_mask_of_too_many_names_is_refused():
    many = Feature("cam", "mask", (32, 48, 1), tuple(f"body{number}" for number in range(257)))
    with pytest.raises(DatasetError, match="257 names; a mask has at most 256"):
        header(features=(many,))


def test_cuts_are_read_back_and_must_be_in_order():
    cut = header(cuts=(0, 3, 4))
    assert cut.plan() == [(0, 3), (3, 4), (4, 10)]
    assert Header.from_json(unsealed(cut.to_bytes()), where="x") == cut
    assert "cuts" not in unsealed(header().to_bytes())
    for wrong in ((1, 2), (0, 4, 4), (0, 10), (0, 2.5)):
        with pytest.raises(DatasetError, match="cuts"):
            header(cuts=wrong)
