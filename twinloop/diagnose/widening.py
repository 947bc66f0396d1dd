"""How randomization ranges change between rounds: by a diagnosis, or by automatic domain randomization.

Automatic domain randomization widens a row while the policy succeeds at its ends and narrows it where the policy fails.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from twinloop.diagnose.bank import Simulate
from twinloop.diagnose.counterfactuals import CounterfactualJob, simulate_counterfactuals
from twinloop.diagnose.findings import as_distribution
from twinloop.diagnose.hypothesis import NOTHING, ends_of, rows_of
from twinloop.diagnose.hypothesis_set import chunks_of, scene_features
from twinloop.diagnose.plan import range_of
from twinloop.diagnose.report import PROBABLE, GapReport, RowEstimate
from twinloop.durable import replace_file, storage_errors
from twinloop.learn.candidate import candidate_of
from twinloop.learn.chunks import ActingConfig
from twinloop.randomize.distribution import Choice, Constant, Distribution, Truncated, Uniform
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig, config_from_text, inapplicable_rows
from twinloop.run.randomization import ordered_rows

SUSPECTED = 0.3
"""Gaps from this probability on are covered, because simulated episodes cost little."""
WIDEN_ABOVE, NARROW_BELOW = 0.8, 0.5  # success rates
STEP = 0.25  # share of a row's sensible range, per round
ROOM = 1.3
EPISODES, SEED = 24, 3_000_001  # of a row in automatic domain randomization
INTERVAL_STDS = 3.29
"""Width of a 90 % interval of a normal distribution, in standard deviations."""
MIN_SHARE = 1e-3
"""Smallest width of an estimated range, as a share of the row's sensible range."""


def widen_by_diagnosis(config: RunConfig, report: GapReport, *, calibrated: frozenset[str] = frozenset()) -> RunConfig:
    """Return `config` with distributions around estimated rows, and wider ranges for other rows of suspected gaps.

    Args:
        calibrated: rows that keep the ranges of the config, because they were fitted to logs.
    """
    inapplicable, features = {*inapplicable_rows(config.scene.world), *calibrated}, scene_features(config)
    ranges = dict(config.randomization)
    for finding in report.findings:
        likely = max(finding.probability, finding.differs)
        if likely < SUSPECTED:
            continue
        reach = min(max(ROOM * finding.magnitude, 0.4), 1.3)
        for row in rows_of(finding.gap, **features):
            if row.realistic and row.name not in inapplicable:
                ranges[row.name] = wider(ranges.get(row.name), _reaching(row, reach))
        for wrong in finding.rows:
            row = BY_NAME[wrong.row]
            if row.name in calibrated:
                continue
            if row.chance is None and not row.words and not row.pool:
                name = f"{row.name}.{wrong.element}" if wrong.element else row.name
                before = ranges.get(name, config.randomization.get(row.name) if wrong.element else None)
                ranges[name] = _estimated_range(wrong, before, sure=likely >= PROBABLE)
            elif row.chance is not None:
                ranges[row.name] = as_distribution(wrong)
    return replace(config, randomization=ordered_rows(ranges))


def _estimated_range(wrong: RowEstimate, before: Distribution | None, *, sure: bool) -> Distribution:
    """New distribution of an estimated row.

    If the robot probably differs in this gap, it is a normal distribution around the estimate, with the width of its
    interval. A uniform one over the interval would draw most episodes far from the estimate, and a policy that reads
    single observations cannot tell, for example, a long delay from a short one, so that it learns a compromise.
    Otherwise, and for rows that differ from episode to episode, the range includes the estimate and the nominal value,
    and also the previous range if the row was varied in training.
    """
    proposed, row = range_of(wrong), BY_NAME[wrong.row]
    if proposed.high - proposed.low <= MIN_SHARE * abs(row.sensible[1] - row.sensible[0]):
        return before or Constant(row.nominal)  # a range without width is not an estimate
    if sure and not wrong.spread:
        low, high = max(wrong.interval[0], row.plausible[0]), min(wrong.interval[1], row.plausible[1])
        return Truncated(wrong.value, (high - low) / INTERVAL_STDS, low, high)
    if sure and proposed.change == "narrower":
        return Uniform(proposed.low, proposed.high)
    around = Uniform(min(proposed.low, row.nominal), max(proposed.high, row.nominal))
    return around if wrong.trained is None else wider(before, around)


SuccessAt = Callable[[str, Distribution], float]
"""Success rate of the policy in the twin with one row drawn from a given distribution."""


