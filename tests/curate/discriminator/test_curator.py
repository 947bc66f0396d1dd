"""Laws of a curator: it accepts good episodes, finds known and unknown kinds of faults, and survives disk."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.curate.discriminator import trajectories
from twinloop.curate.discriminator.curator import Curator
from twinloop.curate.discriminator.curator_file import FILE, load_curator, save_curator
from twinloop.curate.discriminator.faults import FAULTS, duplicated
from twinloop.curate.discriminator.head import fit_head
from twinloop.curate.discriminator.threshold import Threshold, choose_threshold, tail_quantile
from twinloop.curate.discriminator.training import KINDS, auroc, injected, refuse_constant, train_curator
from twinloop.curate.discriminator.trajectories import ENVIRONMENT, STATE, Trajectories, joined
from twinloop.dataset import Dataset
from twinloop.dataset.trajectories import read_trajectories
from twinloop.errors import CorruptError, UsageError
from twinloop.pipeline.generate import generate
from twinloop.run.config import config_from_text

LEFT_OUT = ("sensor_bias", "teleported_object", "shifted_actions", "mislabelled_success")
CELL = "scene: {robot: franka_panda, task: pick_and_place}\nrollout: {seed: 31}\ndataset: {shard_episodes: 48}\n"


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Trajectories:
    out = tmp_path_factory.mktemp("curator") / "good"
    generate(config_from_text(CELL, name="cell.yaml", folder=Path.cwd()), out, episodes=96, workers=1)
    return joined(list(read_trajectories(Dataset.open(out))))


@pytest.fixture(scope="module")
def good(episodes: Trajectories) -> Trajectories:
    return episodes.take(np.arange(64))


@pytest.fixture(scope="module")
def unseen(episodes: Trajectories) -> Trajectories:
    return episodes.take(np.arange(64, len(episodes)))


@pytest.fixture(scope="module")
def curator(good: Trajectories) -> Curator:
    kinds = [kind for kind in KINDS if kind not in LEFT_OUT]
    return train_curator(good, seed=0, trusted=True, kinds=kinds).curator


def test_good_episodes_of_the_same_cell_pass(curator: Curator, unseen: Trajectories):
    assert curator.score(unseen).rejected.mean() <= 0.05


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_a_kind_of_fault_that_it_was_not_trained_against_is_found(curator: Curator, unseen: Trajectories, kind: str):
    faulty = injected(unseen, [kind], count=8, rng=np.random.default_rng(1), sizes=(1, 2))
    for episodes in faulty.values():
        assert auroc(curator.score(unseen).values, curator.score(episodes, duplicates=False).values) > 0.9


def test_every_injected_fault_changes_the_episode_and_keeps_its_schema(unseen: Trajectories):
    episode = unseen.take(np.array([3]))
    for fault in FAULTS.values():
        faulty = fault.inject(episode, np.random.default_rng(2), 1)
        assert faulty is not None, fault.name
        assert faulty.signals.keys() == episode.signals.keys()
        changed = faulty.lengths[0] != episode.lengths[0] or faulty.success[0] != episode.success[0]
        same = not changed and all(
            np.array_equal(faulty.signals[name], values) for name, values in episode.signals.items()
        )
        assert not same, fault.name


def test_a_copy_is_found_and_its_original_is_kept(curator: Curator, unseen: Trajectories):
    copy = duplicated(unseen.take(np.array([5])), np.random.default_rng(0), 0)
    assert copy is not None
    both = joined([unseen, replace(copy, attempts=np.array([777]))])
    scores = curator.score(both)
    assert scores.rejected[-1]
    assert scores.aspects[-1] == "duplicate"
    assert str(unseen.attempts[5]) in scores.reasons[-1]
    assert not scores.rejected[5]


def test_a_reason_names_channel_and_frame(curator: Curator, unseen: Trajectories):
    episode = unseen.take(np.array([0]))
    values = episode.signals[STATE].copy()
    values[40, 2] += 0.5
    scores = curator.score(replace(episode, signals={**episode.signals, STATE: values}), duplicates=False)
    assert scores.rejected[0]
    assert "joint3" in scores.reasons[0]
    assert 37 <= scores.worst_frame[0] <= 46


def test_the_score_of_an_episode_does_not_depend_on_its_company(curator: Curator, unseen: Trajectories):
    together = curator.score(unseen, duplicates=False).values
    alone = curator.score(unseen.take(np.array([7])), duplicates=False).values
    assert alone[0] == pytest.approx(together[7], abs=1e-6)


def test_scores_are_the_same_with_several_threads(
    curator: Curator, episodes: Trajectories, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(trajectories, "BLOCK_FRAMES", episodes.frames // 5)
    assert len(episodes.blocks()) > 3
    alone = curator.score(episodes, duplicates=False)
    together = curator.score(episodes, duplicates=False, threads=3)
    np.testing.assert_array_equal(together.values, alone.values)
    np.testing.assert_array_equal(together.frames, alone.frames)


def test_a_late_object_tracker_is_found_by_its_delay_behind_the_hand(curator: Curator, unseen: Trajectories):
    poses = unseen.signals[ENVIRONMENT]
    late = replace(unseen, signals={**unseen.signals, ENVIRONMENT: unseen.shifted(poses, -3)})
    features = curator.model.features(late)
    delay = features.names.index("lag:hand>things")
    assert np.median(features.values[:, delay]) > 1.5 * curator.limits[delay]
    assert np.median(curator.model.features(unseen).values[:, delay]) < 0.5 * curator.limits[delay]
    assert curator.score(late, duplicates=False).rejected.all()


@pytest.mark.parametrize("force_n", [0.0, 20.0])
def test_contact_that_the_motor_of_the_hand_contradicts_is_found(
    curator: Curator, unseen: Trajectories, force_n: float
):
    force = unseen.signals["contact"].copy()
    firm = force[:, :2].min(axis=1) > 1
    for start, length in zip(unseen.starts, unseen.lengths, strict=True):
        rows = np.flatnonzero(firm[start : start + length] == (force_n == 0)) + start
        middle = rows[len(rows) // 2] if force_n == 0 else rows[4]
        force[middle : middle + 6, :2] = force_n
    faulty = replace(unseen, signals={**unseen.signals, "contact": force})
    assert curator.score(faulty, duplicates=False).rejected.mean() > 0.9


def test_a_nan_is_rejected(curator: Curator, unseen: Trajectories):
    episode = unseen.take(np.arange(2))
    values = episode.signals[STATE].copy()
    values[5, 1] = np.nan
    scores = curator.score(replace(episode, signals={**episode.signals, STATE: values}))
    assert scores.rejected.tolist() == [True, False]
    assert "NaN" in scores.reasons[0]


def test_a_curator_is_the_same_after_a_round_trip_and_holds_no_pickle(
    curator: Curator, unseen: Trajectories, tmp_path: Path
):
    saved = save_curator(curator, tmp_path)
    loaded = load_curator(tmp_path)
    assert loaded.digest == saved.digest
    assert loaded.card["found"] == curator.card["found"]
    np.testing.assert_array_equal(loaded.score(unseen).values, curator.score(unseen).values)
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-200])
    with pytest.raises(CorruptError, match="is not a curator"):
        load_curator(tmp_path)


def test_another_robot_rate_or_schema_is_refused(curator: Curator, unseen: Trajectories):
    schema = unseen.schema
    for other, message in (
        (replace(schema, robot="xarm7"), "trained for robot 'franka_panda'"),
        (replace(schema, rate_hz=50.0), "trained at 25 Hz"),
        (replace(schema, elements={k: v for k, v in schema.elements.items() if k != ENVIRONMENT}), "do not have"),
        (replace(schema, elements={**schema.elements, STATE: ("a", "b")}), "with the elements"),
    ):
        with pytest.raises(UsageError, match=message):
            curator.score(replace(unseen, schema=other))


def test_too_few_episodes_are_refused(good: Trajectories):
    with pytest.raises(UsageError, match="12 episodes are too few to learn from"):
        train_curator(good.take(np.arange(12)), seed=0)


def test_a_constant_curator_is_refused_with_its_figure():
    with pytest.raises(UsageError, match=r"constant.*AUROC 0\.50"):
        refuse_constant(np.zeros(20), np.zeros(20))


def test_the_head_has_no_negative_weight():
    rng = np.random.default_rng(0)
    head = fit_head(rng.uniform(0, 1.2, (60, 5)), rng.uniform(0, 4, (60, 5)), rng=rng)
    assert (head.weights >= 0).all()
    assert head.logit(np.full((1, 5), 8.0)) > head.logit(np.full((1, 5), 2.0))


def test_the_threshold_follows_the_costs():
    rng = np.random.default_rng(0)
    good, faulty = rng.normal(0, 1, 500), rng.normal(2, 1, 500)
    costs = [choose_threshold(good, faulty, Threshold(miss_cost=cost)).value for cost in (1.0, 10.0, 100.0)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]
    exponential = rng.exponential(1, 20_000)
    assert tail_quantile(exponential[:2000], 0.001) == pytest.approx(np.log(1000), rel=0.15)
