"""Fit a twin to a policy's episodes on a robot: values of many rows at once, from the traits of the episodes.

The policy is simulated with values drawn around the present estimate, other ones in every episode. The traits are
regressed on the values, and the robot's traits give a normal posterior of the values. This is repeated around the new
estimate (statistical linearisation, as in ensemble Kalman inversion: Iglesias, Law and Stuart, arXiv 1209.2736). The
values of a row are correlated in the posterior: the sum of two delays may be known well and the parts badly. Samples of
the posterior keep that; intervals of single rows do not.

Demonstrations tell what a policy that fails does not show: how late the tracker follows a thing that is carried. They
are compared with the scripted expert in the twin, which stands for whoever demonstrates.

A value is given by its signed size, as in the causes of diagnosis: 0 is nominal, 1 the end of the row's sensible range.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.calibrate.by_discriminator import TraitSimulator, real_episodes
from twinloop.curate.rates import Rate
from twinloop.diagnose.causes import Cause
from twinloop.diagnose.engine_spread import engine_spread
from twinloop.diagnose.hypothesis_set import causes_in
from twinloop.diagnose.summary import ENTRIES, RESOLUTIONS
from twinloop.diagnose.traits import TRAITS, Arm, measure_traits
from twinloop.learn.candidate import Candidate
from twinloop.randomize.parameter import Gap
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig

ROUNDS, EPISODES = 3, 128
SAMPLES, CHECKED = 32, 64
"""Samples of the posterior, and episodes that are simulated with them to predict the success of the policy."""
REWEIGHTINGS = 10
MOST_SIZE = 2.5
MIN_PRIOR = 0.1
INFLATED = 1.5
"""The next episodes are spread wider than the posterior by this factor, so that they also cover its error."""
MIN_STD = 0.1
DEPENDENT = 2.0
"""Factor on the variance of the robot's traits. Several traits show the same error, so they are not independent."""
FREEDOM = 4.0
"""Degrees of freedom of the noise: a few traits differ for reasons that no row describes."""
RIDGE = 1.0
UNDETERMINED = 0.6
"""A column is not determined if its deviation is more than this share of the deviation before any log."""
DEMONSTRATED: tuple[Gap, ...] = ("sensing", "latency")
"""Gaps whose traits do not depend on how somebody moves."""
SIGNIFICANCE = 0.05
"""Level of the tests that compare the success in the twin with that on the robot."""
KNOWN = 0.5  # share of episodes that must have a trait
SUCCESS = next(place for place, trait in enumerate(TRAITS) if trait.name == "success")


@dataclass(frozen=True)
class FittedColumn:
    """A column of the draws that is fitted: below nominal, above it, or both.

    Attributes:
        prior: standard deviation of its size before any log: how likely the robot differs in this gap at all.
    """

    low: Cause | None
    high: Cause | None
    prior: float = 1.0

    @property
    def name(self) -> str:
        cause = self.high or self.low
        assert cause is not None
        return f"{cause.row}.{cause.element}" if cause.element else cause.row

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest size."""
        low, high = (0.0 if cause is None else min(MOST_SIZE, cause.max_size) for cause in (self.low, self.high))
        return -low, high

    def values(self, sizes: np.ndarray) -> np.ndarray:
        cause = self.high or self.low
        assert cause is not None
        return np.array([
            self.high.value(size) if size > 0 and self.high else self.low.value(-size) if size < 0 and self.low
            else cause.nominal
            for size in np.clip(sizes, *self.ends)
        ])  # fmt: skip


@dataclass(frozen=True)
class FittedTwin:
    """Values of rows under which a policy behaves in the twin as on the robot.

    Attributes:
        values: column of the draws -> (n,) samples; sample k of all columns belongs together.
        success: of the policy in the twin with these values.
        robot: success of the policy on the robot.
        logs: digests of the runlogs.
    """

    values: dict[str, np.ndarray]
    success: Rate
    robot: Rate
    logs: tuple[str, ...]

    @property
    def too_severe(self) -> bool:
        """Whether the policy fails significantly more often in the twin than on the robot (one-sided, 5 %).

        Then the values are not the robot's. The opposite is usual, and no reason against the values: the traits
        determine them, and engines differ in where a policy begins to fail.
        """
        return fails_more(self.success, self.robot)

    @property
    def predicts_success(self) -> bool:
        """Whether the policy does not succeed significantly more often in the twin either."""
        return not self.too_severe and not succeeds_more(self.success, self.robot)


def fails_more(twin: Rate, robot: Rate) -> bool:
    """Whether a policy fails significantly more often in the twin than on the robot (one-sided, 5 %)."""
    return bool(_robot_successes(twin, robot).sf(robot.successes - 1) < SIGNIFICANCE)


def succeeds_more(twin: Rate, robot: Rate) -> bool:
    """Whether a policy succeeds significantly more often in the twin than on the robot (one-sided, 5 %)."""
    return bool(_robot_successes(twin, robot).cdf(robot.successes) < SIGNIFICANCE)


def _robot_successes(twin: Rate, robot: Rate) -> Any:
    """Distribution of the successes on the robot if its success rate is the twin's, which is known from some trials."""
    from scipy.stats import betabinom

    return betabinom(robot.trials, twin.successes + 0.5, twin.trials - twin.successes + 0.5)


