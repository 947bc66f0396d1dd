"""The page of a watched policy: each signal over its episodes, how close to an alarm it came, and what was done."""

from pathlib import Path

import numpy as np

from twinloop.dashboard.gate_charts import detector
from twinloop.dashboard.page import PageSection, card, cards, page, table, text, write_page
from twinloop.dashboard.svg import percent, safe
from twinloop.gate.monitor.act import MonitorResult
from twinloop.gate.monitor.watch import TOLD

REPORT = "monitor.html"
MOST_EPISODES = 40


def write_monitor_page(looked: MonitorResult) -> Path:
    return write_page(looked.registry.path / REPORT, render_monitor(looked))


def render_monitor(looked: MonitorResult) -> str:
    live, real = looked.live, looked.episodes
    alarmed = [each for each in looked.watched if each.alarm is not None]
    if looked.rolled_back is not None:
        word, tone = looked.rolled_back.verdict, "part"
        verdict = f"A drop was confirmed; {_now(looked)}."
    elif alarmed:
        word, tone, verdict = "alarm", "part", "An incident was opened; the policy stays live."
    else:
        word, tone, verdict = "as promised", "done", "Nothing speaks against what this policy was promoted as."
    sentences = "".join(f"<li>{safe(each.sentence)}</li>" for each in looked.watched)
    success = real.success
    tiles = [
        (percent(success.value), "managed without help"),
        (f"{len(real):,}", "episodes since it went live"),
        (percent(float((real.interventions > 0).mean()) if len(real) else float("nan")), "with an intervention"),
        (f"{len(alarmed)}", "alarms"),
    ]
    inner = "".join(f'<div class="tile"><b>{safe(value)}</b><span>{safe(what)}</span></div>' for value, what in tiles)
    head = (
        f'<header><h1>{safe(live.checkpoint[:12])} on watch<span class="pill {tone}">{safe(word)}</span></h1>'
        f'<p class="lead">live since {safe(live.since[:16].replace("T", " "))} UTC</p></header>'
        f'<div class="tiles below">{inner}</div><div class="note"><b>{safe(verdict)}</b><ul>{sentences}</ul></div>'
    )
    sections = [_signals(looked), _episodes(looked)]
    return page("watch · twinloop", head + "".join(section.html() for section in sections))


def _now(looked: MonitorResult) -> str:
    production = looked.registry.production
    return f"{production[:12]} is live again" if production else "nothing was live before it, so nothing is live now"


def _signals(looked: MonitorResult) -> PageSection:
    charts = []
    for each in looked.watched:
        if not len(each.values):
            continue
        chart = detector(
            list(np.asarray(each.closeness, float)), threshold=1.0, alarm=each.alarm, label="way to an alarm",
            told=f"detector of {each.name}",
        )  # fmt: skip
        charts.append(card(TOLD[each.name], chart, each.sentence, called=each.alarm is not None))
    lead = text(
        "Each detector bets against what was promised when the policy went live; at 1 its winnings are so large that "
        "luck explains them less than once in the number of episodes the rules name (`monitor.false_alarm_episodes`)."
    )
    return PageSection("signals", "Signals", lead + cards(charts) if charts else text("No episode since it went live."))


def _episodes(looked: MonitorResult) -> PageSection:
    real = looked.episodes
    rows = [
        (str(real.recorded_at[row])[:19].replace("T", " "), str(real.robot_id[row]), str(real.outcome[row]),
         str(real.failure[row]).replace("_", " "), int(real.interventions[row]), int(real.grave[row]))
        for row in reversed(range(max(0, len(real) - MOST_EPISODES), len(real)))
    ]  # fmt: skip
    head = ("recorded (UTC)", "robot", "outcome", "what went wrong", "interventions", "kept from harm, periods")
    inner = table(head, rows, numbers=(4, 5)) if rows else text("None yet.")
    return PageSection("episodes", f"The last {len(rows)} episodes" if rows else "Episodes", inner)
