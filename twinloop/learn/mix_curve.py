"""MixCurve: how the loss on held-out real episodes depends on the share of simulated data, from small proxy trainings.

The real episodes are divided into folds. For every share and fold a small policy is trained on simulated data and on
the real episodes outside the fold, with batches mixed by the share, and its loss is measured on the episodes of the
fold. So every real episode is held out once, and shares are compared on the same episodes.

Proxy trainings are ordinary trainings in OUT/proxies: a stopped run continues, and their checkpoints can be rolled out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from twinloop.curate.rates import Rate
from twinloop.errors import DatasetError, UsageError
from twinloop.learn.candidate import Candidate, candidate_of
from twinloop.learn.checkpoint import Checkpoint
from twinloop.learn.demonstrations import Demonstrations, load_demonstrations
from twinloop.learn.mixture import Mixture, agreed_space
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.policies import POLICIES
from twinloop.learn.policy import tensors_of
from twinloop.learn.space import default_inputs
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJob, TrainingJobConfig

SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares of simulated data; 0 is real data only, 1 simulated data only."""
MIN_REAL = 6
REPEATS = 2000
LEVEL = 0.95

SuccessAt = Callable[[Candidate], Rate]
"""Success rate of a policy in a twin of the target cell."""


@dataclass(frozen=True)
class MixConfig:
    """Settings of the proxy trainings.

    Attributes:
        shares: shares of simulated data to try.
        folds: parts that the real episodes are divided into; each is held out once.
        policy, settings: kind and settings of the proxies; small ones suffice for the order of shares.
        train: settings of the optimisation.
        most: largest number of simulated episodes.
        seed: of folds, initial weights and batches.
    """

    shares: tuple[float, ...] = SHARES
    folds: int = 3
    policy: str = "mlp"
    settings: dict[str, Any] = field(default_factory=lambda: {"width": 192, "depth": 2})
    train: TrainConfig = TrainConfig(steps=400, batch=256, look_every=400)  # noqa: RUF009
    most: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class MixPoint:
    """Results at one share of simulated data.

    Attributes:
        loss, low, high: mean loss on held-out real episodes, with its 95 % interval.
        worse, worse_low, worse_high: mean difference to the best share on the same episodes, with its interval.
        success: in the twin of the target cell, over all folds; None if it was not measured.
    """

    share: float
    loss: float
    low: float
    high: float
    worse: float
    worse_low: float
    worse_high: float
    success: Rate | None = None

    @property
    def as_good(self) -> bool:
        """True if this share is not significantly worse than the best one."""
        return self.worse_low <= 0


@dataclass(frozen=True)
class MixCurve:
    """The curve over the shares. share: the proposed share. by: what decided, `success` or `loss`."""

    points: tuple[MixPoint, ...]
    share: float
    by: str
    sim_episodes: int
    real_episodes: int

    @property
    def mix(self) -> str:
        """The proposal as the `--mix` of `twinloop train`."""
        return f"sim={self.share:g},real={1 - self.share:g}"

    def to_json(self) -> dict[str, Any]:
        points = []
        for point in self.points:
            entry = asdict(point) | {"as_good": point.as_good}
            if point.success is not None:
                low, high = point.success.interval
                entry["success"] = asdict(point.success) | {"low": low, "high": high}
            points.append(entry)
        return {
            "share": self.share, "mix": self.mix, "by": self.by, "sim_episodes": self.sim_episodes,
            "real_episodes": self.real_episodes, "points": points,
        }  # fmt: skip


