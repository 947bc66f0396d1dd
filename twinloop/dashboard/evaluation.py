"""The page of an evaluation: how often the policy succeeds, where it fails, and what that depends on."""

import base64
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.curate.verdict import TASK_FAILED, current_verdict
from twinloop.dashboard.charts import Layer, histogram, rate_bars
from twinloop.dashboard.labels import reason_label
from twinloop.dashboard.page import PageSection, card, cards, facts, page, table, text, write_page
from twinloop.dashboard.sections.success import MOST_COLUMNS, fall_sentence, rate_card
from twinloop.dashboard.svg import number, percent, safe
from twinloop.gate import Comparison, Evaluation

REPORT = "report.html"
MOST_FAILURES = 50
MOST_FINDINGS = 3
BINS = 30


def write_evaluation_report(
    evaluation: Evaluation,
    folder: Path,
    *,
    comparison: Comparison | None = None,
    clips: Mapping[int, Path] | None = None,
) -> Path:
    return write_page(folder / REPORT, render_evaluation(evaluation, comparison=comparison, clips=clips or {}))


def render_evaluation(
    evaluation: Evaluation, *, comparison: Comparison | None = None, clips: Mapping[int, Path] | None = None
) -> str:
    clips = clips or {}
    sections = [
        *([_paired(comparison)] if comparison else []),
        _phases(evaluation),
        _parameters(evaluation),
        _times(evaluation),
        _failures(evaluation, clips),
        _provenance(evaluation),
    ]
    body = "".join(section.html() for section in sections)
    foot = "<footer>Made by twinloop from this folder. Point at any mark of a chart for its numbers.</footer>"
    title = f"{evaluation.subject.checkpoint} · twinloop"
    return page(title, _headline(evaluation, sections) + body + foot, films=bool(clips))


def rate_text(rate: Rate) -> str:
    """`95.2 % (91.3 % to 97.4 %)`"""
    low, high = rate.interval
    return f"{percent(rate.value)} ({percent(low)} to {percent(high)})"


def difference_text(comparison: Comparison) -> str:
    """`+4.0 points (+1.2 to +7.1), p 0.003`"""
    low, high = comparison.interval
    points = f"{100 * comparison.difference:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{points}, p {number(comparison.p_value)}"


def _headline(evaluation: Evaluation, sections: list[PageSection]) -> str:
    subject, success = evaluation.subject, evaluation.success
    lead = " · ".join([f"{subject.policy} policy", subject.robot, f"“{subject.task}”", subject.config_name])
    links = "".join(f'<a href="#{section.anchor}">{safe(section.title)}</a>' for section in sections)
    median = evaluation.completion_s.get(0.5)
    harm = sum(count for reason, count in evaluation.violations.items() if current_verdict(reason) != TASK_FAILED)
    low, high = success.interval
    tiles = [
        (percent(success.value), f"success (95 % interval {percent(low)} to {percent(high)})"),
        (f"{success.trials:,}", f"episodes of seed {subject.seed}, {success.trials - success.successes:,} failed"),
        ("–" if median is None else f"{number(median)} s", "median time to completion"),
        (f"{harm:,}", "episodes beyond a limit of what is plausible or safe"),
    ]
    inner = "".join(f'<div class="tile"><b>{safe(value)}</b><span>{safe(what)}</span></div>' for value, what in tiles)
    findings = [finding for section in sections for finding in section.findings]
    listed = "".join(f"<li>{safe(finding)}</li>" for finding in findings)
    note = f'<div class="note"><b>What stands out</b><ul>{listed}</ul></div>' if findings else ""
    return (
        f'<header><h1>{safe(subject.checkpoint)}</h1><p class="lead">{safe(lead)}</p></header>'
        f'<nav>{links}</nav><div class="tiles">{inner}</div>{note}'
    )


def _paired(found: Comparison) -> PageSection:
    ours, theirs = found.ours.checkpoint, found.theirs.checkpoint
    if ours == theirs:
        ours, theirs = (f"{each.checkpoint} ({each.checkpoint_digest[:8]})" for each in (found.ours, found.theirs))
    rows = [
        (f"{ours} succeeds", f"{found.both:,}", f"{found.only_ours:,}", rate_text(found.our_success)),
        (f"{ours} fails", f"{found.only_theirs:,}", f"{found.neither:,}", ""),
        ("all", f"{found.both + found.only_theirs:,}", f"{found.only_ours + found.neither:,}", ""),
    ]
    counts = table(("", f"{theirs} succeeds", f"{theirs} fails", "success"), rows, numbers=(1, 2))
    clear = found.p_value < 0.05
    better = "better" if found.difference > 0 else "worse"
    said = (
        f"{ours} is {better} than {theirs} on the same {found.trials:,} draws: {difference_text(found)}."
        if clear
        else f"No difference between {ours} and {theirs} is shown by {found.trials:,} draws: {difference_text(found)}."
    )
    test = text(
        f"{theirs} succeeds in {rate_text(found.their_success)}. Only episodes that one of the two managed tell them "
        "apart; p is McNemar's exact test of how these are split, the interval of the difference is Newcombe's."
    )
    if np.isfinite(found.faster_s):
        word = "sooner" if found.faster_s >= 0 else "later"
        test += text(f"Where both succeed, {ours} is done {number(abs(found.faster_s))} s {word} (median).")
    return PageSection("paired", "Against another policy", f'<div class="card">{counts}{test}</div>', (said,))