def success_in_twin(config: RunConfig, simulate: Simulate, *, episodes: int) -> SuccessAt:
    """A `SuccessAt` from simulations at the ends of all ranges of `config`, those that share a model together."""
    ends = {row.name: _ends(config.randomization[row.name]) for row in _numeric_rows(config)}
    hypotheses = [replace(NOTHING, ranges={name: distribution}) for name, distribution in ends.items()]
    rates: dict[str, float] = {}
    for _, cells in simulate(chunks_of(hypotheses, episodes=episodes)):
        rates |= {next(iter(cell.hypothesis.ranges)): cell.success for cell in cells}

    def success_at(name: str, distribution: Distribution) -> float:
        assert distribution == ends[name]
        return rates[name]

    return success_at


def widen_by_success(config: RunConfig, policy: Path) -> tuple[RunConfig, dict[str, float]]:
    """`config` after a step of automatic domain randomization with the checkpoint `policy`, and success by row."""
    candidate = candidate_of(policy)
    job = CounterfactualJob(config.to_yaml(), str(Path.cwd()), candidate.load, ActingConfig(), EPISODES, SEED)
    rates: dict[str, float] = {}
    success_at = success_in_twin(config, partial(simulate_counterfactuals, job), episodes=EPISODES)
    return automatic_domain_randomization(config, success_at, on_row=rates.__setitem__), rates


def widened_in(folder: Path, config: RunConfig, *, on_activity: Callable[[str], None]) -> RunConfig:
    """`widen_by_success` with `folder`/policy. Its result is stored in `folder` and read from there the next time."""
    file = folder / "widened.yaml"
    if not file.exists():
        on_activity("widening")
        wider, rates = widen_by_success(config, folder / "policy")
        with storage_errors(folder):
            replace_file(folder / "widened.json", json.dumps(rates, indent=1).encode(), scratch=folder)
            replace_file(file, wider.to_yaml().encode(), scratch=folder)
    return config_from_text(file.read_text(encoding="utf-8"), name=str(file), folder=folder)


def automatic_domain_randomization(
    config: RunConfig, success_at: SuccessAt, *, on_row: Callable[[str, float], None]
) -> RunConfig:
    """Return `config` with each numeric range widened or narrowed by one step.

    Each row is evaluated at the two ends of its range. The range is widened if success is at least `WIDEN_ABOVE`,
    narrowed if it is below `NARROW_BELOW`, and kept otherwise.

    Args:
        success_at: success rate of the policy in the twin with one row drawn from a given distribution.
        on_row: called with (row name, success rate) after each row.
    """
    ranges = dict(config.randomization)
    for row in _numeric_rows(config):
        low, high = ranges[row.name].support()
        success = success_at(row.name, _ends(ranges[row.name]))
        on_row(row.name, success)
        step = STEP if success >= WIDEN_ABOVE else -STEP if success < NARROW_BELOW else 0.0
        ranges[row.name] = _stepped(row, low, high, step)
    return replace(config, randomization=ordered_rows(ranges))


def _numeric_rows(config: RunConfig) -> list[Parameter]:
    """The rows that can be widened. Rows of one thing, joint or element keep their ranges."""
    return [
        BY_NAME[name]
        for name, distribution in config.randomization.items()
        if name in BY_NAME and _is_numeric(BY_NAME[name], distribution)
    ]


def _ends(distribution: Distribution) -> Distribution:
    """The two ends of a range, each in half of the episodes."""
    low, high = distribution.support()
    return Choice((low, high), (0.5, 0.5)) if low < high else Constant(low)


def _is_numeric(row: Parameter, distribution: Distribution) -> bool:
    return row.chance is None and not row.pool and not row.words and isinstance(distribution, (Uniform, Constant))


def _stepped(row: Parameter, low: float, high: float, step: float) -> Distribution:
    first, last = row.sensible
    ends = ends_of(row)
    low = float(np.clip(low + step * (first - row.nominal), ends[0], max(row.nominal, ends[0])))
    high = float(np.clip(high + step * (last - row.nominal), min(row.nominal, ends[1]), ends[1]))
    return Uniform(low, high) if low < high else Constant(low)


def _reaching(row: Parameter, reach: float) -> Distribution:
    low, high = row.sensible
    if row.chance is not None:
        share = min(max(row.chance, 0.6 * reach), 0.9)
        return Choice((0.0, 1.0), (1 - share, share))
    share = min(reach, row.reach)
    if row.needs or row.unit in ("things", "lights"):
        return Uniform(low, high)
    ends = (row.nominal + share * (low - row.nominal), row.nominal + share * (high - row.nominal))
    return Uniform(max(min(ends), row.plausible[0]), min(max(ends), row.plausible[1]))


def wider(before: Distribution | None, other: Distribution) -> Distribution:
    """Union of two numeric ranges; `other` if either is not a numeric range."""
    if before is None or not isinstance(before, (Uniform, Constant)) or not isinstance(other, (Uniform, Constant)):
        return other
    (a, b), (c, d) = before.support(), other.support()
    return Uniform(min(a, c), max(b, d)) if min(a, c) < max(b, d) else Constant(a)
