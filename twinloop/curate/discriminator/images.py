"""ImageModel: usual images of a camera, and how they follow the motion of the robot.

Each image is a small thumbnail. Its principal components over good episodes are channels like any other: they jump if
images are lost, stand still if the camera is frozen, and do not fit the joints if they belong to another episode or
camera.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from twinloop.curate.discriminator.trajectories import ACTION, COMMAND, STATE, Trajectories

COMPONENTS = 12
RIDGE = 1e-2
SIDE = 8
"""Pixels of a thumbnail's side."""


@dataclass(frozen=True)
class ImageModel:
    """The images of one camera.

    Attributes:
        mean, axes: (pixels,) and (components, pixels) of thumbnails.
        size: (components,) standard deviation of a component.
        weights: (inputs, components) of the change since the first frame, from the joints and where they began.
    """

    mean: np.ndarray
    axes: np.ndarray
    size: np.ndarray
    weights: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def residuals(self, trajectories: Trajectories, camera: str) -> dict[str, np.ndarray]:
        """Aspect -> (frames, columns) residuals of a camera's images."""
        flat = trajectories.images[camera].astype(np.float64)
        centred = flat - self.mean
        components = centred @ self.axes.T / self.size
        # The residual of the usual components: another camera shows other edges.
        outside = np.linalg.norm(centred - (components * self.size) @ self.axes, axis=1)
        change = components - components[trajectories.first_of]
        predicted = _inputs(trajectories) @ self.weights
        step = components - trajectories.shifted(components, -1)
        still = np.abs(flat - trajectories.shifted(flat, -1)).mean(axis=1)
        speed = np.abs(_joints(trajectories) - trajectories.shifted(_joints(trajectories), -1)).sum(axis=1)
        frozen = np.where(still == 0, speed, 0.0)
        return {
            f"image_static:{camera}": change - predicted,
            f"image_step:{camera}": step - trajectories.shifted(step, -1),
            f"image_still:{camera}": frozen[:, None],
            f"image_content:{camera}": np.concatenate([outside[:, None], np.abs(components)], axis=1),
        }


def fit_images(trajectories: Trajectories) -> Mapping[str, ImageModel]:
    """A model of every camera of the trajectories."""
    return {camera: _fit(trajectories, camera) for camera in trajectories.images}


def _fit(trajectories: Trajectories, camera: str) -> ImageModel:
    flat = trajectories.images[camera].astype(np.float64)
    mean = flat.mean(axis=0)
    _, _, axes = np.linalg.svd(np.cov((flat - mean).T), hermitian=True)
    axes = axes[:COMPONENTS]
    components = (flat - mean) @ axes.T
    size = np.maximum(components.std(axis=0), 1e-6)
    change = components / size
    change = change - change[trajectories.first_of]
    inputs = _inputs(trajectories)
    gram = inputs.T @ inputs
    gram[np.diag_indices_from(gram)] += RIDGE * len(inputs)
    return ImageModel(mean, axes, size, np.linalg.solve(gram, inputs.T @ change))


def _joints(trajectories: Trajectories) -> np.ndarray:
    name = next((name for name in (STATE, COMMAND, ACTION) if name in trajectories.signals), None)
    return np.zeros((trajectories.frames, 1)) if name is None else trajectories.signals[name]


def _inputs(trajectories: Trajectories) -> np.ndarray:
    joints = _joints(trajectories)
    waves = np.concatenate([joints, np.sin(joints), np.cos(joints), np.sin(2 * joints), np.cos(2 * joints)], axis=1)
    waves = np.clip(waves, -20, 20)
    return waves - waves[trajectories.first_of]


def thumbnails(pictures: np.ndarray) -> np.ndarray:
    """(n, SIDE * SIDE * 3) thumbnails of (n, height, width, 3) uint8 images, from 0 to 1."""
    count, height, width = pictures.shape[:3]
    rows = np.linspace(0, height, SIDE + 1).astype(int)
    columns = np.linspace(0, width, SIDE + 1).astype(int)
    # A sparse sample of each cell's pixels is enough for its mean colour.
    cells = [
        pictures[:, rows[i] : rows[i + 1] : 2, columns[j] : columns[j + 1] : 2].mean(axis=(1, 2))
        for i in range(SIDE)
        for j in range(SIDE)
    ]
    return (np.concatenate(cells, axis=1) / 255).astype(np.float32).reshape(count, -1)
