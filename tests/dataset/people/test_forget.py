"""Forgetting in datasets, and the checkpoints that are named."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.dataset.people.peopled import ADA, BO, MARK, mentions, peopled
from tests.dataset.synthetic import CAMERAS, FEATURES
from twinloop.cli import main
from twinloop.dataset import Dataset, WriterLock, merge, verify
from twinloop.dataset.people.forget import forget_in
from twinloop.dataset.people.tombstones import read_tombstones
from twinloop.durable import FileDigest
from twinloop.errors import CheckpointError, ConsentError, LockedError
from twinloop.gate.forget import forget
from twinloop.learn.card import Card, read_card
from twinloop.learn.pictures import default_cache
from twinloop.learn.space import Space


def card(folder: Path, *digests: str, parent: str = "", kind: str = "real") -> str:
    """A checkpoint trained on datasets of these digests; its own digest."""
    folder.mkdir(parents=True)
    data = tuple({"name": f"d{number}", "digest": digest, "kind": kind} for number, digest in enumerate(digests))
    written = Card(
        policy="mlp", settings={}, space=Space("panda", 50.0, (), FEATURES[1]), file="policy-0123456789ab.safetensors",
        weights=FileDigest("0" * 64, 1), data=data, training={"folder": folder.name}, seed=0, versions={}, metrics={},
        limits={}, instructions=(), steps=1, finished=True, parent=parent,
    )  # fmt: skip
    written.write(folder)
    return read_card(folder).digest


def test_episodes_of_the_participant_are_removed_and_others_are_unchanged(tmp_path):
    path = tmp_path / "d"
    peopled(path, ["", ADA, BO, ADA, ""])
    (path / "report.html").write_text("a drawing of everybody")
    (path / "notes.txt").write_text("a rainy day")
    before = {item: Dataset.open(path).episode(attempt=item) for item in (0, 2, 4)}
    assert mentions(tmp_path, ADA)
    assert mentions(tmp_path, str(MARK + 3))
    done = forget_in(path, ADA)
    assert (done.episodes, done.beside) == (2, ("notes.txt",))
    assert not mentions(tmp_path, ADA)
    assert not mentions(tmp_path, str(MARK + 1))
    assert not mentions(tmp_path, str(MARK + 3))
    assert mentions(tmp_path, BO)
    dataset = Dataset.open(path)
    assert dataset.attempts()["verdict"].to_pylist() == ["accepted", "forgotten", "accepted", "forgotten", "accepted"]
    assert dataset.attempts()["interventions"].to_pylist() == [0, None, 2, None, 4]
    for attempt, frames in before.items():
        for name, values in dataset.episode(attempt=attempt).items():
            np.testing.assert_array_equal(values, frames[name])
    assert not (path / "report.html").exists()
    assert (path / "notes.txt").read_text() == "a rainy day"
    report = verify(path)
    assert report.ok
    assert report.exported
    assert json.loads((path / "meta/info.json").read_text())["total_episodes"] == 3
    assert [item.name for item in tmp_path.iterdir()] == ["d"]


def test_a_tombstone_matches_the_pseudonym_without_containing_it(tmp_path):
    peopled(tmp_path / "d", [BO, ""])
    forget_in(tmp_path / "d", BO.lower())
    (stone,) = read_tombstones(tmp_path / "d").stones
    assert (stone.episodes, stone.first_attempt) == (1, 0)
    assert stone.marks(BO)
    assert not stone.marks("P018")
    assert not mentions(tmp_path, BO)


def test_shards_of_several_are_written_again_with_the_pictures_of_the_others(tmp_path):
    path = tmp_path / "d"
    peopled(path, ["", ADA, "", ADA, ADA], shard_episodes=3, features=(*FEATURES, *CAMERAS[::2]))
    video, depth = (feature.name for feature in CAMERAS[::2])
    before = {name: [Dataset.open(path).pictures(item, name) for item in (0, 2)] for name in (video, depth)}
    forget_in(path, ADA)
    dataset = Dataset.open(path)
    assert verify(path).ok
    assert [entry.stored for entry in dataset.entries] == [2, 0]
    assert "observation.images.front.mp4" not in dataset.entries[1].files
    for now, then in zip((0, 1), before[video], strict=True):
        assert np.abs(dataset.pictures(now, video).astype(int) - then).mean() < 4  # encoded once more
    for now, then in zip((0, 1), before[depth], strict=True):
        np.testing.assert_array_equal(dataset.pictures(now, depth), then)


def test_a_locked_dataset_is_not_changed(tmp_path):
    digest = peopled(tmp_path / "d", [ADA, ""])
    lock = WriterLock(tmp_path / "d" / "lock")
    lock.acquire()
    with pytest.raises(LockedError):
        forget_in(tmp_path / "d", ADA)
    lock.release()
    assert Dataset.open(tmp_path / "d").digest() == digest


def test_every_checkpoint_that_learnt_from_them_is_named(tmp_path):
    data, policies = tmp_path / "data", tmp_path / "policies"
    early = peopled(data / "grown", ["", ADA])
    grown = peopled(data / "grown", ["", ADA, "", BO])
    before_them = Dataset.open(data / "grown")
    other = peopled(data / "other", ["", ""])
    both = merge(data / "both", [data / "other", data / "grown"])
    known = [
        card(policies / "early", early),
        card(policies / "deep" / "down" / "whole", other, grown),
        card(policies / "merged", both),
    ]
    child = card(policies / "child", other, parent=known[0])
    grandchild = card(policies / "grandchild", other, parent=child)
    card(policies / "innocent", other)
    card(policies / "twin_only", "f" * 64, kind="sim")
    lost = card(policies / "lost", "e" * 64)
    (policies / "child" / "policy.onnx").write_bytes(b"graph" + child.encode() + b"weights")
    bo_only = card(policies / "bo", peopled(data / "bo", [BO]))
    assert before_them.digest() == grown

    def named(participant: str, **options) -> set[str]:
        return {
            learner.digest for learner in forget(participant, [data], [policies], cache=tmp_path, **options).learners
        }

    expected = {*known, child, grandchild}
    assert named(ADA, dry_run=True) == expected
    assert mentions(data, ADA)
    done = forget(ADA, [data], [policies], cache=tmp_path)
    assert done.episodes == 2
    assert {learner.path.name for learner in done.learners} >= {"early", "whole", "merged", "child", "policy.onnx"}
    assert {learner.digest for learner in done.learners} == expected
    assert [item.digest for item in done.unclear] == [lost]
    assert not mentions(tmp_path, ADA)
    assert named(ADA) == expected  # again, though nothing of them is left
    # The digests from before the first was forgotten held the second too.
    assert named(BO) == {known[1], known[2], bo_only}
    assert named("P999") == set()


def test_pictures_are_forgotten_by_the_cache_too(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    peopled(tmp_path / "d", [ADA, ""], features=(*FEATURES, CAMERAS[0]))
    cache = default_cache()
    cache.mkdir(parents=True)
    theirs, others = (
        entry.files["observation.images.front.mp4"].sha256 for entry in Dataset.open(tmp_path / "d").entries
    )
    for video in (theirs, others):
        (cache / f"{video}-1-32.npy").write_bytes(b"small pictures")
    assert forget(ADA, [tmp_path / "d"], [], cache=cache).cached == 1
    assert [file.name for file in cache.iterdir()] == [f"{others}-1-32.npy"]


def test_a_card_that_cannot_be_read_is_an_error_not_an_omission(tmp_path):
    peopled(tmp_path / "d", [ADA])
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "card.json").write_text("{")
    with pytest.raises(CheckpointError, match="is unknown: repair or remove it"):
        forget(ADA, [tmp_path / "d"], [tmp_path / "p"], cache=tmp_path)


def test_a_name_is_not_searched_for(tmp_path):
    with pytest.raises(ConsentError, match="does not look like a pseudonym"):
        forget("Ada Lovelace", [tmp_path], [tmp_path], cache=tmp_path)


def test_the_command_reports_and_removes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    card(tmp_path / "policies" / "one", peopled(tmp_path / "datasets" / "d", ["", BO]))
    assert main(["forget", BO, "--dry-run", "--json"]) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (output["episodes"], output["looked_at"], len(output["checkpoints"])) == (1, 1, 1)
    assert main(["forget", BO]) == 0
    printed = capsys.readouterr().out
    assert "1 episodes removed" in printed
    assert "policies/one" in printed
    assert (
        main(["consent", "--participant", "Anna Schmidt", "--purpose", "x", "--expires", "2030-01-01", "--out", "c"])
        == 1
    )
    assert "Anna" not in capsys.readouterr().err
