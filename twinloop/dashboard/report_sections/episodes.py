"""A few whole episodes: the object's path, the joints, the fingers."""

from typing import Any

import numpy as np

from twinloop.dashboard.charts import path_plot, phase_bands, signals
from twinloop.dashboard.charts.lines import Panel, PathView
from twinloop.dashboard.examples import Example, choose, read_example
from twinloop.dashboard.formatting import number
from twinloop.dashboard.labels import reason_label
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.vega import PHASES, Chart

HEADINGS = {
    "typical": "A typical episode",
    "quickest": "The quickest",
    "slowest": "The slowest",
    "failure": "A failure",
}
OPEN = ("typical", "failure")
"""The other examples are folded."""


def example_episodes(data: ReportData) -> dict[str, Any]:
    choices = choose(data.attempts)
    examples = [read_example(data.dataset, data.attempts, choice) for choice in choices]
    failure_stored = any(choice.why == "failure" for choice in choices)
    return {
        "episodes": [_episode(example, data.dataset.header.phases) for example in examples],
        "failures_not_stored": bool(data.summary.rejected) and not failure_stored,
    }


def _episode(example: Example, phases: tuple[str, ...]) -> dict[str, Any]:
    bands = phase_bands(example.time_s, example.phase, phases)
    panels = _panels(example)
    duration = f"{number(example.duration_s)} s"
    chart = signals(example.time_s, panels, bands, f"signals of attempt {example.attempt}") if panels else None
    return {
        "open": example.why in OPEN,
        "heading": HEADINGS[example.why],
        "lead": f"attempt {example.attempt:,} · {reason_label(example.verdict)} · {duration}",
        "draws": ", ".join(f"{name} {number(value)}" for name, value in example.drawn.items()),
        "path": _path(example),
        "signals": chart,
        "legends": [panel.colours() for panel in panels if len(panel.series) > 1],
    }


def _path(example: Example) -> Chart | None:
    channels = example.channels
    if not all(f"{thing}.{part}" in channels for thing in ("object", "goal") for part in "xyz"):
        return None
    # The side view is taken from the side that shows more of the path.
    wide = max("xy", key=lambda part: float(np.ptp(channels[f"object.{part}"])))
    colours = np.zeros(len(example.time_s), int) if example.phase is None else example.phase % len(PHASES)
    views = []
    for title, across, up in (("From above", "x", "y"), ("From the side", wide, "z")):
        x, y = channels[f"object.{across}"], channels[f"object.{up}"]
        spots = {
            "goal": (float(channels[f"goal.{across}"][-1]), float(channels[f"goal.{up}"][-1])),
            "start": (float(x[0]), float(y[0])),
            "end": (float(x[-1]), float(y[-1])),
        }
        views.append(PathView(title, x, y, spots, f"{across} (m)", f"{up} (m)"))
    return path_plot(views, colours, "path of the object")


def _panels(example: Example) -> list[Panel]:
    def titled(name: str, unit: str) -> str:
        return f"{name} ({unit})" if unit else name

    channels, panels = example.channels, []
    if example.joints:
        series = {name: channels[name] for name in example.joints}
        panels.append(Panel(titled("joints", example.joint_unit), series, joints=True, height=130))
    if "gripper" in channels:
        series = {"gripper": channels["gripper"]}
        panels.append(Panel(titled("gripper", example.gripper_unit), series, zero=True, height=64))
    if example.fingers:
        series = {name: channels[name] for name in example.fingers}
        panels.append(Panel("force (N)", series, zero=True, height=64))
    return panels
