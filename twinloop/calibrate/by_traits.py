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
from twinloop.calibrate.episode_scatter import EpisodeTraits, episode_scatter
from twinloop.calibrate.trait_posterior import SIGNALS, LinearTraits, posterior, posterior_samples
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

ROUNDS, EPISODES = 4, 112
MOST_SIZE = 8.0
"""Largest size of a value. Readings can be far worse than the sensible range of a row says."""
REACH = 2.5
"""How far from the present estimate values are simulated, and how far a round moves it: a linear model holds there."""
MIN_PRIOR = 0.1
INFLATED = 1.5
"""The next episodes are spread wider than the posterior by this factor, so that they also cover its error."""
MIN_STD = 0.1
DEPENDENT = 2.0
"""Factor on the variance of the robot's traits. Several traits show the same error, so they are not independent."""
RIDGE = 1.0
SIGNIFICANCE = 0.05
"""Level of the tests that compare the success in the twin with that on the robot."""
KNOWN = 0.5  # share of episodes that must have a trait
NOMINAL = 16
"""Episodes in the twin without any error."""
ADDED = np.array([trait.log and trait.gap == "sensing" for trait in TRAITS])
"""Traits whose logarithm is of an error that a sensor adds."""
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
    def _cause(self) -> Cause:
        cause = self.high or self.low
        assert cause is not None
        return cause

    @property
    def name(self) -> str:
        cause = self._cause
        return f"{cause.row}.{cause.element}" if cause.element else cause.row

    @property
    def gap(self) -> Gap:
        return self._cause.gap

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest size."""
        low, high = (0.0 if cause is None else cause.largest_size(MOST_SIZE) for cause in (self.low, self.high))
        return -low, high

    def values(self, sizes: np.ndarray) -> np.ndarray:
        return np.array([
            self.high.value(size) if size > 0 and self.high else self.low.value(-size) if size < 0 and self.low
            else self._cause.nominal
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
    gaps: tuple[Gap, ...] = tuple(column.gap for column in columns)
    mean, covariance = np.zeros(len(columns)), np.diag(prior**2)
    for number in range(ROUNDS):
        # Episodes of the round before are used too, but not those of the first: they are too far from the estimate for
        # a linear model.
        keep = EPISODES if number > 1 else 0
        spread = INFLATED**2 * covariance + MIN_STD**2 * np.eye(len(columns))
        near = np.clip([mean - REACH, mean + REACH], *ends.T)
        for source in sources:
            source.simulate(np.clip(rng.multivariate_normal(mean, spread, EPISODES), *near), keep=keep)
        mean, covariance = posterior([source.linearised() for source in sources], prior, gaps)
        mean = np.clip(mean, *near)
    scatter = episode_scatter([source.episode_traits() for source in sources], len(columns))
    scatter[[gap not in SIGNALS for gap in gaps]] = 0.0
    samples = np.clip(posterior_samples(mean, covariance, prior, rng, scatter=scatter), *ends.T)
    success = sources[-1].success(samples)
    digests = tuple(digest for source in sources for digest in source.digests)
    return FittedTwin(_values(columns, samples), success, sources[-1].robot_success, digests)


def with_plain_expert(config: RunConfig) -> RunConfig:
    """The config with an expert without noise, slips and misses, as a person demonstrates."""
    return replace(config, expert=replace(config.expert, action_noise_rad=0.0, slips=0.0, unsteady=0.0))


@dataclass(frozen=True)
class _Line:
    """A trait of simulated episodes as a linear function of the sizes.

    Attributes:
        place: of the trait in the table.
        level: at size 0.
        variance: of single episodes around the line.
        episodes: that the line is fitted to.
    """

    place: int
    slope: np.ndarray
    level: float
    variance: float
    episodes: int


class _Source:
    """The episodes of one actor: those on the robot, and simulated ones with other sizes of the columns in each.

    Args:
        candidate: the policy that acted; None for demonstrations. Only their traits of `SIGNALS` gaps are used:
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
        self._robot, self._noise = _levels(traits, self._nominal(), self._simulator.arm)
        self._episodes = np.where(np.isfinite(traits), _scaled(traits), np.nan)
        if candidate is None:
            self._robot[[trait.gap not in SIGNALS for trait in TRAITS]] = np.nan
        self._sizes, self._traits = np.zeros((0, len(columns))), np.zeros((0, len(TRAITS)))

    def _nominal(self) -> np.ndarray:
        """(traits,) mean traits in the twin without any error."""
        sizes = np.zeros((NOMINAL, len(self._columns)))
        return _means(_scaled(self._simulator.traits_at(_values(self._columns, sizes))))

    def simulate(self, sizes: np.ndarray, *, keep: int) -> None:
        """Simulate an episode with each of these sizes. keep: earlier episodes that are used besides."""
        traits = self._simulator.traits_at(_values(self._columns, sizes))
        self._sizes = np.concatenate([self._sizes[len(self._sizes) - keep :], sizes])
        self._traits = np.concatenate([self._traits[len(self._traits) - keep :], _scaled(traits)])

    def success(self, sizes: np.ndarray) -> Rate:
        return _success(self._simulator.traits_at(_values(self._columns, sizes)))

    def linearised(self) -> LinearTraits:
        """The traits as linear functions of the sizes. Those that are not known on both sides are left out."""
        lines = self._lines()
        levels = [self._robot[line.place] - line.level for line in lines]
        precisions = [1 / (self._noise[line.place] + line.variance / line.episodes + 1e-12) for line in lines]
        gaps: tuple[Gap | None, ...] = tuple(TRAITS[line.place].gap for line in lines)
        return LinearTraits(gaps, self._slopes(lines), np.array(levels), np.array(precisions))

    def episode_traits(self) -> EpisodeTraits:
        """The traits of the robot's single episodes that show its sensors and delays."""
        lines = [line for line in self._lines() if TRAITS[line.place].gap in SIGNALS]
        places = [line.place for line in lines]
        noise = [line.variance + RESOLUTIONS[line.place] ** 2 for line in lines]
        return EpisodeTraits(self._episodes[:, places], self._slopes(lines), np.array(noise))

    def _slopes(self, lines: Sequence["_Line"]) -> np.ndarray:
        return np.array([line.slope for line in lines]).reshape(-1, len(self._columns))

    def _lines(self) -> list["_Line"]:
        """The regression of each trait that is known on both sides."""
        lines = []
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
            lines.append(_Line(int(place), slope, middle - slope @ centre, error @ error / free, len(traits)))
        return lines


