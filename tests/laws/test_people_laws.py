"""Laws of participants' data (invariant 9).

1. An episode marked with a participant is in a dataset only with a consent that held when it entered.
2. After forgetting, no file holds data of the person, the data of others is unchanged, and the dataset verifies: also
   when `forget` was killed at any moment and run again.
3. Forgetting is idempotent, and the order in which people are forgotten makes no difference.
"""

import shutil
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

from tests.dataset.people.peopled import ADA, BO, CY, MARK, TODAY, consent_of, mentions, peopled
from tests.faults.kill_states import kill_states, put_back
from tests.laws.test_dataset_laws import committed_shards_are_whole, export_is_whole_or_absent
from twinloop.dataset import Dataset, verify
from twinloop.dataset.people import without
from twinloop.dataset.people.forget import forget_in
from twinloop.errors import ConsentError

PEOPLE = (ADA, BO, CY)


@pytest.mark.parametrize("seed", range(12))
def test_only_consented_episodes_enter(tmp_path, seed):
    rng = np.random.default_rng(seed)
    given, expires = np.sort(rng.integers(-3, 4, size=2))
    scope = tuple(use for use in ("record", "train", "analyse") if rng.random() < 0.7)
    consent = consent_of(
        ADA, scope=scope, given_on=TODAY + timedelta(int(given)), expires_on=TODAY + timedelta(int(expires))
    )
    allowed = "record" in scope and given <= 0 <= expires
    try:
        peopled(tmp_path / "d", ["", ADA, ""], consents={ADA: consent})
    except ConsentError:
        assert not allowed
        assert not mentions(tmp_path / "d" / "shards", ADA)
    else:
        assert allowed


def marked(dataset: Dataset) -> dict[int, np.ndarray]:
    rows = dataset.attempts()
    stored = [
        attempt for attempt, length in zip(*(rows[n].to_pylist() for n in ("attempt", "length")), strict=True) if length
    ]
    return {attempt: dataset.episode(attempt=attempt)["observation.state"] for attempt in stored}


@pytest.mark.parametrize("seed", range(6))
def test_forgetting_removes_only_the_person_in_any_order(tmp_path, seed):
    rng = np.random.default_rng(seed)
    who = [str(name) for name in rng.choice(["", *PEOPLE], size=9)]
    per_shard = int(rng.integers(1, 5))
    peopled(tmp_path / "a" / "d", who, shard_episodes=per_shard)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    original = marked(Dataset.open(tmp_path / "a" / "d"))
    gone: set[str] = set()
    for participant in rng.permutation(PEOPLE):
        path = tmp_path / "a" / "d"
        assert forget_in(path, participant).episodes == who.count(participant)
        assert forget_in(path, participant).episodes == 0
        gone.add(str(participant))
        assert verify(path).ok
        assert not mentions(tmp_path / "a", participant)
        left = marked(Dataset.open(path))
        assert set(left) == {attempt for attempt, name in enumerate(who) if name not in gone}
        for attempt, state in left.items():
            np.testing.assert_array_equal(state, original[attempt])
    for participant in rng.permutation(PEOPLE):
        forget_in(tmp_path / "b" / "d", participant)
    digests = {Dataset.open(tmp_path / side / "d").digest() for side in "ab"}
    assert len(digests) == 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forgetting_that_is_killed_leaves_a_complete_dataset_and_can_be_repeated(tmp_path, monkeypatch):
    peopled(tmp_path / "start", ["", ADA])
    shutil.copytree(tmp_path / "start", tmp_path / "whole" / "d")
    forget_in(tmp_path / "whole" / "d", ADA)
    wanted = Dataset.open(tmp_path / "whole" / "d").digest()
    place = tmp_path / "place"

    def digests_after_kills(folder: str) -> list[str]:
        """Digests of the datasets that kills leave. After each the same command finishes."""
        digests = []
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(tmp_path / "start", place / "d")
        kills = kill_states(place, lambda: forget_in(place / "d", ADA), tmp_path / folder)
        assert kills.moments > 30  # it was killed often enough to mean something
        assert len(kills.states) > 20
        for moment, state in kills.states:
            put_back(state, place)
            if (place / "d").exists():
                committed_shards_are_whole(place / "d")
                export_is_whole_or_absent(place / "d")
            digests.append(Dataset.open(place / "d").digest() if (place / "d").exists() else "")
            forget_in(place / "d", ADA)
            assert Dataset.open(place / "d").digest() == wanted, f"killed at change {moment}"
            assert [item.name for item in place.iterdir()] == ["d"]
        return digests

    digests = digests_after_kills("kills")
    assert "" not in digests  # there was a dataset at every moment
    assert sum(one != other for one, other in pairwise(digests)) == 1  # the old one, then the new one
    assert verify(place / "d").exported
    assert not mentions(place, ADA)
    assert not mentions(place, str(MARK + 1))

    # On a disk that cannot swap folders the dataset is missing for a moment; the next run repairs it.
    monkeypatch.setattr(without, "exchange", _cannot)
    assert digests_after_kills("more_kills").count("") == 1


def _cannot(*_: object) -> None:
    raise OSError(22, "Invalid argument")
