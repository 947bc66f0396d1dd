"""Features of a frozen vision encoder, computed once for every frame.

Fine-tuning with `--freeze sight.encoder` trains the rest of a policy. The encoder's output for a frame is then always
the same, so it is computed before the training, from images without augmentation.
"""

from collections.abc import Sequence

import numpy as np
import torch

from twinloop.learn.demonstrations import Demonstrations
from twinloop.learn.mixture import Mixture
from twinloop.learn.policies._vision import FEATURES, KeypointTokens
from twinloop.learn.policy import Policy, tensors_of
from twinloop.learn.training_job import TrainingJob

ENCODER = "sight.encoder"
FRAMES_AT_ONCE = 256


class FeatureStore:
    """A `PictureStore` that returns features in place of images. tables: dataset digest -> (rows, width)."""

    def __init__(self, tables: dict[str, np.ndarray], starts: dict[str, np.ndarray]):
        self._tables, self._starts = tables, starts

    def gather(self, frames: Sequence[tuple[Demonstrations, np.ndarray]]) -> dict[str, np.ndarray]:
        pieces = []
        for part, rows in frames:
            digest, episode = part.source.digest, part.episode_of_frame[rows]
            first = self._starts[digest][part.episode_index[episode]]
            pieces.append(self._tables[digest][first + (rows - part.starts[episode]) // part.stride])
        return {FEATURES: np.concatenate(pieces)}


def use_frozen_features(job: TrainingJob, policy: Policy) -> bool:
    """Replace the images of a job by features if its encoder is frozen. Return whether it is."""
    vision = getattr(policy, "sight", None)
    if not isinstance(vision, KeypointTokens) or not any(ENCODER.startswith(name) for name in job.config.train.frozen):
        return False
    tables, starts = {}, {}
    for part in job.parts:
        tables[part.source.digest] = _features(part, job.mixture, vision, policy.horizon)
        counts = -(-part.lengths // part.stride)
        starts[part.source.digest] = np.zeros(int(part.episode_index.max()) + 1, np.int64)
        starts[part.source.digest][part.episode_index] = np.cumsum(counts) - counts
    store = FeatureStore(tables, starts)
    for mixture in (job.mixture, job.held_out):
        if mixture is not None:
            mixture.pictures = store
    return True


@torch.inference_mode()
def _features(part: Demonstrations, mixture: Mixture, vision: KeypointTokens, horizon: int) -> np.ndarray:
    """(rows, width) features of all frames that training draws."""
    whole, rows = Mixture([part], [1.0], mixture.pictures), part.drawn_frames
    device = next(vision.parameters()).device
    pieces = []
    for start in range(0, len(rows), FRAMES_AT_ONCE):
        batch = tensors_of(whole.gather([rows[start : start + FRAMES_AT_ONCE]], horizon), device)
        pieces.append(vision.features(batch.inputs, batch.real).cpu().numpy())
    return np.concatenate(pieces)
