"""FreeLabels: where things are, in space and in each image. A simulator knows it, so these labels cost nothing.

A policy that sees learns to predict them beside its actions (auxiliary losses). They are not inputs: a robot needs
none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

POSE = ("x", "y", "z", "cos", "sin")
"""Elements of a landmark's pose: metres in the frame of the robot's base, and the heading of its x axis."""

TOOL = "tool"
"""The last landmark of an image. Its position in space follows from the joints."""


@dataclass(frozen=True)
class FreeLabels:
    """Labels of n frames. NaN is no label.

    Attributes:
        landmarks: names of the things and fixtures.
        poses: (n, landmarks, 5) float32, see `POSE`.
        pixels: image name -> (n, landmarks + 1, 2) float32, u and v as a share of width and height, then the tool.
            NaN outside the image.
    """

    landmarks: tuple[str, ...]
    poses: np.ndarray
    pixels: Mapping[str, np.ndarray]

    def take(self, rows: np.ndarray) -> "FreeLabels":
        pixels = {name: values.take(rows, axis=0) for name, values in self.pixels.items()}
        return FreeLabels(self.landmarks, self.poses.take(rows, axis=0), pixels)

    def select(self, landmarks: Sequence[str], images: Sequence[str]) -> "FreeLabels":
        """Return labels with these landmarks and images. Those that are missing have no label."""
        blank = blank_labels(len(self.poses), landmarks, images)
        poses, pixels = blank.poses, dict(blank.pixels)
        for place, name in enumerate(landmarks):
            if name in self.landmarks:
                poses[:, place] = self.poses[:, self.landmarks.index(name)]
        for image in set(images) & set(self.pixels):
            pixels[image][:, -1] = self.pixels[image][:, -1]
            for place, name in enumerate(landmarks):
                if name in self.landmarks:
                    pixels[image][:, place] = self.pixels[image][:, self.landmarks.index(name)]
        return FreeLabels(tuple(landmarks), poses, pixels)


def blank_labels(count: int, landmarks: Sequence[str], images: Sequence[str]) -> FreeLabels:
    """Return labels without any value, for frames of a robot."""
    poses = np.full((count, len(landmarks), len(POSE)), np.nan, np.float32)
    pixels = {image: np.full((count, len(landmarks) + 1, 2), np.nan, np.float32) for image in images}
    return FreeLabels(tuple(landmarks), poses, pixels)


def joined_labels(parts: Sequence[FreeLabels | None]) -> FreeLabels | None:
    """Return the labels of all parts, concatenated. None if a part has none."""
    labels = [part for part in parts if part is not None]
    if len(labels) < len(parts) or not labels:
        return None
    first = labels[0]
    pixels = {name: np.concatenate([part.pixels[name] for part in labels]) for name in first.pixels}
    return FreeLabels(first.landmarks, np.concatenate([part.poses for part in labels]), pixels)
