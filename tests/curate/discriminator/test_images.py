"""Images: a wrong view is told from the right one whatever the light, and motion of another episode does not fit."""

from dataclasses import replace

import numpy as np
import pytest

from twinloop.curate.discriminator.images import SIDE, ImageModel, fit_images
from twinloop.curate.discriminator.trajectories import STATE, Trajectories, TrajectorySchema

EPISODES, FRAMES = 12, 60
FRONT, SIDEWAYS = "observation.images.front", "observation.images.side"


def film(path: np.ndarray, base: np.ndarray, light: float) -> np.ndarray:
    """(frames, pixels) a bright spot at `path`, 0 to 1, in front of a background."""
    column, row = np.arange(SIDE)[None, :], np.arange(SIDE)[:, None]
    spot = np.exp(-((column - 7 * path[:, None, None]) ** 2 + (row - 2 - 3 * path[:, None, None]) ** 2) / 3)
    return (light * (base + spot)[..., None] * np.ones(3)).reshape(len(path), -1).astype(np.float32)


@pytest.fixture(scope="module")
def episodes() -> Trajectories:
    rng = np.random.default_rng(0)
    bases = {FRONT: np.linspace(0, 1, SIDE)[:, None] * np.ones(SIDE), SIDEWAYS: np.linspace(1, 0, SIDE) ** 2}
    joints, images = [], {name: [] for name in bases}
    for _ in range(EPISODES):
        path = np.clip(np.linspace(0, 1, FRAMES) * rng.uniform(1, 1.6) - rng.uniform(0, 0.3), 0, 1)
        joints.append(np.stack([path, path**2], axis=1))
        light = rng.uniform(0.3, 1.0)
        for name, base in bases.items():
            images[name].append(film(path, base, light))
    schema = TrajectorySchema("nobody", 25.0, {STATE: ("joint1", "joint2")}, tuple(bases))
    return Trajectories(schema, np.arange(EPISODES), np.full(EPISODES, FRAMES), {STATE: np.concatenate(joints)},
                        np.ones(EPISODES), ("pick",) * EPISODES,
                        images={name: np.concatenate(parts) for name, parts in images.items()})  # fmt: skip


@pytest.fixture(scope="module")
def model(episodes: Trajectories) -> ImageModel:
    return fit_images(episodes.take(np.arange(8)))[FRONT]


def view(model: ImageModel, episodes: Trajectories, pixels: np.ndarray) -> float:
    changed = replace(episodes, images={**episodes.images, FRONT: pixels})
    return float(model.residuals(changed, FRONT)[f"image_view:{FRONT}"].mean())


def test_another_camera_and_turned_images_are_told_from_the_own_view(model, episodes):
    unseen = episodes.take(np.arange(8, EPISODES))
    own = unseen.images[FRONT]
    square = own.reshape(-1, SIDE, SIDE, 3)
    usual = view(model, unseen, own)
    for wrong in (unseen.images[SIDEWAYS], square[:, ::-1], square[:, ::-1, ::-1], np.swapaxes(square, 1, 2)):
        assert view(model, unseen, wrong.reshape(own.shape)) > usual + 1
    assert view(model, unseen, 0.5 * own) == pytest.approx(usual, abs=0.05)


def test_changes_of_the_own_images_correlate_with_the_joints_and_others_less(model, episodes):
    unseen = episodes.take(np.arange(8, EPISODES))
    other = np.roll(unseen.images[FRONT], FRAMES, axis=0)

    def agreement(pixels: np.ndarray) -> float:
        predicted, seen = model.steps(replace(unseen, images={FRONT: pixels}), FRONT)
        return float((predicted * seen).sum() / np.sqrt((predicted**2).sum() * (seen**2).sum()))

    assert agreement(unseen.images[FRONT]) > agreement(other) + 0.05
