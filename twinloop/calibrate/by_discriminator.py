"""Calibration by discriminator: ranges of rows under which simulated episodes cannot be told from real ones.

The same actor runs in the twin that ran on the robot: the scripted expert for demonstrations of `collect`, or a policy.
Episodes are compared by their traits, so rows of objects, contact, sensing and latency can be fitted as well as those
of the drive. `density_ratio.py` has the method.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from twinloop import __version__
from twinloop.calibrate.density_ratio import (
    Simulations,
    bootstrapped,
    distinguishability,
    first_estimate,
    inflated,
    matched,
    scaled_traits,
    summaries,
)
from twinloop.calibrate.patch import Fitted, Provenance, TwinPatch, Unknown
from twinloop.dataset import Dataset, verify
from twinloop.dataset.people.consent import require_consent
from twinloop.diagnose.counterfactuals import traces_of
from twinloop.diagnose.snapshots import Photographer
from twinloop.diagnose.traits import Arm, EpisodeTrace, measure_traits
from twinloop.errors import UsageError, nearest
from twinloop.gate.rollouts import acted
from twinloop.learn.candidate import Candidate
from twinloop.learn.chunks import ActingConfig
from twinloop.randomize.distribution import Distribution, Uniform
from twinloop.randomize.draw import Draws
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig, inapplicable_rows
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin

MIN_REAL = 8
MIN_EXPLAINED = 0.1
"""A row is unknown if less of its variance can be predicted from the traits."""
ROUNDS = 4
SIMULATIONS = 384
WIDTH = 64
FEATURES = ("observation.state", "observation.effort", "observation.environment_state", "action", "command")
CHECKPOINT, CONDITION = "checkpoint", "condition/"

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class DiscriminatorFit:
    """Result of a calibration by discriminator.

    Attributes:
        simulations: number of simulated episodes.
        auc_before, auc_after: cross-fitted AUC of a classifier between real episodes and the first and last round of
            simulations, each with its standard error. 0.5: they cannot be told apart. The last round is spread wider
            than the proposed range.
    """

    patch: TwinPatch
    simulations: int
    real_episodes: int
    auc_before: tuple[float, float]
    auc_after: tuple[float, float]


def fit_by_discriminator(
    config: RunConfig,
    logs: Sequence[Path],
    *,
    seed: int,
    fit: Sequence[str] = (),
    candidate: Candidate | None = None,
    simulations: int = SIMULATIONS,
    name: str = "cell.yaml",
    on_progress: OnProgress = lambda *_: None,
) -> DiscriminatorFit:
    """Fit ranges of rows to real episodes.

    Args:
        config: the twin. Ranges of fitted rows in it are searched; rows without one are searched over their sensible
            range.
        logs: runlogs or datasets of real episodes.
        fit: rows to fit. Default: every numeric row that the config varies, except those that lay out the scene.
        candidate: the policy that acted in the logs; None for demonstrations of the scripted expert.
        simulations: number of episodes to simulate, in four rounds.
        name: of the config, for messages.

    Raises:
        UsageError: too few real episodes, episodes of another actor or robot, or rows that cannot be fitted.
    """
    rows = fitted_rows(config, fit)
    real_traces, digests = real_episodes(config, logs, candidate)
    cell = TraitSimulator(config, rows, candidate, seed=seed)
    real = scaled_traits(measure_traits(real_traces(cell.arm)))
    rng, pool = np.random.default_rng(seed), Simulations(len(rows))
    estimate, proposal = first_estimate(len(rows)), None
    explained = np.zeros(len(rows))
    batches = np.array_split(np.arange(simulations), ROUNDS)
    for number, batch in enumerate(batches):
        count = len(batch)
        places = rng.random((count, len(rows))) if proposal is None else proposal.sample(count, rng)
        traits = scaled_traits(cell.traits(places))
        pool.add(places, traits, proposal)
        on_progress("simulating", (number + 1) * count, simulations)
        simulated, observed, share = summaries(pool, real, seed=seed)
        explained = share if number == 0 else explained
        estimate = matched(pool, simulated, observed, estimate)
        proposal = inflated(estimate)
    simulated, observed, _ = summaries(pool, real, seed=seed)
    samples = bootstrapped(pool, simulated, observed, estimate, rng=rng)
    last = len(batches[-1])
    before = distinguishability(pool.traits[: len(batches[0])], real, seed=seed)
    after = distinguishability(pool.traits[-last:], real, seed=seed)
    patch = _patch(rows, samples, explained, digests, name=name, config=config, seed=seed,
                   before=before, after=after, simulations=simulations)  # fmt: skip
    return DiscriminatorFit(patch, simulations, len(real), before, after)


def fitted_rows(config: RunConfig, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Row -> the range that is searched."""
    idle = inapplicable_rows(config.scene.world)
    able = {row: BY_NAME[row] for row in BY_NAME if _can_be_fitted(BY_NAME[row]) and row not in idle}
    for name in names:
        if name not in able:
            raise UsageError(f"--fit {name}: is not a row that episodes can be fitted by; {nearest(name, able)}")
    chosen = list(names) or [name for name in config.randomization if name in able]
    if not chosen:
        raise UsageError("the config varies no row that can be fitted; name rows with --fit (`twinloop parameters`)")
    ranges = {}
    for name in chosen:
        distribution = config.randomization.get(name)
        low, high = able[name].sensible if distribution is None else distribution.support()
        if not low < high:
            low, high = able[name].sensible
        ranges[name] = float(low), float(high)
    return ranges


