"""Train a curator: fit the model on good episodes, train the head against injected faults, choose the threshold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twinloop.curate.discriminator.curator import Curator
from twinloop.curate.discriminator.faults import FAULTS, SIZES, spliced
from twinloop.curate.discriminator.feature_model import FeatureModel, fit_feature_model
from twinloop.curate.discriminator.head import JITTER, FaultHead, fit_head
from twinloop.curate.discriminator.threshold import Threshold, choose_threshold
from twinloop.curate.discriminator.trajectories import Trajectories, joined
from twinloop.errors import UsageError

MIN_EPISODES = 30
LIMIT_SHARE = 0.995
MIN_LIMIT = 2.33
EPISODES_PER_FAULT = 8
"""Episodes of each kind and size of fault that the head is trained on."""
CORE_SHARE = 0.7
ROUNDS = 2
GROW = 1.0
"""An episode outside the core whose score is at most this far above the core's threshold is good after all."""
GROW_ROUNDS = 3
SPLICED = "spliced"
MIN_FAULT_FRAMES = 30
KINDS = (*FAULTS, SPLICED)
MIN_SPREAD = 1e-6


@dataclass(frozen=True)
class TrainingResult:
    """A curator, the scores of its training episodes from models without them, and the episodes it took as good."""

    curator: Curator
    held_out: np.ndarray
    good: np.ndarray


def injected(
    good: Trajectories, kinds: Sequence[str], *, count: int, rng: np.random.Generator, sizes: Sequence[int] = SIZES
) -> dict[tuple[str, int], Trajectories]:
    """(kind, size) -> faulty episodes made from good ones; kinds that the schema cannot have are left out."""
    out = {}
    for kind in kinds:
        for size in sizes:
            made = [_faulty(good, kind, int(index), size, rng) for index in rng.permutation(len(good))[:count]]
            episodes = [episode for episode in made if episode is not None]
            if episodes:
                out[kind, size] = joined(episodes)
    return out


def _faulty(good: Trajectories, kind: str, index: int, size: int, rng: np.random.Generator) -> Trajectories | None:
    episode = good.take(np.array([index]))
    if episode.frames < MIN_FAULT_FRAMES:
        return None
    if kind == SPLICED:
        return spliced(episode, good.take(np.array([(index + 1) % len(good)])), rng, size) if len(good) > 1 else None
    return FAULTS[kind].inject(episode, rng, size)


def train_curator(
    trajectories: Trajectories,
    *,
    seed: int,
    threshold: Threshold = Threshold(),  # noqa: B008
    kinds: Sequence[str] = KINDS,
    trusted: bool = False,
    card: dict[str, Any] | None = None,
    on_step: Callable[[str, int, int], None] = lambda *_: None,
) -> TrainingResult:
    """Train a curator on the episodes of a dataset.

    Args:
        trajectories: episodes that the checks accepted.
        seed: of folds and injected faults.
        threshold: how the threshold is chosen.
        kinds: kinds of faults that the head is trained against.
        trusted: all episodes are good. Otherwise up to three in ten may be faulty: the model is fitted on the core of
            episodes that agree with each other, and then on all that agree with the core.
        card: what is known about the data, for the curator's card.
        on_step: called with (what is done, steps done, steps).
    """
    refuse_few(trajectories)
    rng = np.random.default_rng(seed)
    steps = 1 if trusted else ROUNDS + GROW_ROUNDS
    good = np.ones(len(trajectories), bool)
    if not trusted:
        for number in range(ROUNDS):
            on_step("finding episodes that agree", number, steps)
            good = _core(trajectories, good, rng)
    rounds = 1 if trusted else GROW_ROUNDS

    def fitted(good: np.ndarray, number: int) -> tuple[Curator, np.ndarray]:
        """A curator of the episodes `good` and the scores of all; those of `good` are held-out."""
        on_step("fitting the model", steps - rounds + number, steps)
        chosen = trajectories.take(good)
        usual = fit_usual(chosen, rng=rng)
        curator, held_out = fit_curator(chosen, usual, kinds=kinds, threshold=threshold, rng=rng, card=card)
        values = curator.score(trajectories, duplicates=False).values
        values[good] = held_out
        return curator, values

    curator, values = fitted(good, 0)
    for number in range(1, rounds):
        # The tails of the core are too short. Each round adds episodes slightly beyond them.
        grown = good | (values <= curator.threshold + GROW)
        if (grown == good).all():
            break
        good = grown
        curator, values = fitted(good, number)
    on_step("done", steps, steps)
    return TrainingResult(curator, values, good)


