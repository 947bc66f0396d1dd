"""How far apart the images of two datasets are, in a feature space, and which images are most unlike the others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twinloop.dataset import Dataset
from twinloop.signals.picture_features import Extractor, family_slices, features_of_pictures, picture_features
from twinloop.signals.two_sample import family_distances, scaled, two_sample

EPISODES, FRAMES = 24, 4  # of each dataset, spread over it
WORST = 4


@dataclass(frozen=True)
class SampledPictures:
    """Images of one camera: (n, h, w, 3) uint8, with the number of the episode and the row of each."""

    pictures: np.ndarray
    episodes: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Mismatch:
    """An image of the second dataset that is unlike the first, and the nearest image of the first.

    Attributes:
        witness: how much more typical the image is of the second dataset than of the first.
        distance: distance of the two in the feature space, in standard deviations a feature.
    """

    ours: np.ndarray
    theirs: np.ndarray
    ours_at: tuple[int, int]
    theirs_at: tuple[int, int]
    witness: float
    distance: float


@dataclass(frozen=True)
class PictureGap:
    """Comparison of one camera.

    Attributes:
        mmd, interval, chance, p_value: see `TwoSample`.
        families: kind of feature -> how far its mean differs, in standard deviations; empty with another extractor.
        worst: the images of the second dataset that are most unlike the first.
        images: number of images of each side.
    """

    camera: str
    mmd: float
    interval: tuple[float, float]
    chance: float
    p_value: float
    families: dict[str, float]
    worst: tuple[Mismatch, ...]
    images: tuple[int, int]

    @property
    def differs(self) -> bool:
        return self.p_value < 0.05

    def to_json(self) -> dict[str, Any]:
        return {
            "camera": self.camera, "mmd": self.mmd, "interval": list(self.interval), "chance": self.chance,
            "p_value": self.p_value, "families": self.families, "images": list(self.images),
            "worst": [
                {"ours": list(pair.ours_at), "theirs": list(pair.theirs_at), "witness": pair.witness,
                 "distance": pair.distance}
                for pair in self.worst
            ],
        }  # fmt: skip


def sample_pictures(
    dataset: Dataset, feature: str, *, episodes: int = EPISODES, frames: int = FRAMES
) -> SampledPictures:
    """Images of some stored episodes, spread over the dataset and over each episode."""
    chosen = np.unique(np.linspace(0, dataset.stored - 1, min(dataset.stored, episodes)).round().astype(int))
    table = dataset.attempts()
    lengths = [length for length in table["length"].to_pylist() if length]
    pictures, numbers, rows = [], [], []
    for episode in map(int, chosen):
        wanted = np.unique(((np.arange(frames) + 0.5) / frames * lengths[episode]).astype(int))
        pictures.append(dataset.pictures(episode, feature, rows=wanted.tolist()))
        numbers.append(np.full(len(wanted), episode))
        rows.append(wanted)
    return SampledPictures(np.concatenate(pictures), np.concatenate(numbers), np.concatenate(rows))


def picture_gap(
    camera: str, ours: SampledPictures, theirs: SampledPictures, *, seed: int, extractor: Extractor = picture_features
) -> PictureGap:
    """Compare the images of a camera. Images of another shape are cropped about their centre to that of the first."""
    theirs = replace(theirs, pictures=cropped(theirs.pictures, ours.pictures.shape[1] / ours.pictures.shape[2]))
    features = [features_of_pictures(side.pictures, extractor) for side in (ours, theirs)]
    test = two_sample(features[0], features[1], (ours.episodes, theirs.episodes), seed=seed)
    families = family_distances(features[0], features[1], family_slices()) if extractor is picture_features else {}
    return PictureGap(
        camera=camera, mmd=test.mmd, interval=test.interval, chance=test.chance, p_value=test.p_value,
        families=families, worst=_worst(ours, theirs, features, test.witness[1]),
        images=(len(ours.pictures), len(theirs.pictures)),
    )  # fmt: skip


def cropped(pictures: np.ndarray, aspect: float) -> np.ndarray:
    """(n, h, w, 3) images without the borders that an image of this height over width does not have."""
    tall, wide = pictures.shape[1:3]
    height, width = (
        (tall, max(round(tall / aspect), 1)) if tall < wide * aspect else (max(round(wide * aspect), 1), wide)
    )
    top, left = (tall - height) // 2, (wide - width) // 2
    return pictures[:, top : top + height, left : left + width]


def _worst(
    ours: SampledPictures, theirs: SampledPictures, features: Sequence[np.ndarray], witness: np.ndarray
) -> tuple[Mismatch, ...]:
    """At most one image of each episode, so that the examples differ."""
    first, second = scaled(features[0], features[1])
    worst, seen = [], set()
    for place in np.argsort(-witness):
        episode = int(theirs.episodes[place])
        if episode in seen:
            continue
        seen.add(episode)
        gaps = np.linalg.norm(first - second[place], axis=1)
        nearest = int(np.argmin(gaps))
        worst.append(
            Mismatch(
                ours.pictures[nearest], theirs.pictures[place], (int(ours.episodes[nearest]), int(ours.rows[nearest])),
                (episode, int(theirs.rows[place])), float(witness[place]), float(gaps[nearest]),
            )
        )  # fmt: skip
        if len(worst) == WORST:
            break
    return tuple(worst)