def fitted_columns(config: RunConfig, gaps: Mapping[Gap, float]) -> tuple[FittedColumn, ...]:
    """The columns of constant errors in these gaps.

    Args:
        gaps: gap -> probability that the robot differs from the twin in it. A doubtful gap changes little: the engines
            differ in ways that no row describes, and a fit would put them into the rows of any gap it may use.
    """
    causes: dict[tuple[Gap, str, str], dict[str, Cause]] = {}
    for cause in causes_in(config):
        if BY_NAME[cause.row].scattered:
            continue
        if cause.gap in gaps and cause.side in ("low", "high") and not cause.worse and not cause.dependent:
            causes.setdefault((cause.gap, cause.row, cause.element), {})[cause.side] = cause
    return tuple(
        FittedColumn(sides.get("low"), sides.get("high"), max(gaps[gap], MIN_PRIOR))
        for (gap, *_), sides in causes.items()
    )


def fit_twin(
    config: RunConfig, logs: Sequence[tuple[Path, Candidate]], columns: Sequence[FittedColumn], *, seed: int,
    demonstrations: Sequence[Path] = (),
) -> FittedTwin:  # fmt: skip
    """Fit columns to episodes on a robot.

    Args:
        logs: runlogs, each with the policy that acted. The success of the last one is compared with the twin's.
        demonstrations: runlogs of demonstrations by somebody who sees the scene, at least `MIN_REAL`.

    Raises:
        UsageError: too few episodes of a policy, or a runlog of another robot.
    """
    ends, rng = np.array([column.ends for column in columns]), np.random.default_rng(seed)
    sources = [_Source(config, [log], candidate, columns, seed=seed) for log, candidate in logs]
    if demonstrations:
        sources.insert(0, _Source(with_plain_expert(config), demonstrations, None, columns, seed=seed))
    prior = np.array([column.prior for column in columns])
    mean, covariance = np.zeros(len(columns)), np.diag(prior**2)
    for _ in range(ROUNDS):
        spread = INFLATED**2 * covariance + MIN_STD**2 * np.eye(len(columns))
        for source in sources:
            source.simulate(np.clip(rng.multivariate_normal(mean, spread, EPISODES), *ends.T))
        mean, covariance = _posterior([source.linearised() for source in sources], prior)
        mean = np.clip(mean, *ends.T)
    samples = np.clip(_samples(mean, covariance, prior, rng), *ends.T)
    success = sources[-1].success(np.repeat(samples, CHECKED // SAMPLES, axis=0))
    digests = tuple(digest for source in sources for digest in source.digests)
    return FittedTwin(_values(columns, samples), success, sources[-1].robot_success, digests)


def with_plain_expert(config: RunConfig) -> RunConfig:
    """The config with an expert without noise and slips, as a person demonstrates."""
    return replace(config, expert=replace(config.expert, action_noise_rad=0.0, slips=0.0))


class _Source:
    """The episodes of one actor: those on the robot, and simulated ones with other sizes of the columns in each.

    Args:
        candidate: the policy that acted; None for demonstrations. Only their traits of `DEMONSTRATED` gaps are used:
            people move in another way than the scripted expert of the twin.
    """

    def __init__(
        self, config: RunConfig, logs: Sequence[Path], candidate: Candidate | None, columns: Sequence[FittedColumn], *,
        seed: int,
    ):  # fmt: skip
        widest = {column.name: _ends(column.values(np.array(column.ends))) for column in columns}
        self._columns, self._simulator = columns, TraitSimulator(config, widest, candidate, seed=seed)
        read, digests = real_episodes(config, logs, candidate)
        self.digests = tuple(digests.values())
        traits = measure_traits(read(self._simulator.arm))
        self.robot_success = _success(traits)
        self._robot, self._noise = _levels(traits, self._simulator.arm)
        if candidate is None:
            self._robot[[trait.gap not in DEMONSTRATED for trait in TRAITS]] = np.nan
        self._sizes, self._traits = np.zeros((0, len(columns))), np.zeros((0, len(TRAITS)))

    def simulate(self, sizes: np.ndarray) -> None:
        traits = self._simulator.traits_at(_values(self._columns, sizes))
        # Those of the last two rounds are kept. Earlier ones are too far from the estimate for a linear model.
        self._sizes = np.concatenate([self._sizes[-EPISODES:], sizes])
        self._traits = np.concatenate([self._traits[-EPISODES:], _scaled(traits)])

    def success(self, sizes: np.ndarray) -> Rate:
        return _success(self._simulator.traits_at(_values(self._columns, sizes)))

    def linearised(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(traits, columns) slopes, (traits,) levels of the robot at size 0, and (traits,) their precision.

        A level is slope · sizes + noise. Traits that are not known on both sides are left out.
        """
        slopes, levels, precisions = [], [], []
        for place in np.flatnonzero(np.isfinite(self._robot) & np.isfinite(self._noise)):
            known = np.isfinite(self._traits[:, place])
            if known.mean() < KNOWN:
                continue
            sizes, traits = self._sizes[known], self._traits[known, place]
            centre, middle = sizes.mean(axis=0), traits.mean()
            away = sizes - centre
            slope = np.linalg.solve(away.T @ away + RIDGE * np.eye(len(centre)), away.T @ (traits - middle))
            error = traits - middle - away @ slope
            free = max(1, len(traits) - len(centre) - 1)
            slopes.append(slope)
            levels.append(self._robot[place] - middle + slope @ centre)
            precisions.append(1 / (self._noise[place] + error @ error / free / len(traits) + 1e-12))
        return np.array(slopes).reshape(-1, len(self._columns)), np.array(levels), np.array(precisions)


def _posterior(
    linearised: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the sizes. Noise has a Student's t distribution (iteratively reweighted).

    Args:
        prior: standard deviations of the sizes before any log.
    """
    slope, level, precision = (np.concatenate(parts) for parts in zip(*linearised, strict=True))
    mean, covariance, robust = np.zeros(len(prior)), np.diag(prior**2), np.ones(len(level))
    for _ in range(REWEIGHTINGS):
        weighted = slope * (robust * precision)[:, None]
        covariance = np.linalg.inv(slope.T @ weighted + np.diag(prior**-2))
        mean = covariance @ (weighted.T @ level)
        robust = (FREEDOM + 1) / (FREEDOM + precision * np.square(level - slope @ mean))
    return mean, covariance


def _samples(mean: np.ndarray, covariance: np.ndarray, prior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(samples, columns) sizes. Columns that the traits do not determine have their mean in every sample.

    Their posterior is as wide as the prior, and data with all these values would be noisier than the robot.
    """
    determined = np.sqrt(np.diag(covariance)) < UNDETERMINED * prior
    known, other = np.flatnonzero(determined), np.flatnonzero(~determined)
    gain = np.linalg.solve(covariance[np.ix_(other, other)], covariance[np.ix_(other, known)]).T
    left = covariance[np.ix_(known, known)] - gain @ covariance[np.ix_(other, known)]
    samples = np.tile(mean, (SAMPLES, 1))
    samples[:, known] = rng.multivariate_normal(mean[known], left, SAMPLES)
    return samples


def _levels(traits: np.ndarray, arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    """((traits,) means on the robot, (traits,) their variance with that between engines); NaN for unknown ones."""
    scaled, known = _scaled(traits), np.isfinite(traits)
    usable, columns = known.mean(axis=0) >= KNOWN, list(zip(scaled.T, known.T, strict=True))
    usable &= np.array([not trait.outcome or place == SUCCESS for place, trait in enumerate(TRAITS)])
    between = np.array([np.std(column[seen]) if seen.any() else np.nan for column, seen in columns])
    level = np.array([column[seen].mean() if seen.any() else np.nan for column, seen in columns])
    spread = engine_spread(arm.robot).for_arm(arm.weight_n)
    engines = spread.variance(np.append(between, np.ones(len(ENTRIES) - len(TRAITS))))
    count = np.maximum(known.sum(axis=0), 1)
    small = np.square(RESOLUTIONS[: len(TRAITS)])
    variance = DEPENDENT * ((np.square(between) + small) / count + engines[: len(TRAITS)] + small)
    return np.where(usable, level, np.nan), variance


def _success(traits: np.ndarray) -> Rate:
    return Rate(int(traits[:, SUCCESS].sum()), len(traits))


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _values(columns: Sequence[FittedColumn], sizes: np.ndarray) -> dict[str, np.ndarray]:
    return {column.name: column.values(sizes[:, place]) for place, column in enumerate(columns)}


def _scaled(traits: np.ndarray) -> np.ndarray:
    return np.column_stack([trait.scaled(traits[:, place]) for place, trait in enumerate(TRAITS)])
