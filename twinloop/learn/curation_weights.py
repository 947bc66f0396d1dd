"""Episode weights of a curation: 1 for an episode that the curator accepts, 0 for one that it rejects."""

import numpy as np

from twinloop.dataset.curation import Curation
from twinloop.learn.episode_weights import DatasetWeights, EpisodeWeights


def weights_of_curation(curation: Curation, *, path: str) -> EpisodeWeights:
    """Weights for `twinloop train --weights`. path: name of the dataset's folder, for messages."""
    rows = np.flatnonzero(curation.accepted)
    scores = curation.scores
    entry = DatasetWeights(
        path=path,
        dataset=curation.dataset,
        attempts=tuple(int(scores.attempts[row]) for row in rows),
        scores=tuple(float(f"{-scores.values[row]:.6g}") for row in rows),
        weights=tuple(0.0 if curation.rejected[row] else 1.0 for row in rows),
    )
    settings = {"curator": curation.curator.digest, "threshold": scores.threshold, "curation": curation.digest}
    return EpisodeWeights("curate", "", (curation.dataset,), settings, (entry,))
