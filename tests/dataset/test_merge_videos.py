"""Merging datasets with images: whole shards, bit by bit, and safe to kill."""

import dataclasses
import os

import numpy as np
import pytest

from tests.dataset.synthetic import FEATURES, LABELLED, MASK, header, run
from twinloop.dataset import Dataset, DatasetWriter, merge, verify
from twinloop.dataset.identity import differences
from twinloop.dataset.video import CODECS
from twinloop.errors import CorruptError, DatasetError


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    run(folder / "a", header(episodes=10, features=LABELLED))
    run(folder / "b", header(episodes=7, run_seed=9, shard_episodes=3, keep_rejected=True, features=LABELLED))
    return folder / "a", folder / "b"


def same_pictures(merged: Dataset, inputs: list[Dataset]) -> bool:
    wanted = [(dataset, index) for dataset in inputs for index in range(dataset.stored)]
    return merged.stored == len(wanted) and all(
        np.array_equal(merged.pictures(number, feature.name), dataset.pictures(index, feature.name))
        for number, (dataset, index) in enumerate(wanted)
        for feature in merged.header.pictures
    )


def test_every_episode_keeps_its_pictures_and_labels_to_the_bit(tmp_path, parts):
    digest = merge(tmp_path / "c", parts)
    report = verify(tmp_path / "c").require()
    assert (report.digest, report.complete, report.exported) == (digest, True, True)
    merged, inputs = Dataset.open(tmp_path / "c"), [Dataset.open(path) for path in parts]
    assert same_pictures(merged, inputs)
    one, other = merged.episode(inputs[0].stored), inputs[1].episode(0)
    for name in set(one) - {"attempt"}:
        assert np.array_equal(one[name], other[name])
    assert merged.header.plan() == [(0, 4), (4, 8), (8, 10), (10, 13), (13, 16), (16, 17)]


def test_a_copy_is_not_a_link(tmp_path, parts):
    merge(tmp_path / "c", parts)
    inodes = [{file.stat().st_ino for file in path.rglob("*.mp4")} for path in (tmp_path / "c", parts[0])]
    assert inodes[0].isdisjoint(inodes[1])
    assert not any(os.stat(file).st_mode & 0o222 for file in (tmp_path / "c").rglob("*.mp4"))


def test_a_merge_of_merges_is_one_too(tmp_path, parts):
    merge(tmp_path / "c", parts)
    merge(tmp_path / "d", [tmp_path / "c", parts[0]])
    assert verify(tmp_path / "d").require().complete
    assert same_pictures(Dataset.open(tmp_path / "d"), [Dataset.open(path) for path in (*parts, parts[0])])


def test_a_killed_merge_resumes_to_the_same_dataset(tmp_path, parts, monkeypatch):
    wanted = merge(tmp_path / "c", parts)
    commit, left = DatasetWriter.commit, 3

    def killed(writer, draft):
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        commit(writer, draft)

    monkeypatch.setattr(DatasetWriter, "commit", killed)
    with pytest.raises(KeyboardInterrupt):
        merge(tmp_path / "k", parts)
    monkeypatch.undo()
    halfway = Dataset.open(tmp_path / "k")
    assert (len(halfway.entries), halfway.complete) == (3, False)
    assert merge(tmp_path / "k", parts, name="c") == wanted
    assert verify(tmp_path / "k").require().complete


def test_another_resolution_is_refused(tmp_path, parts):
    narrow = tuple(dataclasses.replace(f, shape=(32, 32, 1)) if f == MASK else f for f in LABELLED)
    run(tmp_path / "n", header(episodes=2, features=narrow))
    with pytest.raises(DatasetError) as caught:
        merge(tmp_path / "c", [parts[0], tmp_path / "n"])
    assert all(word in str(caught.value) for word in (MASK.name, "mask[32, 48, 1]", "mask[32, 32, 1]"))
    run(tmp_path / "blind", header(episodes=2, features=FEATURES))
    with pytest.raises(DatasetError, match=r"feature observation\.images\.front .*absent"):
        merge(tmp_path / "c", [parts[0], tmp_path / "blind"])
    assert not (tmp_path / "c").exists()


def test_only_differing_names_are_listed():
    many = tuple(f"body{number}" for number in range(20))
    few, more = (dataclasses.replace(MASK, names=names) for names in (many, (*many, "mug")))
    one, other = (header(features=(*FEATURES, mask)) for mask in (few, more))
    (result,) = differences(one, other)
    assert (result.one, result.other) == ("mask[32, 48, 1] [20 names]", "mask[32, 48, 1] [21 names: mug]")
    turned = header(features=(*FEATURES, dataclasses.replace(MASK, names=(*many[:18], "body19", "body18"))))
    (result,) = differences(one, turned)
    assert (result.one, result.other) == (
        "mask[32, 48, 1] [20 names: body18, body19]",
        "mask[32, 48, 1] [20 names: body19, body18]",
    )


def test_another_codec_is_refused(tmp_path, parts, monkeypatch):
    monkeypatch.setitem(CODECS, "video", CODECS["video"][1:])
    run(tmp_path / "h", header(episodes=2, features=LABELLED))
    with pytest.raises(DatasetError, match=r"codec of observation\.images\.front .*h264.*av1"):
        merge(tmp_path / "c", [parts[0], tmp_path / "h"])


def test_a_damaged_video_is_not_passed_on(tmp_path):
    run(tmp_path / "a", header(episodes=4, features=LABELLED))
    video = next((tmp_path / "a/shards").rglob("*.mp4"))
    video.chmod(0o644)
    data = bytearray(video.read_bytes())
    data[len(data) // 2] ^= 1
    video.write_bytes(data)
    with pytest.raises(CorruptError, match=f"{video.name}: does not have the committed content"):
        merge(tmp_path / "c", [tmp_path / "a"])
    assert Dataset.open(tmp_path / "c").entries == ()
