"""The diagnosis itself: robot episodes are compared with the bank of counterfactuals, and a GapReport is made.

Simulators are passed in as arguments. `simulate_explanation` uses one to check the result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.dataset import Dataset
from twinloop.dataset.real_episodes import RealEpisodes
from twinloop.diagnose.bank import Simulate
from twinloop.diagnose.causes import Cause, hypothesis_of
from twinloop.diagnose.conditions import condition_tests
from twinloop.diagnose.costs import COLUMNS, Costs, costs_of
from twinloop.diagnose.emulator import SMALL, Emulator
from twinloop.diagnose.engine_spread import EngineSpread, engine_spread
from twinloop.diagnose.events import events_of
from twinloop.diagnose.explanations import Explanations, Observed
from twinloop.diagnose.findings import PosteriorSamples, evidence_of, finding_of
from twinloop.diagnose.hypothesis_set import chunk_of
from twinloop.diagnose.interval_scale import IntervalScale, interval_scale
from twinloop.diagnose.predictive import PredictiveCheck, check_explanation
from twinloop.diagnose.report import COSTLY_POINTS, PROBABLE, GapReport, Unmodelled
from twinloop.diagnose.robot_episodes import last_phases
from twinloop.diagnose.sampler import explanations_of
from twinloop.diagnose.small_errors import shared_errors, small_errors
from twinloop.diagnose.summary import ENTRIES, RESOLUTIONS, SUCCESS, TraitSummary, summarise
from twinloop.randomize.parameter import GAPS, Gap
from twinloop.run.config import RunConfig
from twinloop.run.mobile import MobileConfig

LOST = 0.05
"""Loss of success (a share) that must be probable before something unmodelled is named."""
SURELY_LOST = 0.8
MAX_MISFIT_P, MIN_SUCCESS_P = 0.05, 0.005
"""p-values of the predictive check below which a probable unmodelled effect is named, and any at all."""
EPISODES_TO_LOOK_AT = 8
MAX_CLOSED = 3  # gaps that are closed one at a time in the simulated check


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis before it is written as a report.

    Attributes:
        robot: summary of the log.
        traits: (episodes, traits) of the log, for the commands of the bank.
        engines: (entries,) variance between engines at the scale of this robot.
        freedom: its degrees of freedom, of a typical entry.
        check: the simulated check of the best explanation; None before it.
        closing: gap -> points won in the twin when it alone is closed.
    """

    emulator: Emulator
    traits: np.ndarray
    robot: TraitSummary
    engines: np.ndarray
    freedom: float
    observed: Observed
    explanations: Explanations
    costs: Costs
    check: PredictiveCheck | None
    closing: Mapping[Gap, float]

    @property
    def success(self) -> Rate:
        return Rate(self.observed.successes, self.observed.episodes)


def diagnose_traits(
    traits: np.ndarray,
    emulator: Emulator,
    *,
    seed: int,
    spread: EngineSpread | None = None,
    robot: str | None = None,
    arm_weight_n: float | None = None,
    tolerance: float | None = None,
) -> Diagnosis:
    """Diagnose the (episodes, traits) of a log.

    Args:
        emulator: of the bank of the policy that the log is of.
        spread: that between engines; the stored one for `robot` if None.
        robot: name of the twin's robot.
        arm_weight_n: weight of the arm, to which the spread of forces is scaled; None if it is that of `spread`.
        tolerance: size up to which every row of a robot may be wrong without being a finding; None for a share of
            what usual errors change (`SMALL`).
    """
    spread = spread or engine_spread(robot)
    spread = spread if arm_weight_n is None else spread.for_arm(arm_weight_n)
    if tolerance is not None:
        # A robot falls in some scenes and not in others, so a few simulated episodes tell little of the log's success.
        emulator = replace(emulator, concentration=min(emulator.concentration, emulator.cell_episodes))
    traits = emulator.adjusted(traits)
    log, twin = summarise(traits), emulator.reference
    between = spread.variance(np.fmax(log.between, twin.between))
    small = SMALL * emulator.typical if tolerance is None else small_errors(emulator, tolerance)
    engines = between + np.square(small) + np.square(RESOLUTIONS)
    observed = Observed(
        difference=log.values - twin.values,
        variance=log.variances + twin.variances + engines,
        engines=between,
        freedom=_freedom(log, twin, engines, spread.freedom),
        events=events_of(traits),
        shared=None if tolerance is None else shared_errors(emulator, log, tolerance),
    )
    explanations = explanations_of(emulator, observed, seed=seed)
    costs = costs_of(explanations, emulator, observed.events, _twin_rate(emulator), seed=seed)
    engines = engines + (explanations.engine_scale**2 - 1) * between
    freedom = float(np.median(spread.freedom[observed.known]))
    return Diagnosis(emulator, traits, log, engines, freedom, observed, explanations, costs, None, {})