def _levels(traits: np.ndarray, nominal: np.ndarray, arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    """((traits,) means on the robot, (traits,) their variance with that between engines); NaN for unknown ones.

    Args:
        nominal: (traits,) means in the twin without any error. Engines were compared there. Errors of sensors are added
            to what an engine simulates, so the larger they are, the less the engine changes their logarithm.
    """
    scaled, known = _scaled(traits), np.isfinite(traits)
    usable, columns = known.mean(axis=0) >= KNOWN, list(zip(scaled.T, known.T, strict=True))
    usable &= np.array(
        [not trait.event and (not trait.outcome or place == SUCCESS) for place, trait in enumerate(TRAITS)]
    )
    between = np.array([np.std(column[seen]) if seen.any() else np.nan for column, seen in columns])
    level = _means(scaled)
    spread = engine_spread(arm.robot).for_arm(arm.weight_n)
    engines = spread.variance(np.append(between, np.ones(len(ENTRIES) - len(TRAITS))))
    larger = np.where(ADDED, np.nan_to_num(np.maximum(level - nominal, 0.0)), 0.0)
    engines = engines[: len(TRAITS)] * np.exp(-2 * larger)
    count = np.maximum(known.sum(axis=0), 1)
    small = np.square(RESOLUTIONS[: len(TRAITS)])
    variance = DEPENDENT * ((np.square(between) + small) / count + engines + small)
    return np.where(usable, level, np.nan), variance


def _means(traits: np.ndarray) -> np.ndarray:
    """(traits,) means over the episodes that have a trait; NaN if none has."""
    known = [column[np.isfinite(column)] for column in traits.T]
    return np.array([column.mean() if len(column) else np.nan for column in known])


def _success(traits: np.ndarray) -> Rate:
    return Rate(int(traits[:, SUCCESS].sum()), len(traits))


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _values(columns: Sequence[FittedColumn], sizes: np.ndarray) -> dict[str, np.ndarray]:
    return {column.name: column.values(sizes[:, place]) for place, column in enumerate(columns)}


def _scaled(traits: np.ndarray) -> np.ndarray:
    return np.column_stack([trait.scaled(traits[:, place]) for place, trait in enumerate(TRAITS)])