def _can_be_fitted(row: Parameter) -> bool:
    return not (row.lays_out or row.words or row.pool or row.chance is not None or row.elements)


class TraitSimulator:
    """Simulates episodes of a twin with given values of some rows, and measures their traits."""

    def __init__(
        self, config: RunConfig, rows: dict[str, tuple[float, float]], candidate: Candidate | None, *, seed: int
    ):
        others = {name: values for name, values in config.randomization.items() if name not in rows}
        searched: dict[str, Distribution] = {name: Uniform(*ends) for name, ends in rows.items()}
        self._config = replace(config.with_seed(seed), randomization={**others, **searched}, fill=None)
        self._rows, self._seed, self._done = rows, seed, 0
        self._twin: Twin = twin_of(self._config)
        self._runtime = None if candidate is None else candidate.load()
        self.arm = Arm(self._twin)

    def traits(self, places: np.ndarray) -> np.ndarray:
        """(n, traits) of one episode for each of the (n, rows) places."""
        ends = self._rows.items()
        return self.traits_at(
            {name: low + places[:, column] * (high - low) for column, (name, (low, high)) in enumerate(ends)}
        )

    def traits_at(self, given: Mapping[str, np.ndarray]) -> np.ndarray:
        """(n, traits) of n episodes. given: column of the draws -> (n,) values."""
        return measure_traits(self.traces(len(next(iter(given.values()))), given))

    def traces(self, count: int, given: Mapping[str, np.ndarray] = MappingProxyType({})) -> list[EpisodeTrace]:
        """The next episodes. given: column of the draws -> (count,) values; others are drawn."""
        first = self._done
        self._done += count
        draws = self._config.sampler().draw(first, first + count)
        photographer = Photographer(self._twin, self._config.cameras, (), seed=self._seed)
        traces: dict[int, EpisodeTrace] = {}
        for episodes in self._simulated(replace(draws, values={**draws.values, **given})):
            for attempt, trace in zip(
                episodes.draws.attempts,
                traces_of(episodes, self._config, self._twin, self.arm, photographer),
                strict=True,
            ):
                traces[int(attempt)] = trace
        return [traces[attempt] for attempt in range(first, first + count)]

    def _simulated(self, draws: Draws) -> Iterator[Episodes]:
        width = min(WIDTH, len(draws.attempts))
        if self._runtime is not None:
            return acted(self._config, self._twin, self._runtime, ActingConfig(), [draws], width=width)
        expert = Expert(self._twin, self._config.expert, width=width, seed=self._seed)
        return rollout(Cell(self._twin, width=width), iter([draws]), expert, seed=self._seed)


