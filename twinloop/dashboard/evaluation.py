"""The page of an evaluation: how often the policy succeeds, where it fails, and what success depends on."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.curate.verdict import TASK_FAILED, current_verdict
from twinloop.dashboard.charts import Layer, histogram, rate_bars
from twinloop.dashboard.charts.rates import rate_text
from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.labels import reason_label
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.report_sections.success import success_by_parameter_context
from twinloop.dashboard.vega import GREEN, Chart
from twinloop.gate import Comparison, Evaluation

REPORT = "report.html"
MAX_FAILURES = 50
BINS = 30


def write_evaluation_report(
    evaluation: Evaluation,
    folder: Path,
    *,
    comparison: Comparison | None = None,
    clips: Mapping[int, Path] | None = None,
) -> Path:
    return write_page(folder / REPORT, render_evaluation(evaluation, comparison=comparison, clips=clips))


def render_evaluation(
    evaluation: Evaluation, *, comparison: Comparison | None = None, clips: Mapping[int, Path] | None = None
) -> str:
    """clips: attempt -> video file, embedded in the page so that the page can be sent alone."""
    subject, success = evaluation.subject, evaluation.success
    by_parameter = success_by_parameter_context(evaluation.parameters)
    compared = _paired(comparison) if comparison else None
    phases = [*((phase.name, phase.rate) for phase in evaluation.phases), ("task", success)]
    return render_page(
        "evaluation.html",
        title=f"{subject.checkpoint} · twinloop",
        heading=subject.checkpoint,
        lead=" · ".join([f"{subject.policy} policy", subject.robot, f"“{subject.task}”", subject.config_name]),
        tiles=_tiles(evaluation),
        findings=[*([compared["finding"]] if compared else []), *_phase_finding(evaluation), *by_parameter["findings"]],
        media=("films",) if clips else (),
        paired=compared,
        phases=rate_bars(phases, "success by phase"),
        success=by_parameter,
        times=_completion_times(evaluation),
        quantiles=", ".join(
            f"{percent(share)} within {number(value)} s" for share, value in evaluation.completion_s.items()
        ),
        failures=_failure_rows(evaluation),
        failed=success.trials - success.successes,
        clips=[(attempt, base64.b64encode(path.read_bytes()).decode()) for attempt, path in (clips or {}).items()],
        provenance=[
            ("checkpoint", f"{subject.checkpoint} · {subject.checkpoint_digest}"),
            ("config", f"{subject.config_name} · {subject.config_digest}"),
            ("seed", str(subject.seed)),
            ("action chunks", "executed as they come" if subject.ensemble is None
             else f"averaged with weight exp(−{subject.ensemble:g} · age)"),
            ("versions", ", ".join(f"{name} {version}" for name, version in subject.versions.items())),
        ],
    )  # fmt: skip


def difference_text(comparison: Comparison) -> str:
    """`+4.0 points (+1.2 to +7.1), p 0.003`"""
    low, high = comparison.interval
    points = f"{100 * comparison.difference:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{points}, p {number(comparison.p_value)}"


def _tiles(evaluation: Evaluation) -> list[tuple[str, str]]:
    success = evaluation.success
    low, high = success.interval
    median = evaluation.completion_s.get(0.5)
    violations = sum(count for reason, count in evaluation.violations.items() if current_verdict(reason) != TASK_FAILED)
    failed = success.trials - success.successes
    return [
        (percent(success.value), f"success (95 % interval {percent(low)} to {percent(high)})"),
        (f"{success.trials:,}", f"episodes of seed {evaluation.subject.seed}, {failed:,} failed"),
        ("–" if median is None else f"{number(median)} s", "median time to completion"),
        (f"{violations:,}", "episodes beyond a plausibility or safety limit"),
    ]


def _paired(comparison: Comparison) -> dict[str, Any]:
    ours, theirs = comparison.ours.checkpoint, comparison.theirs.checkpoint
    if ours == theirs:
        ours, theirs = (
            f"{side.checkpoint} ({side.checkpoint_digest[:8]})" for side in (comparison.ours, comparison.theirs)
        )
    both, only_ours, only_theirs, neither = (
        comparison.both, comparison.only_ours, comparison.only_theirs, comparison.neither
    )  # fmt: skip
    better = "better" if comparison.difference > 0 else "worse"
    finding = (
        f"{ours} is {better} than {theirs} on the same {comparison.trials:,} draws: {difference_text(comparison)}."
        if comparison.p_value < 0.05
        else f"{comparison.trials:,} draws show no difference between {ours} and {theirs}: "
        f"{difference_text(comparison)}."
    )
    faster = ""
    if np.isfinite(comparison.faster_s):
        direction = "sooner" if comparison.faster_s >= 0 else "later"
        faster = f"Where both succeed, {ours} is done {number(abs(comparison.faster_s))} s {direction} (median)."
    return {
        "head": ("", f"{theirs} succeeds", f"{theirs} fails", "success"),
        "rows": [
            (f"{ours} succeeds", f"{both:,}", f"{only_ours:,}", rate_text(comparison.our_success)),
            (f"{ours} fails", f"{only_theirs:,}", f"{neither:,}", ""),
            ("all", f"{both + only_theirs:,}", f"{only_ours + neither:,}", ""),
        ],
        "theirs": f"{theirs} succeeds in {rate_text(comparison.their_success)}.",
        "faster": faster,
        "finding": finding,
    }


def _phase_finding(evaluation: Evaluation) -> list[str]:
    worst = min((phase for phase in evaluation.phases if phase.rate.trials), key=lambda phase: phase.rate.value)
    lost = worst.rate.trials - worst.rate.successes
    return (
        [f"Most failures occur in {worst.name}: {lost:,} of the {worst.rate.trials:,} episodes that reach it."]
        if lost
        else []
    )


def _completion_times(evaluation: Evaluation) -> Chart | None:
    seconds = evaluation.outcomes.completion_s[evaluation.outcomes.success]
    if not len(seconds):
        return None
    edges = np.linspace(float(seconds.min()) - 0.02, float(seconds.max()) + 0.02, BINS + 1)
    layer = Layer("successes", np.histogram(seconds, edges)[0], GREEN)
    return histogram(edges, [layer], "time to completion (s)", "time to completion")


def _failure_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    outcomes = evaluation.outcomes
    failed = outcomes.take(~outcomes.success)
    digest, seed = evaluation.subject.config_digest, evaluation.subject.seed
    return [
        (
            f"{failed.attempt[row]:,}", failed.last_phase[row], failed.failure[row].replace("_", " "),
            reason_label(str(failed.verdict[row])), f"{failed.duration_s[row]:.2f}",
            f"{digest[:12]} · {seed} · {failed.attempt[row]}",
        )
        for row in range(min(len(failed), MAX_FAILURES))
    ]  # fmt: skip