def simulate_explanation(diagnosis: Diagnosis, simulate: Simulate, *, seed: int) -> Diagnosis:
    """Simulate the best explanation, compare it with the log, and close its costliest gaps one at a time."""
    emulator, explanations = diagnosis.emulator, diagnosis.explanations
    best = explanations.best
    ((_, (explained,)),) = simulate([chunk_of(hypothesis_of(_parts(emulator, best)))])
    check = check_explanation(
        diagnosis.traits, emulator.adjusted(explained.traits), best, explanations, emulator, diagnosis.engines,
        freedom=diagnosis.freedom, seed=seed,
    )  # fmt: skip
    _, share = emulator.at(best)
    reproduced = _reproduced(emulator.usual_success * (1 - share), emulator.usual_success - explained.success)
    events, twin = diagnosis.observed.events, _twin_rate(emulator)
    costs = costs_of(explanations, emulator, events, twin, seed=seed, reproduced=reproduced)
    checked = replace(diagnosis, costs=costs, check=check)
    return replace(checked, closing=_closing(checked, _parts(emulator, best), explained.success, simulate))


def _closing(
    diagnosis: Diagnosis, parts: Sequence[tuple[Cause, float]], success: float, simulate: Simulate
) -> dict[Gap, float]:
    """Gap -> points won when it is closed in the explanation that consists of `parts` and has this success."""
    cost: dict[Gap, float] = dict(zip(GAPS, diagnosis.costs.mean.tolist(), strict=False))
    open_: list[Gap] = [gap for gap in GAPS if any(cause.gap == gap for cause, _ in parts)]
    closed = sorted(open_, key=lambda gap: -cost[gap])[:MAX_CLOSED]
    if not closed:
        return {}
    without = [hypothesis_of([part for part in parts if part[0].gap != gap]) for gap in closed]
    ((_, cells),) = simulate([chunk_of(*without)])
    return {gap: 100 * (cell.success - success) for gap, cell in zip(closed, cells, strict=True)}


def _parts(emulator: Emulator, sizes: np.ndarray) -> list[tuple[Cause, float]]:
    return [(cause, float(size)) for cause, size in zip(emulator.causes, sizes, strict=True) if size > 0]


def _freedom(robot: TraitSummary, twin: TraitSummary, engines: np.ndarray, of_engines: np.ndarray) -> np.ndarray:
    """(entries,) degrees of freedom of the sum of variances (Welch and Satterthwaite).

    Few engines are known, so an entry in which they differ much may differ more. An entry with little engine spread,
    such as a recorded condition, has only the sampling error.
    """
    parts = (robot.variances, robot.episodes - 1.0), (twin.variances, twin.episodes - 1.0), (engines, of_engines)
    total = sum(variance for variance, _ in parts)
    squares = sum(np.square(variance) / freedom for variance, freedom in parts)
    return np.square(total) / np.maximum(squares, 1e-300)


def _reproduced(emulated: float, simulated: float) -> float:
    """The share of the emulated loss that the simulated explanation really has."""
    return 1.0 if emulated < LOST else float(np.clip(simulated / emulated, 0.0, 1.5))


def _twin_rate(emulator: Emulator) -> Rate:
    episodes = emulator.reference.episodes
    return Rate(round(float(emulator.reference.values[SUCCESS]) * episodes), episodes)


def posterior_of(diagnosis: Diagnosis, config: RunConfig, *, scale: IntervalScale | None = None) -> PosteriorSamples:
    """The posterior samples from which the findings of a diagnosis are computed.

    Args:
        config: the config of the twin; its ranges are those that the policy was trained on.
        scale: of the intervals of rows; the stored one if None.
    """
    return PosteriorSamples(
        emulator=diagnosis.emulator,
        explanations=diagnosis.explanations,
        costs=diagnosis.costs,
        robot=diagnosis.robot,
        deviations=diagnosis.observed.difference / np.sqrt(diagnosis.observed.variance),
        trained={name: distribution.support() for name, distribution in config.randomization.items()},
        scale=scale or interval_scale(),
    )


