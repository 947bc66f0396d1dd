"""Real SO-101 recordings: are injected faults found, and how many good episodes are lost?

The recordings are ingested without images. Every episode is scored by a curator that was trained on three quarters of
the others. `lost` counts what `twinloop curate` on the whole dataset rejects.
"""

from pathlib import Path

import numpy as np
from curation_faults import UNKNOWN

from twinloop.curate.discriminator.faults import SIZES
from twinloop.curate.discriminator.threshold import Threshold
from twinloop.curate.discriminator.training import KINDS, auroc, fit_curator, fit_usual, injected
from twinloop.curate.discriminator.trajectories import Trajectories, joined
from twinloop.curate.intervals import wilson
from twinloop.dataset import Dataset
from twinloop.dataset.curation import curate_dataset, read_accepted
from twinloop.dataset.ingest import IngestOptions, ingest, open_source

EACH = 6
FOLDS = 4
SEED = 5020


def real_episodes(data: Path, work: Path) -> tuple[Trajectories, np.ndarray]:
    """The recordings, and which of them the quality checks accept: two were stopped after three rows."""
    folder = work / "so101-real"
    if not (folder / "dataset.json").exists():
        ingest(open_source(data, None), folder, name="so101", label="so101", options=IngestOptions(pictures="none"))
    return read_accepted(Dataset.open(folder), images=False)


def measure_so101(data: Path, work: Path) -> dict:
    recordings, accepted = real_episodes(data, work)
    episodes, faulty_recordings = recordings.take(accepted), recordings.take(~accepted)
    rng = np.random.default_rng(SEED)
    fold = rng.permutation(np.arange(len(episodes)) % FOLDS)
    rejected, scores = np.zeros(len(episodes), bool), np.zeros(len(episodes))
    values: dict[str, list[float]] = {}
    reasons, known_found = [], []
    for number in range(FOLDS):
        train, test = episodes.take(fold != number), episodes.take(fold == number)
        curator, _ = fit_curator(train, fit_usual(train, rng=rng), kinds=KINDS, threshold=Threshold(), rng=rng)
        good = curator.score(test)
        known_found.append(curator.score(faulty_recordings, duplicates=False).rejected.tolist())
        rejected[fold == number], scores[fold == number] = good.rejected, good.values
        reasons += [f"episode {good.attempts[row]}: {good.reasons[row]}" for row in np.flatnonzero(good.rejected)]
        for (kind, size), faulty in injected(test, KINDS, count=EACH, rng=rng).items():
            scored = curator.score(faulty, duplicates=False)
            values.setdefault(f"{kind}/{size}", []).append(auroc(good.values, scored.values))
            values.setdefault(f"found {kind}/{size}", []).append(float(scored.rejected.mean()))
        for kind, inject in UNKNOWN.items():
            for size in SIZES:
                made = [inject(test.take(np.array([row])), rng, size) for row in range(min(len(test), EACH))]
                parts = [episode for episode in made if episode is not None]
                if parts:
                    scored = curator.score(joined(parts), duplicates=False)
                    values.setdefault(f"unknown {kind}/{size}", []).append(auroc(good.values, scored.values))
    whole = curate_dataset(Dataset.open(work / "so101-real"), seed=SEED, images=False)
    low, high = wilson(int(rejected.sum()), len(rejected))
    means = {key: round(float(np.mean(some)), 3) for key, some in values.items()}
    known = [value for key, value in means.items() if not key.startswith(("unknown", "found"))]
    unknown = [value for key, value in means.items() if key.startswith("unknown")]
    found = [value for key, value in means.items() if key.startswith("found")]
    return {
        "lost": int(whole.rejected.sum()), "episodes": len(episodes), "rejected": int(rejected.sum()),
        "rejected_interval": [float(low), float(high)],
        "auroc_known": round(float(np.mean(known)), 4), "auroc_unknown": round(float(np.mean(unknown)), 4),
        "known_faulty_recordings_found": known_found,
        "found": round(float(np.mean(found)), 4), "reasons": reasons, "by_kind": means,
    }  # fmt: skip
