"""The page of trust: the twin's success rates against the real ones, task by task, and what they allow to foretell."""

from pathlib import Path

import numpy as np

from twinloop.curate.intervals import wilson
from twinloop.dashboard.page import PageSection, card, cards, page, table, text, write_page
from twinloop.dashboard.svg import Axis, Plot, number, percent, points, px, safe, tooltip
from twinloop.gate.statistics.agreement import Counted
from twinloop.gate.trust import TaskTrust, Trust

LINE_POINTS = 41
TONES = {"trusted": "done", "untested": "part", "distrusted": "part"}


def write_trust_report(found: Trust, path: Path, *, name: str) -> Path:
    return write_page(path, render_trust(found, name=name))


def render_trust(found: Trust, *, name: str) -> str:
    sections = [_tasks(found), _foretold(found), _numbers(found)]
    pill = f'<span class="pill {TONES[found.standing]}">{safe(found.standing)}</span>'
    reasons = "".join(f"<li>{safe(reason)}</li>" for reason in found.reasons)
    head = (
        f"<header><h1>How far to trust the twin {pill}</h1>"
        f'<p class="lead">{safe(name)}</p></header><div class="note"><b>Why</b><ul>{reasons}</ul></div>'
    )
    foot = "<footer>Made by twinloop. Point at any mark of a chart for its numbers.</footer>"
    return page("Trust · twinloop", head + "".join(section.html() for section in sections) + foot)


def agreement_text(task: TaskTrust) -> tuple[str, str]:
    """(correlation, rank violation), each with its interval; "cannot tell" where it cannot be told."""
    found = task.agreement
    return (
        _with_interval(found.pearson, found.pearson_low, found.pearson_high),
        _with_interval(found.mmrv, found.mmrv_low, found.mmrv_high),
    )


def _with_interval(value: float | None, low: float, high: float) -> str:
    return "cannot tell" if value is None else f"{value:.3f} ({low:.2f} to {high:.2f})"


def scatter(task: TaskTrust, *, confidence: float) -> str:
    """A point a policy. Dashed: twin and reality alike. Line and area: what is foretold, and its band."""
    plot = Plot(
        Axis(-0.03, 1.03, "success in the twin", as_percent=True),
        Axis(-0.03, 1.03, "success in reality", as_percent=True),
        f"success in reality against success in the twin, {task.task}",
        width=400,
        height=340,
    )
    marks = [f'<path class="overall" d="M{px(plot.x(0))} {px(plot.y(0))}L{px(plot.x(1))} {px(plot.y(1))}"/>']
    at = np.linspace(0, 1, LINE_POINTS)
    bands = [task.predict(float(each), confidence=confidence) for each in at]
    if bands[0].estimate is not None:
        low, high = (np.array([getattr(band, end) for band in bands]) for end in ("low", "high"))
        middle = np.array([band.estimate for band in bands], float)
        around = points(plot.x(np.concatenate([at, at[::-1]])), plot.y(np.concatenate([high, low[::-1]])))
        marks.append(f'<polygon class="area" points="{around}"/>')
        marks.append(f'<polyline class="line" points="{points(plot.x(at), plot.y(middle))}"/>')
    held = {told.policy: told.held for told in task.foretold}
    for pair in task.pairs:
        x, y = px(plot.x(pair.sim.rate)), px(plot.y(pair.real.rate))
        across, up = _ends(pair.sim), _ends(pair.real)
        whiskers = "".join((
            f"M{px(plot.x(across[0]))} {y}H{px(plot.x(across[1]))}" if across else "",
            f"M{x} {px(plot.y(up[0]))}V{px(plot.y(up[1]))}" if up else "",
        ))  # fmt: skip
        said = f"{pair.policy}: twin {_rate(pair.sim)}, real {_rate(pair.real)}"
        if pair.policy in held:
            said += "; inside its band" if held[pair.policy] else "; outside its band"
        tone = "even" if held.get(pair.policy, True) else "low"
        marks.append(f'<g class="{tone}">{tooltip(said)}<path d="{whiskers}"/><circle cx="{x}" cy="{y}" r="4.5"/></g>')
    return plot.draw(*marks)


def _ends(counted: Counted) -> tuple[float, float] | None:
    if counted.trials is None:
        return None
    low, high = wilson(counted.rate * counted.trials, counted.trials)
    return float(low), float(high)


def _rate(counted: Counted) -> str:
    trials = "" if counted.trials is None else f" of {counted.trials:,}"
    return f"{percent(counted.rate)}{trials}"


def _tasks(found: Trust) -> PageSection:
    lead = text(
        "Each point is a policy that was tried on both sides; whiskers are 95 % intervals where the trials are known. "
        f"The line is what is foretold of another policy, the area where {percent(found.rules.confidence)} of such "
        "policies should come to lie. An orange point lay outside the band that the policies before it gave."
    )
    inner = []
    for task in found.tasks:
        correlation, violation = agreement_text(task)
        inner.append(
            card(
                f"{task.task}: {task.standing}",
                scatter(task, confidence=found.rules.confidence),
                f"Correlation {correlation}, rank violation {violation}.",
                *_said(task),
                called=task.standing == "distrusted",
            )
        )
    return PageSection("tasks", "Twin and reality", lead + cards(inner, "medium"))


def _said(task: TaskTrust) -> list[str]:
    if task.standing == "trusted":
        return [f"{task.record.made - task.record.missed} of {task.record.made} predictions held."]
    return [f"{reason[:1].upper()}{reason[1:]}." for reason in task.reasons]


def _foretold(found: Trust) -> PageSection:
    rows = [
        (
            told.task, told.policy, percent(told.band.sim), f"{percent(told.band.low)} to {percent(told.band.high)}",
            percent(told.real), "held" if told.held else "missed",
        )
        for task in found.tasks
        for told in task.foretold
    ]  # fmt: skip
    if not rows:
        return PageSection(
            "foretold", "Predictions", text("None was put to the test: it takes three policies before one.")
        )
    kept = found.record
    money = float(np.exp(min(kept.log_evidence_against, 700)))
    lead = text(
        f"{kept.made - kept.missed:,} of {kept.made:,} held. Bands of {percent(kept.confidence)} may miss one in "
        f"{number(1 / (1 - kept.confidence))}; the bets against them stand at {number(money)}, and the twin is "
        f"distrusted from {number(1 / found.rules.error)} on."
    )
    head = ("task", "policy", "in the twin", "foretold", "real", "")
    return PageSection("foretold", "Predictions", lead + table(head, rows, numbers=(2, 4)))


def _numbers(found: Trust) -> PageSection:
    rows = [
        (task.task, pair.policy, _rate(pair.sim), _rate(pair.real), f"{100 * (pair.sim.rate - pair.real.rate):+.1f}")
        for task in found.tasks
        for pair in task.pairs
    ]
    head = ("task", "policy", "in the twin", "real", "points too many")
    return PageSection("numbers", "All pairs", table(head, rows, numbers=(2, 3, 4)))
