"""The diagnosis itself: robot episodes are compared with the bank of counterfactuals, and a GapReport is made.

Nothing here runs a simulation. `simulate_explanation` gets the simulator as an argument.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.dataset import Dataset
from twinloop.dataset.real_episodes import RealEpisodes
from twinloop.diagnose.bank import Bank, Simulate
from twinloop.diagnose.conditions import condition_tests
from twinloop.diagnose.findings import as_distribution, evidence_of, finding_of
from twinloop.diagnose.hypothesis import Hypothesis
from twinloop.diagnose.posterior import GapPosterior, gap_posterior
from twinloop.diagnose.report import GapReport, Unmodelled
from twinloop.diagnose.robot_episodes import last_phases
from twinloop.diagnose.summary import summarise
from twinloop.diagnose.traits import TRAITS, EpisodeTrace, measure_traits
from twinloop.randomize.distribution import Constant, Distribution
from twinloop.randomize.parameter import Gap
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig

MAX_SURPRISE = 3.0
"""Remaining squared deviations per trait above which something is unmodelled."""
EPISODES_TO_LOOK_AT = 8


def gap_report(
    real: RealEpisodes,
    traces: Sequence[EpisodeTrace],
    datasets: Sequence[Dataset],
    bank: Bank,
    config: RunConfig,
    *,
    subject: Mapping[str, Any],
) -> GapReport:
    """Compare the robot's episodes with the bank.

    Args:
        real, traces: outcomes and frames of the same episodes.
        datasets: the runlogs, in the order of `real.log`.
        config: the config of the twin; its ranges are those that the policy was trained on.
        subject: what was diagnosed, for the report.
    """
    traits = measure_traits(traces)
    summary, reference = summarise(traits), summarise(bank.reference.traits)
    posterior = gap_posterior(bank, summary)
    success = Rate(int(real.managed.sum()), len(real))
    trained = {name: distribution.support() for name, distribution in config.randomization.items()}
    findings = tuple(finding_of(gap, posterior, summary, reference, trained) for gap in posterior.ranked)
    lost = 100 * (bank.reference.success - success.value)
    explained = sum(finding.points for finding in findings)
    unmodelled = posterior.surprise > MAX_SURPRISE
    strange = [
        evidence for evidence in evidence_of(posterior.left, summary, reference) if evidence.trait in posterior.strange
    ]
    conditions = dict(real.conditions)
    if len(set(real.robot_id.tolist())) > 1:
        conditions["robot"] = real.robot_id
    ended = last_phases(datasets, real)
    return GapReport(
        subject=subject,
        episodes=len(real),
        success=success.value,
        success_interval=success.interval,
        twin_success=bank.reference.success,
        nothing=posterior.nothing,
        findings=findings,
        unmodelled=Unmodelled(
            points=max(0.0, lost - explained),
            strange=tuple(strange) if unmodelled else (),
            episodes=_to_look_at(real, datasets, traits, posterior) if unmodelled else (),
            surprise=posterior.surprise,
            present=unmodelled,
        ),
        looks=tuple(test.to_json() for test in condition_tests(conditions, real.managed)),
        phases=tuple(
            {"phase": name, "failures": int(((ended == name) & ~real.managed).sum())}
            for name in config.scene.world.phase_names
        ),
        failures={str(name): int((real.failure == name).sum()) for name in sorted(set(real.failure) - {""})},
    )


def _to_look_at(
    real: RealEpisodes, datasets: Sequence[Dataset], traits: np.ndarray, posterior: GapPosterior
) -> tuple[tuple[str, int], ...]:
    """(log, attempt) of failures whose strange traits are most extreme; of all episodes if none failed."""
    names = {name.removesuffix(" (spread)") for name in posterior.strange}
    columns = [column for column, trait in enumerate(TRAITS) if trait.name in names]
    failed = np.flatnonzero(~real.managed)
    rows = failed if len(failed) else np.arange(len(real))
    if columns:
        values = np.column_stack([TRAITS[column].scaled(traits[:, column]) for column in columns])
        offsets = np.abs(values - np.nanmedian(values, axis=0))
        extremeness = np.nan_to_num(offsets / (np.nanmedian(offsets, axis=0) + 1e-9)).max(axis=1)
        rows = rows[np.argsort(-extremeness[rows], kind="stable")]
    return tuple((str(datasets[int(real.log[row])].path), int(real.attempt[row])) for row in rows[:EPISODES_TO_LOOK_AT])


def simulate_explanation(report: GapReport, simulate: Simulate) -> GapReport:
    """Add what the twin predicts: its success with all open gaps, and the points won by closing each of them."""
    by_gap: dict[Gap, Mapping[str, Distribution]] = {
        finding.gap: {row.row: as_distribution(row) for row in finding.rows} for finding in report.open
    }
    everything = {name: distribution for rows in by_gap.values() for name, distribution in rows.items()}
    if not everything:
        return report
    cells = [everything]
    for rows in by_gap.values():
        closed = {name: Constant(BY_NAME[name].nominal) for name in rows}
        cells.append({name: closed.get(name, distribution) for name, distribution in everything.items()})
    hypotheses = tuple(Hypothesis(None, 0.0, ranges, {}) for ranges in cells)
    ((_, simulated),) = simulate([(0, hypotheses)])
    predicted, *rates = [cell.success for cell in simulated]
    won = {gap: 100 * (rate - predicted) for gap, rate in zip(by_gap, rates, strict=True)}
    findings = tuple(replace(finding, closing=won.get(finding.gap)) for finding in report.findings)
    return replace(report, findings=findings, predicted=predicted)
