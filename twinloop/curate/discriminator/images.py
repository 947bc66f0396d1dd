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
RIDGE, VIEW_RIDGE = 1e-2, 1e-2
POSTURES, NEAR_SHARE = 64, 0.5
"""Postures of the training data, and how near counts as near, as a share of their spread."""
SIDE = 8
"""Pixels of a thumbnail's side."""


@dataclass(frozen=True)
class ImageModel:
    """The images of one camera.

    Attributes:
        mean, axes: (pixels,) and (components, pixels) of thumbnails.
        size: (components,) standard deviation of a component.
        postures: (k, joints) of the training data. The image changes smoothly between them.
        weights: (inputs, components) of the change since the first frame, from the joints and where they began.
        view: (pixels + 1,) linear classifier: 1 for images of this camera, -1 for those of other cameras and for its
            own images upside down, mirrored or turned. The last weight is the constant.
    """

    mean: np.ndarray
    axes: np.ndarray
    size: np.ndarray
    postures: np.ndarray
    weights: np.ndarray
    view: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def residuals(self, trajectories: Trajectories, camera: str) -> dict[str, np.ndarray]:
        """Aspect -> (frames, columns) residuals of a camera's images."""
        flat = trajectories.images[camera].astype(np.float64)
        centred = flat - self.mean
        components = self._components(trajectories, camera)
        # The residual of the usual components: another camera shows other edges.
        outside = np.linalg.norm(centred - (components * self.size) @ self.axes, axis=1)
        change = components - components[trajectories.first_of]
        predicted = self._predicted(trajectories)
        step = components - trajectories.shifted(components, -1)
        still = np.abs(flat - trajectories.shifted(flat, -1)).mean(axis=1)
        speed = np.abs(_joints(trajectories) - trajectories.shifted(_joints(trajectories), -1)).sum(axis=1)
        frozen = np.where(still == 0, speed, 0.0)
        return {
            f"image_static:{camera}": change - predicted,
            f"image_step:{camera}": step - trajectories.shifted(step, -1),
            f"image_still:{camera}": frozen[:, None],
            f"image_view:{camera}": np.maximum(1 - normalised(flat) @ self.view[:-1] - self.view[-1], 0)[:, None],
            f"image_content:{camera}": np.concatenate([outside[:, None], np.abs(components)], axis=1),
        }

    def steps(self, trajectories: Trajectories, camera: str) -> tuple[np.ndarray, np.ndarray]:
        """(frames, components) changes since the frame before: predicted from the joints, and seen.

        Their correlation does not depend on lighting and colours, which scale the changes of a whole episode.
        """
        predicted, seen = self._predicted(trajectories), self._components(trajectories, camera)
        shifted = trajectories.shifted
        return predicted - shifted(predicted, -1), seen - shifted(seen, -1)

    def _components(self, trajectories: Trajectories, camera: str) -> np.ndarray:
        return (trajectories.images[camera].astype(np.float64) - self.mean) @ self.axes.T / self.size

    def _predicted(self, trajectories: Trajectories) -> np.ndarray:
        return _inputs(trajectories, self.postures) @ self.weights


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
    joints = _joints(trajectories)
    postures = joints[np.linspace(0, len(joints) - 1, min(len(joints), POSTURES)).astype(int)]
    inputs = _inputs(trajectories, postures)
    gram = inputs.T @ inputs
    gram[np.diag_indices_from(gram)] += RIDGE * len(inputs)
    return ImageModel(
        mean, axes, size, postures, np.linalg.solve(gram, inputs.T @ change), _fit_view(trajectories, camera)
    )


def _fit_view(trajectories: Trajectories, camera: str) -> np.ndarray:
    """Tell the images of a camera from all that a wrong or wrongly mounted camera would show.

    Such a classifier needs no faulty images, and looks at what distinguishes views rather than at what varies most,
    which is often the lighting (Golan and El-Yaniv, Deep Anomaly Detection Using Geometric Transformations, 2018).
    """
    own = trajectories.images[camera].astype(np.float64)
    square = own.reshape(len(own), SIDE, SIDE, -1)
    turned = [square[:, ::-1], square[:, :, ::-1], square[:, ::-1, ::-1], np.swapaxes(square, 1, 2)]
    wrong = [view.reshape(len(own), -1) for view in turned]
    wrong += [values for name, values in trajectories.images.items() if name != camera]
    right, other = normalised(own), normalised(np.concatenate(wrong))
    inputs = np.concatenate([right, other])
    inputs = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)
    share = np.concatenate([np.full(len(right), 0.5 / len(right)), np.full(len(other), 0.5 / len(other))])
    target = np.where(np.arange(len(inputs)) < len(right), 1.0, -1.0)
    gram = (inputs * share[:, None]).T @ inputs
    gram[np.diag_indices_from(gram)] += VIEW_RIDGE
    return np.linalg.solve(gram, inputs.T @ (share * target))


def normalised(flat: np.ndarray) -> np.ndarray:
    """(n, pixels) images with mean 0 and standard deviation 1 in each colour: without brightness and contrast."""
    colours = flat.reshape(len(flat), SIDE * SIDE, -1)
    apart = colours - colours.mean(axis=1, keepdims=True)
    return (apart / np.maximum(apart.std(axis=1, keepdims=True), 1e-3)).reshape(len(flat), -1)


def _joints(trajectories: Trajectories) -> np.ndarray:
    name = next((name for name in (STATE, COMMAND, ACTION) if name in trajectories.signals), None)
    return np.zeros((trajectories.frames, 1)) if name is None else trajectories.signals[name]


def _inputs(trajectories: Trajectories, postures: np.ndarray) -> np.ndarray:
    """(frames, inputs) waves of the joints and nearness of postures, minus their values in the first frame."""
    joints = _joints(trajectories)
    waves = np.concatenate([joints, np.sin(joints), np.cos(joints), np.sin(2 * joints), np.cos(2 * joints)], axis=1)
    width = max(float(np.sqrt(postures.var(axis=0).sum())), 1e-6)
    squares = (joints**2).sum(axis=1)[:, None] - 2 * joints @ postures.T + (postures**2).sum(axis=1)
    near = np.exp(-np.maximum(squares, 0) / (2 * (NEAR_SHARE * width) ** 2))
    table = np.concatenate([np.clip(waves, -20, 20), near], axis=1)
    return table - table[trajectories.first_of]


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
