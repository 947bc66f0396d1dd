"""Valuation of datasets in folders: reads them with the inputs of a policy, scores and weighs their episodes."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from twinloop.dataset import Dataset
from twinloop.errors import UsageError
from twinloop.learn.checkpoint import load
from twinloop.learn.demonstrations import Demonstrations, load_demonstrations
from twinloop.learn.episode_weights import EpisodeWeights, table_of_scores
from twinloop.learn.pictures import default_cache, open_pictures
from twinloop.learn.value import Valuation, ValueConfig, settings_of, value_episodes

METHOD = "alignment of projected gradients (TracIn, LESS)"
CHECKPOINT = "checkpoint"
"""Column of a runlog: the digest of the policy that acted; empty for demonstrations."""


def value_datasets(
    datasets: Sequence[Path],
    policy: Path,
    target: Sequence[Path],
    *,
    keep: float,
    config: ValueConfig = ValueConfig(),  # noqa: B008
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> tuple[EpisodeWeights, Valuation]:
    """Score the accepted episodes of `datasets` for the policy in folder `policy` on the data in `target`.

    Args:
        keep: share of all episodes that get weight 1; the others get 0.

    Raises:
        UsageError: the data does not fit the policy, a dataset was given twice, or the target has too few episodes.
    """
    if not 0 < keep <= 1:
        raise UsageError(f"keep: {keep:g} was given; a share above 0 and up to 1 was expected")
    if len(set(datasets)) < len(datasets):
        raise UsageError(f"a dataset was given twice: {', '.join(map(str, datasets))}")
    checkpoint = load(policy)
    inputs = tuple(feature.name for feature in checkpoint.card.space.inputs)
    rate_hz = checkpoint.card.space.rate_hz
    parts = [load_demonstrations(path, inputs, rate_hz=rate_hz) for path in datasets]
    goals = [_demonstrated(path, inputs, rate_hz, checkpoint.card.digest) for path in target]
    pictures = None
    if checkpoint.card.space.pictures:
        pictures = open_pictures((*parts, *goals), checkpoint.policy.image_size, cache=default_cache())
    valuation = value_episodes(checkpoint, parts, goals, config=config, pictures=pictures, on_progress=on_progress)
    table = table_of_scores(
        parts, valuation.scores, keep=keep, method=METHOD, policy=checkpoint.card.digest,
        target=[part.source.digest for part in goals], settings=settings_of(config, valuation, keep),
    )  # fmt: skip
    return table, valuation


def _demonstrated(path: Path, inputs: tuple[str, ...], rate_hz: float, policy: str) -> Demonstrations:
    """The accepted episodes of a target, without those in which the policy itself acted.

    A policy has almost no loss on its own actions, so their gradient has no information.
    """
    demonstrations = load_demonstrations(path, inputs, rate_hz=rate_hz)
    attempts = Dataset.open(path).attempts()
    if CHECKPOINT not in attempts.column_names:
        return demonstrations
    acted = dict(zip(attempts["attempt"].to_pylist(), attempts[CHECKPOINT].to_pylist(), strict=True))
    others = np.array([acted[attempt] != policy for attempt in demonstrations.attempts.tolist()], bool)
    if not others.any():
        raise UsageError(
            f"{path}: in all {len(others)} accepted episodes the policy itself acted, so its loss there says nothing; "
            "give demonstrations (`twinloop collect`) or episodes of another policy"
        )
    return demonstrations.take(np.flatnonzero(others))
