"""A user curates a dataset: scores beside it, a page, weights for training, and the same filter while generating."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.cli import main
from twinloop.curate.discriminator.curator_file import load_curator, save_curator
from twinloop.curate.discriminator.trajectories import joined
from twinloop.curate.discriminator.two_sample import compare_with_real
from twinloop.dataset import Dataset
from twinloop.dataset.curation import read_scores
from twinloop.dataset.simulated_film import EVERY, simulated_film
from twinloop.dataset.trajectories import read_trajectories
from twinloop.errors import CorruptError, UsageError
from twinloop.learn.episode_weights import read_episode_weights

CELL = "scene: {robot: franka_panda, task: pick_and_place}\nrollout: {seed: %d}\n"
EPISODES = 40


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("curate")
    for seed in (41, 42):
        (folder / f"cell{seed}.yaml").write_text(CELL % seed)
    words = ["--episodes", str(EPISODES), "--workers", "1", "--out"]
    assert main(["generate", str(folder / "cell41.yaml"), *words, str(folder / "data")]) == 0
    before = Dataset.open(folder / "data").digest()
    assert main(["curate", str(folder / "data"), "--out", str(folder / "curation")]) == 0
    assert Dataset.open(folder / "data").digest() == before, "the dataset was changed"
    return folder


def test_scores_are_a_table_beside_the_dataset_with_a_digest(place: Path):
    table = read_scores(place / "curation")
    assert table.num_rows == EPISODES
    assert sum(table["rejected"].to_pylist()) <= 2
    assert all(table["reason"].to_pylist())
    summary = json.loads((place / "curation" / "curation.json").read_text())
    assert summary["dataset"] == Dataset.open(place / "data").digest()
    card = json.loads((place / "curation" / "card.json").read_text())
    assert card["trained_on"]["digest"] == summary["dataset"]
    assert card["digest"] == summary["curator"]
    assert min(card["found"].values()) > 0.5
    page = (place / "curation" / "index.html").read_text()
    assert "Borderline episodes" in page
    assert "times the limit" in page


def test_a_table_that_was_altered_is_refused(place: Path, tmp_path: Path):
    for name in ("scores.parquet", "frames.parquet", "curation.json"):
        (tmp_path / name).write_bytes((place / "curation" / name).read_bytes())
    (tmp_path / "scores.parquet").write_bytes(b"other")
    with pytest.raises(CorruptError, match="was altered"):
        read_scores(tmp_path)


def test_the_weights_leave_rejected_episodes_out(place: Path):
    (entry,) = read_episode_weights(place / "curation" / "weights.json").datasets
    scores = read_scores(place / "curation")
    rejected = dict(zip(scores["attempt"].to_pylist(), scores["rejected"].to_pylist(), strict=True))
    assert {attempt: weight == 0 for attempt, weight in zip(entry.attempts, entry.weights, strict=True)} == rejected


def test_the_second_run_has_nothing_to_do(place: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["curate", str(place / "data"), "--out", str(place / "curation")]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_generate_applies_a_curator_and_counts_rejected_episodes(place: Path, capsys: pytest.CaptureFixture[str]):
    curator = load_curator(place / "curation")
    scores = read_scores(place / "curation")["score"].to_numpy()
    strict = save_curator(
        replace(curator, threshold=float(np.median(scores))), place / "strict"
    )  # rejects about half of all good episodes
    words = ["generate", str(place / "cell42.yaml"), "--episodes", "12", "--workers", "1", "--keep-rejected", "--json"]
    assert main([*words, "--curator", str(place / "strict"), "--out", str(place / "filtered")]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["rejected"].get("implausible", 0) > 0
    dataset = Dataset.open(place / "filtered")
    assert dataset.header.versions["curator"] == strict.digest[:16]
    table = dataset.attempts()
    for verdict, score, reason, length in zip(
        *(table[name].to_pylist() for name in ("verdict", "check/implausible", "curator_reason", "length")), strict=True
    ):
        assert (verdict == "implausible") == (score > strict.threshold)
        assert "limit" in reason
        assert length > 0, "--keep-rejected stores rejected episodes"
    # The same episodes have the same scores when they are curated later.
    later = strict.score(joined(list(read_trajectories(dataset))), duplicates=False).values
    np.testing.assert_allclose(later, table["check/implausible"].to_numpy(), atol=1e-4)


def test_an_episode_without_cameras_has_a_film_of_its_simulation(place: Path):
    dataset = Dataset.open(place / "data")
    film = simulated_film(dataset, 3)
    frames = len(dataset.episode(attempt=3)["timestamp"])
    assert len(film) == -(-frames // EVERY)
    assert np.abs(film[0].astype(int) - film[len(film) // 2]).max() > 50, "the robot moves"
    real = Dataset(dataset.path, replace(dataset.header, source="real"), dataset.entries)
    with pytest.raises(UsageError, match="are not simulated"):
        simulated_film(real, 3)


def test_a_curator_of_another_robot_is_refused_before_anything_is_generated(
    place: Path, capsys: pytest.CaptureFixture[str]
):
    words = ["generate", "--robot", "xarm7", "--episodes", "4", "--curator", str(place / "curation")]
    assert main([*words, "--out", str(place / "other")]) == 2
    assert "trained for robot 'franka_panda'" in capsys.readouterr().err
    assert not (place / "other").exists()


def test_all_episodes_rejected_is_refused_with_the_lowest_score(place: Path, capsys: pytest.CaptureFixture[str]):
    curator = load_curator(place / "curation")
    save_curator(replace(curator, threshold=-100.0), place / "never")
    words = ["curate", str(place / "data"), "--curator", str(place / "never"), "--out", str(place / "none")]
    assert main(words) == 2
    assert "all 40 episodes would be rejected: the lowest score is" in capsys.readouterr().err
    assert not (place / "none").exists()


def test_a_run_of_which_the_curator_rejects_every_episode_fails_with_the_figures(
    place: Path, capsys: pytest.CaptureFixture[str]
):
    """A curator of another task: all scores are at their maximum, which is not a constant curator."""
    words = ["generate", "--robot", "franka_panda", "--task", "push_to_goal", "--episodes", "3", "--workers", "1"]
    words += ["--curator", str(place / "curation"), "--keep-rejected", "--out", str(place / "push")]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "rejected all 3 episodes that the checks accepted: the lowest score is" in error
    assert "It was trained on pick_and_place" in error
    assert set(Dataset.open(place / "push").attempts()["verdict"].to_pylist()) == {"implausible"}


def test_simulated_and_real_data_are_distinguished_only_if_they_differ(place: Path):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'twinloop[curate]'")
    episodes = joined(list(read_trajectories(Dataset.open(place / "data"))))
    # Two features are enough to see it, and much faster than all.
    elements = {name: episodes.schema.elements[name] for name in ("observation.state", "action")}
    episodes = replace(episodes, schema=replace(episodes.schema, elements=elements))
    halves = episodes.take(np.arange(0, EPISODES, 2)), episodes.take(np.arange(1, EPISODES, 2))
    same = compare_with_real(*halves, seed=0)
    assert same.interval[0] < 0.7
    assert same.p_value > 0.01
    noisy = {**halves[1].signals}
    rng = np.random.default_rng(0)
    noisy["observation.state"] = noisy["observation.state"].copy()
    noisy["observation.state"][:, 2] += rng.normal(0, 0.02, len(noisy["observation.state"]))
    other = compare_with_real(halves[0], replace(halves[1], signals=noisy), seed=0)
    assert other.auroc > same.auroc
    assert other.p_value < 0.01
    assert other.channels[0].channel == "observation.state/joint3"
    assert other.channels[0].auroc > 0.95
    with pytest.raises(UsageError, match="5 real episodes are too few"):
        compare_with_real(halves[0], halves[1].take(np.arange(5)), seed=0)
