"""Images of runlogs against those of the twin: how far apart they are, and which rows of the table explain it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.dataset import Dataset
from twinloop.diagnose.picture_gap import PictureGap, SampledPictures, cropped, picture_gap, sample_pictures
from twinloop.diagnose.picture_rows import PictureExplanation, TwinScenes, explain_pictures
from twinloop.diagnose.snapshots import camera_names
from twinloop.observe.recording import PREFIX
from twinloop.run.config import RunConfig
from twinloop.signals.picture_features import picture_features

TWIN_SCENES = 32


@dataclass(frozen=True)
class PictureDiagnosis:
    """One camera. `gap` compares the twin, with the config's randomization, with the robot's images."""

    gap: PictureGap
    explanation: PictureExplanation

    def to_json(self) -> dict[str, Any]:
        return {**self.gap.to_json(), "explanation": self.explanation.to_json()}


def diagnose_pictures(
    runlogs: Sequence[Path],
    config: RunConfig,
    *,
    seed: int,
    scenes: int = TWIN_SCENES,
    on_camera: Callable[[int, int], None] = lambda *_: None,
) -> tuple[PictureDiagnosis, ...]:
    """Compare the images of every camera that the twin and all runlogs have; () if there is none."""
    datasets = [dataset for dataset in map(Dataset.open, runlogs) if dataset.stored]
    names = camera_names(config.cameras, datasets) if datasets else ()
    results = []
    for number, name in enumerate(names):
        on_camera(number, len(names))
        camera = config.cameras[name.removeprefix(PREFIX)]
        theirs = _joined([sample_pictures(dataset, name) for dataset in datasets], camera.height / camera.width)
        twin = TwinScenes(
            config.with_seed(seed), name.removeprefix(PREFIX), scenes=scenes, extractor=picture_features, varied=True
        )
        images = twin.pictures({})
        ours = SampledPictures(images, np.arange(len(images)), np.zeros(len(images), int))
        results.append(
            PictureDiagnosis(
                picture_gap(name, ours, theirs, seed=seed),
                explain_pictures(config, name.removeprefix(PREFIX), theirs.pictures, seed=seed),
            )
        )
    return tuple(results)


def _joined(parts: Sequence[SampledPictures], aspect: float) -> SampledPictures:
    """Images of several runlogs of the same size, with episodes counted on."""
    size = parts[0].pictures.shape[1:]
    same = [part for part in parts if part.pictures.shape[1:] == size]
    firsts = np.cumsum([0, *(int(part.episodes.max()) + 1 for part in same[:-1])])
    return SampledPictures(
        cropped(np.concatenate([part.pictures for part in same]), aspect),
        np.concatenate([part.episodes + first for part, first in zip(same, firsts, strict=True)]),
        np.concatenate([part.rows for part in same]),
    )