def real_episodes(
    config: RunConfig, logs: Sequence[Path], candidate: Candidate | None, *, fewest: int = MIN_REAL
) -> tuple[Callable[[Arm], list[EpisodeTrace]], dict[str, str]]:
    """Return a function that reads the real episodes of the actor, and the digest of each log.

    Args:
        candidate: the policy that acted; None for demonstrations.
        fewest: with fewer episodes the logs are refused.
    """
    found: list[tuple[Dataset, int, bool, dict[str, str]]] = []
    digests, actors = {}, set()
    for path in logs:
        verify(path).require()
        dataset = Dataset.open(path)
        if dataset.header.robot != config.scene.robot.name:
            raise UsageError(
                f"{path}: is a log of robot {dataset.header.robot}, and the config has {config.scene.robot.name}"
            )
        table = dataset.attempts()
        require_consent(table, "analyse", where=str(path))
        digests[path.name] = dataset.digest()
        rows = table.to_pylist()
        for row in rows:
            actor = row.get(CHECKPOINT) or ""
            actors.add(actor)
            if actor == (candidate.digest if candidate else "") and row["length"] > 2:
                conditions = {key.removeprefix(CONDITION): str(value) for key, value in row.items()
                              if key.startswith(CONDITION) and value}  # fmt: skip
                found.append((dataset, int(row["attempt"]), bool(row.get("success")), conditions))
    if len(found) < fewest:
        wanted = f"policy {candidate.name} ({candidate.digest[:12]})" if candidate else "demonstrations"
        known = ", ".join(sorted(actor[:12] or "demonstrations" for actor in actors)) or "nothing"
        advice = "" if candidate or not actors - {""} else "; give the policy that acted with --policy"
        raise UsageError(
            f"{', '.join(map(str, logs))}: {len(found)} episodes of {wanted}; {fewest} or more are needed. The logs "
            f"hold episodes of: {known}{advice}"
        )

    def read(arm: Arm) -> list[EpisodeTrace]:
        traces = []
        for dataset, attempt, success, conditions in found:
            frames = dataset.episode(attempt=attempt)
            known = {name: frames[name] for name in FEATURES if name in frames}
            traces.append(EpisodeTrace(known, success, arm, conditions))
        return traces

    return read, digests


def _patch(
    rows: dict[str, tuple[float, float]], samples: np.ndarray, explained: np.ndarray,
    digests: dict[str, str], *, name: str, config: RunConfig, seed: int, before: tuple[float, float],
    after: tuple[float, float], simulations: int,
) -> TwinPatch:  # fmt: skip
    fitted, unknown, ranges, drawn = {}, {}, {}, {}
    low, middle, high = np.quantile(samples, [0.05, 0.5, 0.95], axis=0)
    thinned = samples[:: max(1, len(samples) // 24)][:24]
    for column, (row, (bottom, top)) in enumerate(rows.items()):
        if explained[column] < MIN_EXPLAINED:
            reason = f"the traits of an episode explain {100 * max(explained[column], 0):.0f} % of its variance"
            unknown[row] = Unknown(reason, "episodes in which this row changes what the robot does")
            continue
        ends = [bottom + float(place) * (top - bottom) for place in (middle[column], low[column], high[column])]
        fitted[row] = Fitted(ends[0], ends[1], ends[2], BY_NAME[row].unit)
        ranges[row] = ends[1], ends[2]
        drawn[row] = tuple(bottom + float(place) * (top - bottom) for place in thinned[:, column])
    if not fitted:
        reasons = "; ".join(f"{row}: {missing.reason}" for row, missing in unknown.items())
        raise UsageError(f"none of the rows can be determined from these episodes: {reasons}")
    residual = {"discriminator": {"auc_before": round(before[0], 4), "auc_after": round(after[0], 4)}}
    provenance = Provenance(
        twin=name, twin_digest=config.digest, logs=digests, residual=residual, code=f"twinloop {__version__}", seed=seed
    )
    note = (
        f"by discriminator: {simulations} simulations; AUC between real and simulated episodes {before[0]:.2f} before, "
        f"{after[0]:.2f} after (0.5: cannot be told apart)"
    )
    return TwinPatch(fitted=fitted, unknown=unknown, ranges=ranges, samples=drawn, provenance=provenance, notes=(note,))