def _phases(evaluation: Evaluation) -> PageSection:
    rows = [*((each.name, each.rate) for each in evaluation.phases), ("task", evaluation.success)]
    said = (
        "Each bar: of the episodes that reached a phase, the share that completed it, and its 95 % interval. Phases "
        "are read off what has come about, not off what was commanded; who succeeds has completed all."
    )
    worst = min((each for each in evaluation.phases if each.rate.trials), key=lambda each: each.rate.value)
    findings = ()
    if worst.rate.successes < worst.rate.trials:
        lost = worst.rate.trials - worst.rate.successes
        findings = (f"Most is lost in {worst.name}: {lost:,} of the {worst.rate.trials:,} that reach it end there.",)
    return PageSection("phases", "Success by phase", card("", rate_bars(rows, "success by phase"), said), findings)


def _parameters(evaluation: Evaluation) -> PageSection:
    found, title = evaluation.parameters, "Success against each parameter"
    if not found:
        return PageSection("parameters", title, text("No parameter varied."))
    falls = [each for each in found if each.fall]
    lead = text(
        "Each point is a bin with equally many episodes; its whisker is the 95 % interval of the rate, the dashed line "
        "the overall rate. The strongest association comes first; p is that of a chi-squared test of all bins."
    )
    if not falls:
        lead += text("No parameter clearly lowers success anywhere in its range.")
    if len(found) > MOST_COLUMNS:
        lead += text(f"The first {MOST_COLUMNS} of {len(found)} parameters are drawn; evaluation.json has all.")
    tests = table(
        ("parameter", "association", "p"),
        [(each.column, f"{each.strength:.2f}", number(each.p_value)) for each in found],
        numbers=(1, 2),
    )
    inner = lead + cards([rate_card(each) for each in found[:MOST_COLUMNS]], "medium")
    folded = f"<details><summary>the test of every parameter</summary>{tests}</details>"
    return PageSection("parameters", title, inner + folded, tuple(map(fall_sentence, falls[:MOST_FINDINGS])))


def _times(evaluation: Evaluation) -> PageSection:
    title, seconds = "Time to completion", evaluation.outcomes.completion_s[evaluation.outcomes.success]
    if not len(seconds):
        return PageSection("times", title, text("No episode succeeded."))
    low, high = float(seconds.min()), float(seconds.max())
    edges = np.linspace(low - 0.02, high + 0.02, BINS + 1)
    chart = histogram(edges, [Layer("successes", np.histogram(seconds, edges)[0], "good")], "seconds", title.lower())
    shares = ", ".join(f"{percent(share)} within {number(value)} s" for share, value in evaluation.completion_s.items())
    return PageSection(
        "times", title, cards([card("Until a success that lasts", chart, f"Of the successes: {shares}.")])
    )


def _failures(evaluation: Evaluation, clips: Mapping[int, Path]) -> PageSection:
    title, outcomes = "Failures", evaluation.outcomes
    failed = outcomes.take(~outcomes.success)
    if not len(failed):
        return PageSection("failures", title, text("There are none."))
    digest, seed = evaluation.subject.config_digest, evaluation.subject.seed
    rows = [
        (
            f"{failed.attempt[row]:,}", failed.last_phase[row], failed.failure[row].replace("_", " "),
            reason_label(str(failed.verdict[row])),
            f"{failed.duration_s[row]:.2f}", f"{digest[:12]} · {seed} · {failed.attempt[row]}",
        )
        for row in range(min(len(failed), MOST_FAILURES))
    ]  # fmt: skip
    head = ("attempt", "ended in", "what went wrong", "verdict", "seconds", "config digest · seed · attempt")
    inner = table(head, rows, numbers=(0, 4))
    if len(failed) > MOST_FAILURES:
        inner += text(f"The first {MOST_FAILURES} of {len(failed):,}; episodes.parquet has all, with what was drawn.")
    return PageSection("failures", title, inner + cards([_film(attempt, path) for attempt, path in clips.items()]))


def _film(attempt: int, path: Path) -> str:
    """Inside the page, so that it can be sent to somebody by itself."""
    data = base64.b64encode(path.read_bytes()).decode()
    film = f'<video controls loop muted preload="metadata" src="data:video/mp4;base64,{data}"></video>'
    return card(f"Attempt {attempt}", film)


def _provenance(evaluation: Evaluation) -> PageSection:
    subject = evaluation.subject
    pairs = [
        ("checkpoint", f"{subject.checkpoint} · {subject.checkpoint_digest}"),
        ("config", f"{subject.config_name} · {subject.config_digest}"),
        ("seed", str(subject.seed)),
        ("chunks", "as they come" if subject.ensemble is None else f"averaged, exp(−{subject.ensemble:g} · age)"),
        ("versions", ", ".join(f"{name} {version}" for name, version in subject.versions.items())),
    ]
    again = text("Checkpoint, config, seed and attempt fix an episode: the same command makes the same failures again.")
    return PageSection("provenance", "Provenance", f'<div class="card">{facts(pairs)}</div>{again}')
