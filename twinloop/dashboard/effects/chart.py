"""A chart that stands alone in a file: a few lines over time, with a legend and its own style."""

from collections.abc import Mapping

import numpy as np

from twinloop.dashboard.svg import Axis, Plot, points, px, safe

WIDTH, HEIGHT, TOP = 440, 186, 38
MOST_POINTS = 240
STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#5b6675}.grid{stroke:#e8ebef;fill:none}.base{stroke:#9aa6b5;fill:none}"
    "polyline{fill:none;stroke-width:1.6;stroke-linejoin:round}.low{stroke:#0072b2}.high{stroke:#d55e00}"
    ".nominal{stroke:#8a94a0;stroke-dasharray:4 3}"
)


def chart(lines: Mapping[str, tuple[str, np.ndarray]], period_s: float, up: str, told: str) -> str:
    """lines: class of the style -> (its name in the legend, (f,) values)."""
    every = np.concatenate([values for _, values in lines.values()])
    longest = max(len(values) for _, values in lines.values())
    plot = Plot(
        Axis(0, longest * period_s, "time (s)", about=8), Axis.around(every, "", zero=every.min() >= 0, about=3),
        told, width=WIDTH, height=HEIGHT, top=TOP, left=46,
    )  # fmt: skip
    marks, left = [f'<text x="6" y="13">{safe(up)}</text>'], plot.left
    for kind, (name, values) in lines.items():
        thin = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).round().astype(int))
        shape = points(plot.x(thin * period_s), plot.y(values[thin]))
        key = f"{px(left)},25 {px(left + 14)},25"
        marks += [
            f'<polyline class="{kind}" points="{shape}"/>',
            f'<polyline class="{kind}" points="{key}"/><text x="{px(left + 18)}" y="29">{safe(name)}</text>',
        ]
        left += 6.5 * len(name) + 36
    drawing = plot.draw(*marks)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"'
    paper = f'<style>{STYLE}</style><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    return drawing.replace("<svg", head, 1).replace(">", ">" + paper, 1) + "\n"
