"""Charts of one episode: where the object went, and signals over time between coloured phases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from twinloop.dashboard.svg import Axis, Plot, points, px, safe, tooltip

PHASE_COLOURS = 8
JOINT_COLOURS = 7


@dataclass(frozen=True)
class PhaseBand:
    """A phase from one time to another. colour: its class is `p<colour>`."""

    name: str
    colour: int
    start_s: float
    stop_s: float


def bands_of(time_s: np.ndarray, phase: np.ndarray | None, names: Sequence[str]) -> tuple[PhaseBand, ...]:
    """The runs of equal phase. A phase that is returned to, after a failed grasp, has a band each time."""
    if phase is None or not len(phase):
        return ()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(phase)) + 1, [len(phase) - 1]])
    return tuple(
        PhaseBand(_phase_name(number, names), number % PHASE_COLOURS, float(time_s[first]), float(time_s[last]))
        for (first, last), number in zip(pairwise(starts), phase[starts[:-1]].tolist(), strict=True)
    )


def _phase_name(phase: int, names: Sequence[str]) -> str:
    return names[phase] if 0 <= phase < len(names) else f"phase {phase}"


def signals(
    time_s: np.ndarray,
    series: Mapping[str, np.ndarray],
    bands: Sequence[PhaseBand],
    up: str,
    told: str,
    *,
    kind: str = "s",
    named: bool = False,
    zero: bool = False,
    height: float = 150,
) -> str:
    """Lines over time. kind: the class prefix of their colours, `j` for joints. named: phases get a header."""
    top = 62 if named else 8
    last = max(float(time_s[-1]), 1e-3)
    across = Axis(0, last, "time (s)", about=6)
    every = np.concatenate(list(series.values()))
    plot = Plot(across, Axis.around(every, up, zero=zero, about=3), told, height=height + top, top=top)
    marks = [_band(plot, band, named) for band in bands]
    for place, (name, values) in enumerate(series.items()):
        shape = points(plot.x(time_s), plot.y(values))
        marks.append(
            f'<polyline class="trace {kind}{place % JOINT_COLOURS}" points="{shape}">{tooltip(name)}</polyline>'
        )
    return plot.draw(*marks)


def _band(plot: Plot, band: PhaseBand, named: bool) -> str:
    left, right = plot.x(band.start_s), plot.x(band.stop_s)
    floor, wide = plot.height - plot.bottom, max(right - left, 0.5)
    said = f"{band.name}: {band.start_s:.2f} to {band.stop_s:.2f} s"
    mark = (
        f'<rect class="band p{band.colour}" x="{px(left)}" y="{px(plot.top)}" width="{px(wide)}" '
        f'height="{px(floor - plot.top)}">{tooltip(said)}</rect>'
    )
    if named:
        mark += (
            f'<rect class="head p{band.colour}" x="{px(left)}" y="2" width="{px(wide)}" '
            f'height="{px(plot.top - 2)}">{tooltip(said)}</rect>'
        )
        if wide >= 11:
            middle = (left + right) / 2 + 3.5
            place = f'transform="translate({px(middle)} {px(plot.top - 5)}) rotate(-90)"'
            mark += f'<text class="phase" {place}>{safe(band.name)}</text>'
    return mark


@dataclass(frozen=True)
class Spot:
    """A place worth naming on a path; mark: "start", "end" or "goal"."""

    x: float
    y: float
    name: str
    mark: str


def path_plot(
    x: np.ndarray,
    y: np.ndarray,
    colours: np.ndarray,
    spots: Sequence[Spot],
    across: str,
    up: str,
    told: str,
    *,
    width: float = 250,
    height: float = 270,
) -> str:
    """A path seen from one side, both axes to the same scale, coloured by phase."""
    every_x = np.concatenate([x, [spot.x for spot in spots]])
    every_y = np.concatenate([y, [spot.y for spot in spots]])
    blank = Plot(Axis(0, 1), Axis(0, 1), told, width=width, height=height)
    room = width - blank.left - blank.right, height - blank.top - blank.bottom
    # Metres per pixel of the tighter direction, with a margin; never so small that noise fills the picture.
    scale = max(np.ptp(every_x) / room[0], np.ptp(every_y) / room[1], 0.05 / room[0]) * 1.15
    axes = [
        Axis(float(centre - scale * pixels / 2), float(centre + scale * pixels / 2), label, about=3)
        for centre, pixels, label in zip(
            ((every_x.min() + every_x.max()) / 2, (every_y.min() + every_y.max()) / 2), room, (across, up), strict=True
        )
    ]
    plot = Plot(axes[0], axes[1], told, width=width, height=height)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(colours)) + 1, [len(colours) - 1]])
    marks = [
        f'<polyline class="trace p{colours[first]}" points="'
        f'{points(plot.x(x[first : last + 1]), plot.y(y[first : last + 1]))}"/>'
        for first, last in pairwise(starts)
    ]
    marks += [_spot(plot, spot) for spot in spots]
    return plot.draw(*marks)


def _spot(plot: Plot, spot: Spot) -> str:
    x, y = plot.x(spot.x), plot.y(spot.y)
    if spot.mark == "goal":
        shape = f'<path class="goal" d="M{px(x - 7)} {px(y)}h14M{px(x)} {px(y - 7)}v14"/>'
    else:
        shape = f'<circle class="{spot.mark}" cx="{px(x)}" cy="{px(y)}" r="5"/>'
    return f"<g>{tooltip(f'{spot.name} ({spot.x:.3f}, {spot.y:.3f})')}{shape}</g>"
