"""A curator that was trained on images judges rendered images before an episode is stored."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.curate.discriminator.curator import IMPLAUSIBLE, Curator
from twinloop.curate.discriminator.curator_file import save_curator
from twinloop.curate.discriminator.images import thumbnails
from twinloop.curate.discriminator.training import KINDS, train_curator
from twinloop.curate.discriminator.trajectories import STATE, Trajectories, joined
from twinloop.curate.verdict import ACCEPTED, Verdicts
from twinloop.dataset import Dataset
from twinloop.dataset.curator_verdicts import judge_with_curator
from twinloop.dataset.trajectories import read_trajectories
from twinloop.errors import RenderError
from twinloop.observe.gl import context
from twinloop.observe.recording import Feature, Recording
from twinloop.pipeline.generate import generate
from twinloop.run.config import config_from_text
from twinloop.twin.twin import Twin

CAMERA = "observation.images.front"
CELL = "rollout: {seed: 5}\ndataset: {shard_episodes: 48}\n"
FILMED = """\
cameras:
  front: {position_m: [1.3, 0, 0.6], look_at_m: [0.45, 0, 0.1], width: 32, height: 32, rate_hz: 25}
"""
TRAINING = 40
BLACK, USUAL = 0, 1


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Trajectories:
    """Episodes of the twin, with images that are a smooth function of the joints."""
    out = tmp_path_factory.mktemp("verdicts") / "good"
    generate(config_from_text(CELL, name="cell.yaml", folder=Path.cwd()), out, episodes=48, workers=1)
    good = joined(list(read_trajectories(Dataset.open(out))))
    images = {CAMERA: thumbnails(images_of(good.signals[STATE]))}
    return replace(good, schema=replace(good.schema, cameras=(CAMERA,)), images=images)


@pytest.fixture(scope="module")
def curator(episodes: Trajectories) -> Curator:
    return train_curator(episodes.take(np.arange(TRAINING)), seed=0, trusted=True, kinds=KINDS[:4]).curator


def images_of(state: np.ndarray) -> np.ndarray:
    """(n, 32, 32, 3) uint8 images of (n, joints) states: coloured squares that follow the joints."""
    colours = np.random.default_rng(0).normal(size=(state.shape[1], 8 * 8 * 3)) * 20
    squares = np.clip(128 + state @ colours, 0, 255).astype(np.uint8).reshape(-1, 8, 8, 3)
    return squares.repeat(4, axis=1).repeat(4, axis=2)


def recording_of(episodes: Trajectories, brightness: int) -> Recording:
    features = [
        Feature(name, "float32", (values.shape[1],), episodes.schema.elements[name])
        for name, values in episodes.signals.items()
    ]
    ends = np.cumsum(episodes.lengths)

    def pictures(rows: np.ndarray) -> Iterator[Mapping[str, np.ndarray]]:
        for row in rows:
            state = episodes.signals[STATE][ends[row] - episodes.lengths[row] : ends[row]]
            yield {CAMERA: images_of(state) * np.uint8(brightness)}

    return Recording(
        attempts=episodes.attempts, lengths=episodes.lengths, tasks=("pick",) * len(episodes),
        features=(*features, Feature(CAMERA, "video", (32, 32, 3))),
        frames={**episodes.signals, **episodes.labels}, pictures=pictures,
    )  # fmt: skip


def verdicts_of(curator: Curator, episodes: Trajectories, twin: Twin, brightness: int) -> list[str]:
    count = len(episodes)
    accepted = Verdicts((ACCEPTED,) * count, failures=("",) * count, storable=np.ones(count, bool), measures={})
    recording = recording_of(episodes, brightness)
    verdicts, columns = judge_with_curator(accepted, curator, recording, np.ones(count, bool), twin)
    assert len(columns["curator_reason"]) == count
    return list(verdicts.reasons)


def test_usual_images_pass_and_black_ones_are_implausible(curator: Curator, episodes: Trajectories, twin: Twin):
    unseen = episodes.take(np.arange(TRAINING, len(episodes)))
    assert verdicts_of(curator, unseen, twin, USUAL).count(ACCEPTED) >= len(unseen) - 1
    assert verdicts_of(curator, unseen, twin, BLACK) == [IMPLAUSIBLE] * len(unseen)


def test_generate_judges_the_images_that_it_renders(curator: Curator, tmp_path: Path):
    """A curator of drawn images rejects rendered ones; without its model of images it accepts the same episodes."""
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    pytest.importorskip("av", reason="needs twinloop[video]")
    config = config_from_text(f"{CELL}{FILMED}", name="cell.yaml", folder=tmp_path)
    numbers_only = replace(curator, model=replace(curator.model, images={}), schema=replace(curator.schema, cameras=()))
    for name, judge in (("images", curator), ("numbers", numbers_only)):
        save_curator(judge, tmp_path / name)
        generate(
            config, tmp_path / f"{name}-data", episodes=3, workers=1, keep_rejected=True, curator=tmp_path / name
        )  # fmt: skip
    seen, unseen = (Dataset.open(tmp_path / f"{name}-data") for name in ("images", "numbers"))
    assert unseen.attempts()["verdict"].to_pylist() == [ACCEPTED] * 3
    assert seen.attempts()["verdict"].to_pylist() == [IMPLAUSIBLE] * 3
    assert all("front" in reason for reason in seen.attempts()["curator_reason"].to_pylist())
    # The stored video is compressed, so its scores are only nearly those of the rendered images.
    later = curator.score(joined(list(read_trajectories(seen, images=True))), duplicates=False).values
    np.testing.assert_allclose(seen.attempts()["check/implausible"].to_numpy(), later, rtol=0.1)