def mix_curve(
    sim: Sequence[Path],
    real: Sequence[Path],
    out: Path,
    *,
    config: MixConfig = MixConfig(),  # noqa: B008
    success_at: SuccessAt | None = None,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> MixCurve:
    """Train proxies at every share and return the curve.

    Args:
        out: folder of the proxies.
        success_at: measures a proxy in a twin of the target cell; None compares losses only.
        on_progress: called with (proxies done, proxies in all).

    Raises:
        UsageError: shares out of range, or too few real episodes.
        DatasetError: the data do not fit together.
    """
    shares = _checked_shares(config.shares)
    inputs = default_inputs([*sim, *real])
    simulated = [load_demonstrations(path, inputs, most=config.most) for path in sim]
    recorded = [load_demonstrations(path, inputs) for path in real]
    _refuse_kinds(simulated, recorded)
    agreed_space([*simulated, *recorded])
    folds = _folds(recorded, config)
    losses: dict[float, list[np.ndarray]] = {share: [] for share in shares}
    rates: dict[float, list[Rate]] = {share: [] for share in shares}
    for done, (number, share) in enumerate((number, share) for number in range(config.folds) for share in shares):
        on_progress(done, config.folds * len(shares))
        learnt, held = folds[number]
        job = _proxy_job(share, simulated, learnt, held, config, fold=number)
        checkpoint = train(job, out / "proxies" / f"share-{share:g}-fold-{number}").checkpoint
        losses[share].append(np.concatenate([episode_losses(checkpoint, part, seed=config.seed) for part in held]))
        if success_at is not None:
            rates[share].append(success_at(candidate_of(checkpoint.path)))
    on_progress(config.folds * len(shares), config.folds * len(shares))
    table = np.stack([np.concatenate(losses[share]) for share in shares])
    points = _points(shares, table, rates, seed=config.seed)
    share, by = proposed(points)
    counts = (sum(len(part.lengths) for part in parts) for parts in (simulated, recorded))
    return MixCurve(points, share, by, *counts)


def proposed(points: Sequence[MixPoint]) -> tuple[float, str]:
    """Return the share to train with, and what decided.

    Where success was measured, the share with the highest rate is proposed, unless the rate at the lowest loss is
    within its interval. Otherwise the share with the lowest loss is.
    """
    by_loss = min(points, key=lambda point: point.loss)
    rated = [point for point in points if point.success is not None and point.success.trials]
    if not rated or by_loss.success is None:
        return by_loss.share, "loss"
    best = max(rated, key=lambda point: (point.success.value if point.success else 0.0, -point.loss))
    assert best.success is not None
    if by_loss.success.value >= best.success.interval[0]:
        return by_loss.share, "loss"
    return best.share, "success"


def episode_losses(checkpoint: Checkpoint, part: Demonstrations, *, seed: int) -> np.ndarray:
    """(episodes,) mean loss of a policy on every episode, as it would act on a robot."""
    policy, losses = checkpoint.policy.eval(), []
    mixture = Mixture([part], [1.0])
    real = float(checkpoint.card.knows_real)
    with torch.no_grad():
        for start, length in zip(part.starts, part.lengths, strict=True):
            batch = mixture.gather([np.arange(start, start + length)], policy.horizon)
            batch = replace(batch, real=np.full(length, real, np.float32))
            losses.append(policy.loss(tensors_of(batch), generator=torch.Generator().manual_seed(seed)).item())
    return np.array(losses)


def _checked_shares(shares: Sequence[float]) -> list[float]:
    if len(set(shares)) < 2 or not all(0 <= share <= 1 for share in shares):
        given = ", ".join(f"{share:g}" for share in shares)
        raise UsageError(
            f"shares: {given or 'none'} was given; two or more different numbers from 0 to 1 were expected"
        )
    return sorted(set(shares))


def _refuse_kinds(simulated: Sequence[Demonstrations], recorded: Sequence[Demonstrations]) -> None:
    for part in simulated:
        if part.real:
            raise DatasetError(
                f"{part.source.path}: is real data; give a dataset of `generate` as SIM, and this as REAL"
            )
    for part in recorded:
        if not part.real:
            raise DatasetError(f"{part.source.path}: is simulated data; give a runlog or a dataset of `ingest` as REAL")


def _folds(
    recorded: Sequence[Demonstrations], config: MixConfig
) -> list[tuple[list[Demonstrations], list[Demonstrations]]]:
    """(training, held-out) parts of the real data for each fold."""
    count = sum(len(part.lengths) for part in recorded)
    if count < max(MIN_REAL, 2 * config.folds):
        raise UsageError(
            f"the real data has {count} accepted episodes; {max(MIN_REAL, 2 * config.folds)} or more are needed for "
            f"{config.folds} folds"
        )
    order = np.random.default_rng(config.seed).permutation(count)
    fold_of = np.empty(count, int)
    fold_of[order] = np.arange(count) % config.folds
    starts = np.cumsum([len(part.lengths) for part in recorded])[:-1]
    folds = []
    for number in range(config.folds):
        learnt, held = [], []
        for part, folds_of_part in zip(recorded, np.split(fold_of, starts), strict=True):
            for parts, chosen in ((learnt, folds_of_part != number), (held, folds_of_part == number)):
                if chosen.any():
                    parts.append(part.take(np.flatnonzero(chosen)))
        folds.append((learnt, held))
    return folds


def _proxy_job(
    share: float, simulated: Sequence[Demonstrations], learnt: Sequence[Demonstrations],
    held: Sequence[Demonstrations], config: MixConfig, *, fold: int,
) -> TrainingJob:  # fmt: skip
    sides = [(share, list(simulated)), (1 - share, list(learnt))]
    parts, weights = [], []
    for weight, side in sides:
        frames = sum(part.frames for part in side)
        if weight > 0:
            parts += side
            weights += [weight * part.frames / frames for part in side]
    batch = config.train.batch or POLICIES[config.policy].batch_for(parts[0].space)
    job = TrainingJobConfig(
        datasets=tuple(Path(part.source.path) for part in parts),
        policy=config.policy,
        mix=f"sim={share:g},real={1 - share:g}, fold {fold + 1} of {config.folds}",
        inputs=tuple(feature.name for feature in parts[0].space.inputs),
        most=config.most,
        settings=dict(config.settings),
        train=replace(config.train, batch=batch),
        seed=config.seed + fold,
    )
    total = sum(part.frames for part in held)
    held_out = Mixture(held, [part.frames / total for part in held])
    return TrainingJob(job, tuple(parts), tuple(weights), Mixture(parts, weights), held_out)


def _points(
    shares: Sequence[float], table: np.ndarray, rates: Mapping[float, list[Rate]], *, seed: int
) -> tuple[MixPoint, ...]:
    """The points of the curve from (shares, episodes) losses. Intervals are a bootstrap over real episodes."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, table.shape[1], (REPEATS, table.shape[1]))
    means = table[:, rows].mean(axis=2)
    best = int(table.mean(axis=1).argmin())
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.quantile(means, tails, axis=1)
    worse_low, worse_high = np.quantile(means - means[best], tails, axis=1)
    points = []
    for index, share in enumerate(shares):
        known = rates[share]
        success = Rate(sum(r.successes for r in known), sum(r.trials for r in known)) if known else None
        points.append(MixPoint(
            share, float(table[index].mean()), float(low[index]), float(high[index]),
            float(table[index].mean() - table[best].mean()), float(worse_low[index]), float(worse_high[index]), success,
        ))  # fmt: skip
    return tuple(points)