def refuse_few(trajectories: Trajectories, *, where: str = "") -> None:
    """Raise if there are too few episodes to train on. where: of the dataset, for the message."""
    if len(trajectories) < MIN_EPISODES:
        raise UsageError(
            f"{where}{len(trajectories)} episodes are too few to learn from; a curator needs at least {MIN_EPISODES} "
            "that the checks accepted"
        )


def _core(trajectories: Trajectories, good: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The share of episodes that agree best with a model of the present core, by robust scales."""
    model, _ = fit_feature_model(trajectories.take(good), rng=rng, robust=True)
    worst = model.features(trajectories).values
    # The worst few aspects together: the very worst one alone varies most among good episodes.
    size = np.sort(np.log1p(np.maximum(worst, 0)), axis=1)[:, -5:].mean(axis=1)
    return size <= np.quantile(size, CORE_SHARE)


@dataclass(frozen=True)
class UsualEpisodes:
    """Reference of good episodes: the model, the limits of its features, and held-out ratios to these limits."""

    model: FeatureModel
    limits: np.ndarray
    ratios: np.ndarray


def fit_usual(good: Trajectories, *, rng: np.random.Generator) -> UsualEpisodes:
    model, features = fit_feature_model(good, rng=rng)
    limits = np.maximum(np.quantile(features.values, LIMIT_SHARE, axis=0), MIN_LIMIT)
    return UsualEpisodes(model, limits, np.clip(features.values, 0, 1e4) / limits)


def fit_curator(
    good: Trajectories,
    usual: UsualEpisodes,
    *,
    kinds: Sequence[str],
    threshold: Threshold,
    rng: np.random.Generator,
    card: dict[str, Any] | None = None,
) -> tuple[Curator, np.ndarray]:
    """Train the head against injected faults of these kinds. Returns the curator and held-out scores of `good`."""
    faults = injected(good, kinds, count=EPISODES_PER_FAULT, rng=rng)
    bare = Curator(good.schema, usual.model, usual.limits, FaultHead(np.zeros(0), 0.0), np.zeros(2), 0.0)
    table = {key: bare.ratios(usual.model.features(episodes)) for key, episodes in faults.items()}
    head = fit_head(usual.ratios, np.concatenate(list(table.values())), rng=rng)
    varied = usual.ratios * np.exp(JITTER * rng.normal(size=usual.ratios.shape))
    alone = np.log(np.maximum(usual.ratios.max(axis=1), 1e-3))
    centre = np.array([np.quantile(alone, LIMIT_SHARE), np.quantile(head.logit(varied), LIMIT_SHARE)])
    bare = replace(bare, head=head, centre=centre)
    held_out = bare.combine(usual.ratios)
    faulty = {key: bare.combine(values) for key, values in table.items()}
    every = np.concatenate(list(faulty.values()))
    refuse_constant(held_out, every)
    chosen = choose_threshold(held_out, every, threshold)
    detected = {
        kind: np.concatenate([v for (k, _), v in faulty.items() if k == kind]) > chosen.value for kind, _ in faulty
    }
    measured = {
        **(card or {}),
        "episodes": len(good), "frames": good.frames, "tasks": sorted(set(good.tasks)),
        "robot": good.schema.robot, "rate_hz": good.schema.rate_hz,
        "threshold": chosen.value, "threshold_by": chosen.how,
        "false_rejections": float((held_out > chosen.value).mean()),
        "found": {kind: float(share.mean()) for kind, share in detected.items()},
        "features": len(usual.limits),
    }  # fmt: skip
    return replace(bare, threshold=chosen.value, card=measured), held_out


def refuse_constant(good: np.ndarray, faulty: np.ndarray) -> None:
    """Raise if scores do not vary or do not separate injected faults from good episodes."""
    spread = float(np.ptp(np.concatenate([good, faulty])))
    share = auroc(good, faulty)
    if spread < MIN_SPREAD or share < MIN_AUROC:
        raise UsageError(
            f"the curator is constant: its scores lie within {spread:.2g}, and separate injected faults from good "
            f"episodes with AUROC {share:.2f} (at least {MIN_AUROC} is needed). Do the episodes move at all?"
        )


MIN_AUROC = 0.7


def auroc(good: np.ndarray, faulty: np.ndarray) -> float:
    """Probability that a faulty episode has a higher score than a good one; ties count half."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([good, faulty]))[len(good) :]
    return float((ranks.sum() - len(faulty) * (len(faulty) + 1) / 2) / (len(faulty) * len(good)))
