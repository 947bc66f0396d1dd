"""Faults of images: pictures of another episode, a frozen camera, swapped cameras, late pictures, a moved camera."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from twinloop.curate.discriminator.images import SIDE
from twinloop.curate.discriminator.threshold import Threshold
from twinloop.curate.discriminator.training import KINDS, auroc, fit_curator, fit_usual
from twinloop.curate.discriminator.trajectories import Trajectories, joined
from twinloop.dataset import Dataset
from twinloop.dataset.trajectories import read_trajectories
from twinloop.pipeline.generate import generate
from twinloop.run.config import config_from_text

TRAIN, TEST, EACH = 40, 20, 10
CELL = """
scene: {robot: franka_panda, task: pick_and_place}
cameras:
  front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, -0.03, 0.12], fov_deg: 46, width: 64, height: 64}
  side: {position_m: [0.5, -0.9, 0.6], look_at_m: [0.45, 0.0, 0.1], fov_deg: 50, width: 64, height: 64}
randomization:
  visual: {texture_pool: 50, lighting_intensity: [0.7, 1.3], camera_jitter_deg: [-1, 1]}
  physics: {object_mass_kg: [0.05, 0.4], friction_coefficient: [0.4, 1.1], object_position_noise_cm: [-2, 2]}
"""


def measure_images(work: Path, seed: int) -> dict:
    good, test = (_episodes(work, seed + at, count) for at, count in ((0, TRAIN), (1, TEST)))
    rng = np.random.default_rng(seed)
    curator, _ = fit_curator(good, fit_usual(good, rng=rng), kinds=KINDS, threshold=Threshold(), rng=rng)
    scores = curator.score(test)
    results = {}
    for kind, inject in FAULTS.items():
        rows = rng.permutation(len(test))[:EACH]
        faulty = joined([inject(test.take(np.array([row])), test.take(np.array([row - 1])), rng) for row in rows])
        results[kind] = round(auroc(scores.values, curator.score(faulty, duplicates=False).values), 4)
    return {
        "auroc_images": round(float(np.mean(list(results.values()))), 4), "kinds": results,
        "rejected_good": int(scores.rejected.sum()), "good_episodes": len(test),
    }  # fmt: skip


def _episodes(work: Path, seed: int, count: int) -> Trajectories:
    folder = work / f"images-{seed}"
    config = config_from_text(f"{CELL}rollout: {{seed: {seed}}}\n", name="cell.yaml", folder=work)
    generate(config, folder, episodes=count, workers=1)
    return joined(list(read_trajectories(Dataset.open(folder), images=True)))


def _with(episode: Trajectories, **images: np.ndarray) -> Trajectories:
    names = {name.rpartition(".")[2]: name for name in episode.images}
    return replace(episode, images={**episode.images, **{names[key]: values for key, values in images.items()}})


def _image(episode: Trajectories, camera: str) -> np.ndarray:
    return next(values for name, values in episode.images.items() if name.endswith(camera))


def other_episode(episode: Trajectories, other: Trajectories, _rng: np.random.Generator) -> Trajectories:
    rows = np.minimum(np.arange(episode.frames), other.frames - 1)
    return _with(episode, front=_image(other, "front")[rows])


def frozen_camera(episode: Trajectories, _other: Trajectories, rng: np.random.Generator) -> Trajectories:
    pictures = _image(episode, "front").copy()
    start = int(rng.integers(5, episode.frames // 2))
    pictures[start:] = pictures[start]
    return _with(episode, front=pictures)


def swapped_cameras(episode: Trajectories, _other: Trajectories, _rng: np.random.Generator) -> Trajectories:
    return _with(episode, front=_image(episode, "side"), side=_image(episode, "front"))


def late_pictures(episode: Trajectories, _other: Trajectories, _rng: np.random.Generator) -> Trajectories:
    rows = np.clip(np.arange(episode.frames) - 12, 0, None)
    return _with(episode, front=_image(episode, "front")[rows])


def upside_down(episode: Trajectories, _other: Trajectories, _rng: np.random.Generator) -> Trajectories:
    pictures = _image(episode, "front").reshape(-1, SIDE, SIDE, 3)[:, ::-1, ::-1]
    return _with(episode, front=np.ascontiguousarray(pictures).reshape(episode.frames, -1))


def dark_camera(episode: Trajectories, _other: Trajectories, rng: np.random.Generator) -> Trajectories:
    pictures = _image(episode, "front").copy()
    start = int(rng.integers(5, episode.frames // 2))
    pictures[start : start + 20] = 0.0
    return _with(episode, front=pictures)


FAULTS = {
    inject.__name__: inject
    for inject in (other_episode, frozen_camera, swapped_cameras, late_pictures, upside_down, dark_camera)
}