def gap_report(
    diagnosis: Diagnosis,
    real: RealEpisodes,
    datasets: Sequence[Dataset],
    config: RunConfig,
    *,
    subject: Mapping[str, Any],
) -> GapReport:
    """Write a diagnosis as a report.

    Args:
        real: outcomes of the episodes of the log.
        datasets: the runlogs, in the order of `real.log`.
        config: the config of the twin.
        subject: what was diagnosed, for the report.
    """
    posterior = posterior_of(diagnosis, config)
    findings = tuple(replace(finding_of(gap, posterior), closing=diagnosis.closing.get(gap)) for gap in GAPS)
    conditions = dict(real.conditions)
    if len(set(real.robot_id.tolist())) > 1:
        conditions["robot"] = real.robot_id
    ended = last_phases(datasets, real)
    costly = diagnosis.costs.samples[:, : len(GAPS)] > COSTLY_POINTS / 100
    return GapReport(
        subject=subject,
        episodes=len(real),
        success=diagnosis.success.value,
        success_interval=diagnosis.success.interval,
        twin_success=_twin_rate(diagnosis.emulator).value,
        nothing=float((~costly.any(axis=1)).mean()),
        findings=findings,
        unmodelled=_unmodelled(diagnosis, real, datasets),
        looks=tuple(test.to_json() for test in condition_tests(conditions, real.managed)),
        phases=tuple(
            {"phase": name, "failures": int(((ended == name) & ~real.managed).sum())}
            for name in (() if isinstance(config, MobileConfig) else config.scene.world.phase_names)
        ),
        failures={str(name): int((real.failure == name).sum()) for name in sorted(set(real.failure) - {""})},
        predicted=None if diagnosis.check is None else diagnosis.check.success,
        engine_scale=diagnosis.explanations.engine_scale,
    )


def is_unmodelled(diagnosis: Diagnosis) -> bool:
    """Whether something unmodelled is named.

    Success was lost, something unmodelled is probable, and the simulated explanation does not reproduce the log in its
    traits or its successes. Or the explanation fails far less than the robot.
    """
    lost = float((diagnosis.costs.samples.sum(axis=1) > LOST).mean()) > SURELY_LOST
    check = diagnosis.check
    probable = bool(diagnosis.explanations.unmodelled.mean() >= PROBABLE)
    if check is None:
        return lost and probable
    misfit = min(check.p_value, check.success_p_value) < MAX_MISFIT_P
    fails_more = check.success_p_value < MIN_SUCCESS_P and bool(diagnosis.costs.mean[-1] > LOST)
    return lost and ((probable and misfit) or fails_more)


def _unmodelled(diagnosis: Diagnosis, real: RealEpisodes, datasets: Sequence[Dataset]) -> Unmodelled:
    present, check = is_unmodelled(diagnosis), diagnosis.check
    column = COLUMNS.index("unmodelled")
    low, high = diagnosis.costs.interval(column)
    strange = check.strange if check is not None else np.zeros(len(ENTRIES), bool)
    evidence = [] if check is None else [
        item for item in evidence_of(check.deviations, diagnosis.robot, diagnosis.emulator.reference)
        if strange[[entry.name for entry in ENTRIES].index(item.trait)]
    ]  # fmt: skip
    return Unmodelled(
        points=100 * float(diagnosis.costs.mean[column]),
        interval=(100 * low, 100 * high),
        strange=tuple(evidence),
        episodes=_to_look_at(diagnosis.traits, strange, real, datasets) if present else (),
        probability=float(diagnosis.explanations.unmodelled.mean()),
        p_value=None if check is None else check.p_value,
        success_p_value=None if check is None else check.success_p_value,
        present=present,
    )


def _to_look_at(
    traits: np.ndarray, strange: np.ndarray, real: RealEpisodes, datasets: Sequence[Dataset]
) -> tuple[tuple[str, int], ...]:
    """(log, attempt) of failures whose strange traits are most extreme; of all episodes if none failed."""
    entries = [ENTRIES[place] for place in np.flatnonzero(strange)]
    failed = np.flatnonzero(~real.managed)
    rows = failed if len(failed) else np.arange(len(real))
    if entries:
        values = np.column_stack([entry.about.scaled(traits[:, entry.trait]) for entry in entries])
        offsets = np.abs(values - np.nanmedian(values, axis=0))
        extremeness = np.nan_to_num(offsets / (np.nanmedian(offsets, axis=0) + 1e-9)).max(axis=1)
        rows = rows[np.argsort(-extremeness[rows], kind="stable")]
    return tuple((str(datasets[int(real.log[row])].path), int(real.attempt[row])) for row in rows[:EPISODES_TO_LOOK_AT])
