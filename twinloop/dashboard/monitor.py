"""The page of a monitored policy: each signal over its episodes, how close it is to an alarm, and what was done."""

from pathlib import Path

import numpy as np

from twinloop.dashboard.charts import detector
from twinloop.dashboard.formatting import percent
from twinloop.dashboard.page import Tone, render_page, write_page
from twinloop.gate.monitor.act import MonitorResult
from twinloop.gate.monitor.watch import LABELS

REPORT = "monitor.html"
MAX_EPISODES = 40


def write_monitor_page(result: MonitorResult) -> Path:
    return write_page(result.registry.path / REPORT, render_monitor(result))


def render_monitor(result: MonitorResult) -> str:
    live, episodes = result.live, result.episodes
    alarms = sum(signal.alarm is not None for signal in result.watched)
    pill, verdict = _verdict(result, alarms)
    intervened = float((episodes.interventions > 0).mean()) if len(episodes) else float("nan")
    return render_page(
        "monitor.html",
        title="monitor · twinloop",
        heading=f"Monitoring {live.checkpoint[:12]}",
        lead=f"live since {live.since[:16].replace('T', ' ')} UTC",
        pill=pill,
        tiles=[
            (percent(episodes.success.value), "succeeded without help"),
            (f"{len(episodes):,}", "episodes since it went live"),
            (percent(intervened), "with an intervention"),
            (f"{alarms}", "alarms"),
        ],
        note=verdict,
        findings=[signal.sentence for signal in result.watched],
        signals=[
            (
                LABELS[signal.name],
                detector(
                    list(np.asarray(signal.closeness, float)), threshold=1.0, alarm=signal.alarm,
                    y_title="share of the alarm threshold", description=f"detector of {signal.name}",
                ),
                signal.sentence,
                signal.alarm is not None,
            )
            for signal in result.watched
            if len(signal.values)
        ],
        episodes=_episode_rows(result),
    )  # fmt: skip


def _verdict(result: MonitorResult, alarms: int) -> tuple[tuple[str, Tone], str]:
    if result.rolled_back is not None:
        production = result.registry.production
        now = f"{production[:12]} is live again" if production else "no policy was live before, so none is live now"
        return (result.rolled_back.verdict, "bad"), f"A drop was confirmed; {now}."
    if alarms:
        return ("alarm", "bad"), "An incident was opened; the policy stays live."
    return ("as promised", "good"), "The episodes agree with the rates at promotion."


def _episode_rows(result: MonitorResult) -> list[tuple[object, ...]]:
    """The last episodes, the newest first."""
    episodes = result.episodes
    return [
        (str(episodes.recorded_at[row])[:19].replace("T", " "), str(episodes.robot_id[row]), str(episodes.outcome[row]),
         str(episodes.failure[row]).replace("_", " "), int(episodes.interventions[row]), int(episodes.blocked[row]))
        for row in reversed(range(max(0, len(episodes) - MAX_EPISODES), len(episodes)))
    ]  # fmt: skip
