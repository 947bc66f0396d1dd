"""Real SO-101 recordings: are injected faults found, and how many good episodes are lost?

The recordings are ingested without images. Every episode is judged by curators that were trained on other episodes, and
whose threshold comes from those alone: `REPEATS` divisions into `FOLDS` parts. Faults are injected into the held-out
episodes. `lost` counts what `twinloop curate` on the whole dataset rejects.
"""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
from curation_faults import NEW, UNKNOWN, Inject

from twinloop.curate.discriminator.faults import SIZES
from twinloop.curate.discriminator.threshold import Threshold
from twinloop.curate.discriminator.training import KINDS, auroc, fit_curator, fit_usual, injected
from twinloop.curate.discriminator.trajectories import Trajectories, joined
from twinloop.curate.intervals import wilson
from twinloop.dataset import Dataset
from twinloop.dataset.curation import curate_dataset, read_accepted
from twinloop.dataset.ingest import IngestOptions, ingest, open_source

EACH = 6
FOLDS, REPEATS = 6, 2
SEED = 9020


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
    judged, rejected = 0, np.zeros(len(episodes), int)
    values: dict[str, list[float]] = {}
    reasons, known_found = [], []
    for repeat in range(REPEATS):
        fold = rng.permutation(np.arange(len(episodes)) % FOLDS)
        for number in range(FOLDS):
            train, test = episodes.take(fold != number), episodes.take(fold == number)
            curator, _ = fit_curator(train, fit_usual(train, rng=rng), kinds=KINDS, threshold=Threshold(), rng=rng)
            good = curator.score(test)
            judged += len(test)
            rejected[fold == number] += good.rejected
            known_found.append(curator.score(faulty_recordings, duplicates=False).rejected.tolist())
            reasons += [f"episode {good.attempts[row]}: {good.reasons[row]}" for row in np.flatnonzero(good.rejected)]
            if repeat:
                continue  # one division is enough for the injected faults
            faults = dict(injected(test, KINDS, count=EACH, rng=rng))
            faults |= _others(test, UNKNOWN, rng) | _others(test, NEW, rng)
            for (kind, size), faulty in faults.items():
                scored = curator.score(faulty, duplicates=False)
                part = "known" if kind in KINDS else "unknown"
                values.setdefault(f"{part} {kind}/{size}", []).append(auroc(good.values, scored.values))
                values.setdefault(f"found {part} {kind}/{size}", []).append(float(scored.rejected.mean()))
    whole = curate_dataset(Dataset.open(work / "so101-real"), seed=SEED, images=False)
    low, high = wilson(int((rejected > 0).sum()), len(rejected))
    means = {key: round(float(np.mean(some)), 3) for key, some in values.items()}

    def mean(prefix: str) -> float:
        return round(float(np.mean([value for key, value in means.items() if key.startswith(prefix)])), 4)

    return {
        "lost": int(whole.rejected.sum()), "episodes": len(episodes),
        "rejected_held_out": int((rejected > 0).sum()), "rejected_interval": [float(low), float(high)],
        "judgements": judged, "rejections": int(rejected.sum()),
        "auroc_known": mean("known"), "auroc_unknown": mean("unknown"),
        "found_known": mean("found known"), "found_unknown": mean("found unknown"),
        "known_faulty_recordings_found": [sum(some) for some in zip(*known_found, strict=True)],
        "curators": len(known_found), "reasons": reasons, "by_kind": means,
    }  # fmt: skip


def _others(
    test: Trajectories, kinds: Mapping[str, Inject], rng: np.random.Generator
) -> dict[tuple[str, int], Trajectories]:
    out = {}
    for kind, size in product(kinds, SIZES):
        made = [kinds[kind](test.take(np.array([row])), rng, size) for row in range(min(len(test), EACH))]
        parts = [episode for episode in made if episode is not None]
        if parts:
            out[kind, size] = joined(parts)
    return out
