"""A few whole episodes to look at: the object's path, the joints, the fingers."""

import numpy as np

from twinloop.dashboard.examples import Example, choose, read_example
from twinloop.dashboard.labels import reason_label
from twinloop.dashboard.page import PageSection, card, cards, legend, text
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.svg import number, safe
from twinloop.dashboard.trajectories import PHASE_COLOURS, PhaseBand, Spot, bands_of, path_plot, signals

TITLE = "Example episodes"
HEADINGS = {
    "typical": "A typical episode",
    "quickest": "The quickest",
    "slowest": "The slowest",
    "failure": "A failure",
}


def section(material: ReportData) -> PageSection:
    chosen = choose(material.attempts)
    if not chosen:
        return PageSection("examples", TITLE, text("No episode with frames has been written yet."))
    lead = text(
        "Paths and signals as a policy will see them. Colours are the phases of the task, named over the joints; a "
        "phase that comes twice was tried twice."
    )
    if material.summary.rejected and not any(choice.why == "failure" for choice in chosen):
        lead += text("Frames of rejected episodes were not stored; --keep-rejected stores them.")
    examples = [read_example(material.dataset, material.attempts, choice) for choice in chosen]
    inner = "".join(_episode(example, material.dataset.header.phases) for example in examples)
    return PageSection("examples", TITLE, lead + inner)


def _episode(example: Example, phases: tuple[str, ...]) -> str:
    bands = bands_of(example.time_s, example.phase, phases)
    drawn = ", ".join(f"{name} {number(value)}" for name, value in example.drawn.items())
    said = f"attempt {example.attempt:,} · {reason_label(example.verdict)} · {number(example.duration_s)} s"
    detail = f'<details><summary>its draws</summary><p class="soft">{safe(drawn)}</p></details>' if drawn else ""
    return (
        f'<div class="card episode"><h3>{HEADINGS[example.why]} <span class="soft">· {safe(said)}</span></h3>{detail}'
        f"{cards([_paths(example), *_signals(example, bands)])}</div>"
    )


def _paths(example: Example) -> str:
    seen = example.channels
    if not all(f"{thing}.{part}" in seen for thing in ("object", "goal") for part in "xyz"):
        return ""
    # From the side on which there is most to see.
    wide = max("xy", key=lambda part: float(np.ptp(seen[f"object.{part}"])))
    colours = np.zeros(len(example.time_s), int) if example.phase is None else example.phase % PHASE_COLOURS
    views = (("From above", "x", "y"), ("From the side", wide, "z"))
    charts = []
    for heading, across, up in views:
        x, y = seen[f"object.{across}"], seen[f"object.{up}"]
        spots = [
            Spot(float(seen[f"goal.{across}"][-1]), float(seen[f"goal.{up}"][-1]), "goal", "goal"),
            Spot(float(x[0]), float(y[0]), "start", "start"),
            Spot(float(x[-1]), float(y[-1]), "end", "end"),
        ]
        chart = path_plot(x, y, colours, spots, f"{across} (m)", f"{up} (m)", f"path of the object, {heading.lower()}")
        charts.append(card(heading, chart))
    said = "The path of the object: ring = start, dot = end, cross = goal."
    return f"<div>{cards(charts, 'pair')}{text(said)}</div>"


def _signals(example: Example, bands: tuple[PhaseBand, ...]) -> list[str]:
    time_s, seen, charts = example.time_s, example.channels, []
    if example.joints:
        series = {name: seen[name] for name in example.joints}
        unit = f"position ({example.joint_unit})" if example.joint_unit else "position"
        chart = signals(
            time_s, series, bands, unit, "joint positions over time", kind="j", named=bool(bands), height=200
        )
        names = legend((f"j{place % 7}", name) for place, name in enumerate(series))
        charts.append(card("Joints", chart + names))
    if "gripper" in seen:
        unit = f"opening ({example.gripper_unit})" if example.gripper_unit else "opening"
        series = {"gripper": seen["gripper"]}
        charts.append(card("Gripper", signals(time_s, series, bands, unit, "gripper opening over time", zero=True)))
    if example.fingers:
        series = {name: seen[name] for name in example.fingers}
        chart = signals(time_s, series, bands, "force (N)", "finger forces over time", zero=True)
        names = legend((f"s{place % 7}", name) for place, name in enumerate(series))
        charts.append(card("Fingers", chart + names))
    return charts
