"""Curation: scores of a dataset's episodes and frames, in a table beside the dataset, which is not changed."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinloop.curate.discriminator.curator import Curator, Scores
from twinloop.curate.discriminator.curator_file import FILE, load_curator, save_curator
from twinloop.curate.discriminator.threshold import Threshold
from twinloop.curate.discriminator.training import TrainingResult, refuse_few, train_curator
from twinloop.curate.discriminator.trajectories import Trajectories, joined
from twinloop.curate.discriminator.two_sample import TwoSampleTest, compare_with_real, refuse_few_to_compare
from twinloop.curate.verdict import ACCEPTED
from twinloop.dataset.parquet import encode, read_table
from twinloop.dataset.reader import Dataset
from twinloop.dataset.trajectories import read_trajectories
from twinloop.durable import read_bounded, replace_file, storage_errors
from twinloop.errors import CorruptError, DatasetError, UsageError

SCORES, FRAMES, SUMMARY, CARD = "scores.parquet", "frames.parquet", "curation.json", "card.json"
MOST_BYTES = 64 << 20
MOST_THREADS = 8
OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Curation:
    """Scores of the stored episodes of one dataset.

    Attributes:
        dataset: digest of the dataset.
        curator: the curator that scored it.
        scores: of episodes and frames.
        accepted: (n,) verdict of the checks was `accepted`. Only such episodes count as rejected by the curator.
        test: simulated against real episodes; None without real ones.
        digest: of the table of scores.
    """

    dataset: str
    curator: Curator
    scores: Scores
    accepted: np.ndarray
    test: TwoSampleTest | None = None
    digest: str = ""

    @property
    def rejected(self) -> np.ndarray:
        """(n,) episodes that the checks accepted and the curator rejects."""
        return self.accepted & self.scores.rejected

    def to_json(self) -> dict[str, Any]:
        scores, reasons = self.scores, _counted(self)
        return {
            "dataset": self.dataset,
            "curator": self.curator.digest,
            "digest": self.digest,
            "threshold": scores.threshold,
            "episodes": len(scores.values),
            "accepted_by_checks": int(self.accepted.sum()),
            "rejected": int(self.rejected.sum()),
            "reasons": reasons,
            "two_sample_test": None if self.test is None else self.test.to_json(),
        }


def _counted(curation: Curation) -> dict[str, int]:
    aspects = [
        aspect.partition("|")[0] for aspect, out in zip(curation.scores.aspects, curation.rejected, strict=True) if out
    ]
    return {
        aspect: aspects.count(aspect) for aspect in sorted(set(aspects), key=lambda name: (-aspects.count(name), name))
    }


def curate_dataset(
    dataset: Dataset,
    *,
    seed: int,
    curator: Curator | None = None,
    trusted: Dataset | None = None,
    real: Dataset | None = None,
    threshold: Threshold = Threshold(),  # noqa: B008
    images: bool = True,
    on_step: OnStep = lambda *_: None,
) -> Curation:
    """Score the episodes of a dataset with a curator, or with one that is trained first.

    Args:
        dataset: the episodes to score.
        seed: of the training and of the test.
        curator: score with this one. None trains one.
        trusted: a dataset of good episodes to train on. None trains on `dataset` itself, of which up to three in ten
            episodes may be faulty.
        real: real episodes, for the test of simulated against real.
        threshold: how the threshold is chosen.
        images: read the cameras too.
        on_step: called with (what is done, steps done, steps).
    """
    on_step("reading episodes", 0, 1)
    real_episodes = None if real is None else _only_accepted(real, images=False)
    if real is not None and real_episodes is not None:
        refuse_few_to_compare(len(real_episodes), "real", where=f"{real.path}: ")
    episodes, accepted = read_accepted(dataset, images=images)
    if not len(episodes):
        raise DatasetError(f"{dataset.path}: has no stored episodes to score; was it written without accepted ones?")
    result: TrainingResult | None = None
    if curator is None:
        given, card = (
            (dataset, _card(dataset, seed, threshold))
            if trusted is None
            else (trusted, _card(trusted, seed, threshold))
        )
        good = episodes.take(accepted) if trusted is None else _only_accepted(trusted, images=images)
        refuse_few(good, where=f"{given.path}: ")
        result = train_curator(
            good, seed=seed, threshold=threshold, trusted=given is trusted, card=card, on_step=on_step
        )
        curator = result.curator
    scores = curator.score(episodes, threads=min(MOST_THREADS, os.cpu_count() or 1))
    if result is not None and trusted is None:
        scores = _with_held_out(scores, result, accepted)
    _refuse_useless(scores, accepted, str(dataset.path))
    test = None
    if real_episodes is not None:
        on_step("comparing with real episodes", 0, 1)
        test = compare_with_real(
            episodes.take(accepted), real_episodes, seed=seed,
            on_channel=lambda done, total: on_step("comparing with real episodes", done, total),
        )  # fmt: skip
    return Curation(dataset.digest(), curator, scores, accepted, test)


def _with_held_out(scores: Scores, result: TrainingResult, accepted: np.ndarray) -> Scores:
    """Scores of training episodes from models without them. Copies keep their score."""
    held_out = scores.values.copy()
    held_out[accepted] = result.held_out
    copies = np.array([aspect == "duplicate" for aspect in scores.aspects])
    return replace(scores, values=np.where(copies, scores.values, held_out))


def _refuse_useless(scores: Scores, accepted: np.ndarray, where: str) -> None:
    values = scores.values[accepted]
    if not len(values):
        return
    if (values > scores.threshold).all():
        raise UsageError(
            f"{where}: all {len(values)} episodes would be rejected: the lowest score is {values.min():.2f}, the "
            f"threshold {scores.threshold:.2f}. The curator was trained on another scene; most frequent reason: "
            f"{_most_frequent(scores)}. Train one on this dataset: twinloop curate DATASET --out DIR"
        )
    if len(values) > 1 and float(np.ptp(values)) < 1e-9:
        raise UsageError(
            f"{where}: the curator is constant: all {len(values)} episodes have the score {values[0]:.3g}. "
            "Train it on episodes that differ"
        )


def _most_frequent(scores: Scores) -> str:
    aspects = [
        f"{aspect.partition('|')[0]} of {channel}"
        for aspect, channel in zip(scores.aspects, scores.channels, strict=True)
    ]
    return max(set(aspects), key=aspects.count)


def read_accepted(dataset: Dataset, *, images: bool) -> tuple[Trajectories, np.ndarray]:
    """The stored episodes of a dataset, and (n,) which of them the checks accepted."""
    parts = list(read_trajectories(dataset, images=images))
    if not parts:
        raise DatasetError(f"{dataset.path}: has no stored episodes; was it written without accepted ones?")
    episodes = joined(parts)
    table = dataset.attempts()
    verdicts = dict(zip(table["attempt"].to_pylist(), table["verdict"].to_pylist(), strict=True))
    return episodes, np.array([verdicts[int(attempt)] == ACCEPTED for attempt in episodes.attempts], bool)


def _only_accepted(dataset: Dataset, *, images: bool) -> Trajectories:
    episodes, accepted = read_accepted(dataset, images=images)
    return episodes.take(accepted)


def _card(dataset: Dataset, seed: int, threshold: Threshold) -> dict[str, Any]:
    return {
        "trained_on": {"name": dataset.header.name, "source": dataset.header.source, "digest": dataset.digest()},
        "seed": seed, "threshold_settings": vars(threshold) | {},
    }  # fmt: skip


def write_curation(curation: Curation, folder: Path) -> Curation:
    """Write the curator, its card, the scores and their summary. Returns the curation with its digest."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    curator = curation.curator if curation.curator.digest else save_curator(curation.curator, folder)
    scores = curation.scores
    episodes = pa.table(
        {
            "attempt": pa.array(scores.attempts, pa.int64()),
            "score": pa.array(scores.values, pa.float64()),
            "accepted_by_checks": pa.array(curation.accepted),
            "rejected": pa.array(curation.rejected),
            "reason": pa.array(list(scores.reasons)),
            "aspect": pa.array(list(scores.aspects)),
            "channel": pa.array(list(scores.channels)),
            "worst_frame": pa.array(scores.worst_frame, pa.int64()),
            **({} if curation.test is None else {"looks_real": pa.array(_looks_real(curation))}),
        }
    )
    starts = np.cumsum(scores.lengths) - scores.lengths
    frames = pa.table(
        {
            "attempt": pa.array(np.repeat(scores.attempts, scores.lengths), pa.int64()),
            "frame_index": pa.array(np.arange(len(scores.frames)) - np.repeat(starts, scores.lengths), pa.int64()),
            "score": pa.array(scores.frames.astype(np.float32)),
        }
    )
    contents = {
        name: bytes(encode(table, {"compression": "zstd"})) for name, table in ((SCORES, episodes), (FRAMES, frames))
    }
    digest = hashlib.sha256(b"".join(hashlib.sha256(data).digest() for data in contents.values())).hexdigest()
    curation = replace(curation, curator=curator, digest=digest)
    card = {"digest": curator.digest, **curator.card}
    contents[CARD] = (json.dumps(card, indent=2, ensure_ascii=False) + "\n").encode()
    contents[SUMMARY] = (json.dumps(curation.to_json(), indent=2, ensure_ascii=False) + "\n").encode()
    with storage_errors(folder, needed_bytes=sum(map(len, contents.values()))):
        for name, data in contents.items():  # the summary comes last: it names the digest of the others
            replace_file(folder / name, data, scratch=folder)
    return curation


def _looks_real(curation: Curation) -> np.ndarray:
    values = np.full(len(curation.accepted), np.nan)
    if curation.test is not None:
        values[curation.accepted] = curation.test.looks_real
    return values


def read_scores(folder: Path) -> pa.Table:
    """The table of scores in a folder that `write_curation` wrote, after its digest was checked."""
    try:
        summary: Mapping[str, Any] = json.loads(read_bounded(folder / SUMMARY, MOST_BYTES))
        parts = [hashlib.sha256((folder / name).read_bytes()).digest() for name in (SCORES, FRAMES)]
    except (ValueError, OSError) as error:
        raise CorruptError(f"{folder}: is not a curation ({error!s:.120}); `twinloop curate` writes one") from None
    if hashlib.sha256(b"".join(parts)).hexdigest() != summary.get("digest"):
        raise CorruptError(f"{folder}: {SCORES} or {FRAMES} was altered; run `twinloop curate` again")
    return read_table(folder / SCORES)


def finished_curation(folder: Path, dataset: Dataset, curator: Curator | None) -> Mapping[str, Any] | None:
    """The summary of a finished curation of this dataset with this curator, or None."""
    if curator is None or not (folder / SUMMARY).is_file():
        return None
    read_scores(folder)
    summary = json.loads(read_bounded(folder / SUMMARY, MOST_BYTES))
    same = summary.get("dataset") == dataset.digest() and summary.get("curator") == curator.digest
    return summary if same else None


def trained_curator(folder: Path, dataset: Dataset, *, seed: int, threshold: Threshold) -> Curator | None:
    """The curator that an earlier run with the same data and settings trained in this folder, or None."""
    if not (folder / FILE).is_file():
        return None
    curator = load_curator(folder)
    card = _card(dataset, seed, threshold)
    return curator if {key: curator.card.get(key) for key in card} == card else None
