"""What every chart is drawn with: safe text, readable numbers, axes and the frame around a plot.

Everything here is a pure function of its arguments and returns markup. Colours are classes, so that the page's
style decides them, once for light and once for dark.
"""

import html
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


def safe(text: object) -> str:
    """Text from anywhere, harmless inside an element or a quoted attribute."""
    return html.escape(str(text), quote=True)


def number(value: float) -> str:
    """Three significant digits without an exponent where that is readable: 12,346 · 0.0523 · 1.2e-06."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3g}"
    text = f"{value:.3g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def percent(value: float) -> str:
    """A share in percent; one that is not quite all, or not quite nothing, says so."""
    if not math.isfinite(value):
        return "–"
    if 0 < value < 0.0005:
        return "< 0.1 %"
    if 0.9995 < value < 1:
        return "> 99.9 %"
    return f"{100 * value:.1f}".removesuffix(".0") + " %"


def px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def points(xs: Iterable[float], ys: Iterable[float]) -> str:
    return " ".join(f"{px(x)},{px(y)}" for x, y in zip(xs, ys, strict=True))


@dataclass(frozen=True)
class Axis:
    """One direction of a plot: its ends, in the unit its label names.

    whole: ticks at whole numbers only. about: how many ticks. named: ticks with a text of their own instead.
    """

    low: float
    high: float
    label: str = ""
    as_percent: bool = False
    whole: bool = False
    about: int = 5
    named: tuple[tuple[float, str], ...] = ()

    @classmethod
    def around(
        cls, values: np.ndarray, label: str = "", *, zero: bool = False, whole: bool = False, about: int = 5
    ) -> "Axis":
        """An axis that holds all values with a little room, beginning at zero where asked."""
        finite = np.asarray(values, float)
        finite = finite[np.isfinite(finite)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        room = (high - low) * 0.06 or abs(high) * 0.1 or 0.5
        return cls(low if zero and low == 0 else low - room, high + room, label, whole=whole, about=about)

    def ticks(self) -> list[float]:
        if self.named:
            return [place for place, _ in self.named]
        span = self.high - self.low
        raw = span / self.about
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
        if self.whole:
            step = max(1.0, round(step))
        # The ends of what was drawn miss the round ends of a range by a hair; those may still have their tick.
        hair = 0.005 * span
        first, last = math.ceil((self.low - hair) / step), math.floor((self.high + hair) / step)
        return [tick * step for tick in range(first, last + 1)]

    def text(self, tick: float) -> str:
        if self.named:
            return safe(dict(self.named)[tick])
        if self.as_percent:
            return f"{100 * tick:.0f} %"
        if abs(tick) < 1e-12 * (self.high - self.low):
            return "0"
        if abs(tick) >= 10_000:
            return f"{tick / 1e6:g}M" if abs(tick) >= 1e6 else f"{tick / 1e3:g}k"
        return f"{tick:.6g}".replace("-", "−", 1)


@dataclass(frozen=True)
class Plot:
    """A frame with two axes; `x` and `y` place values in it, `draw` puts marks into it.

    told: the chart in a few words, for those who cannot see it.
    """

    across: Axis
    up: Axis
    told: str
    width: float = 480
    height: float = 230
    left: float = 54
    right: float = 14
    top: float = 12
    bottom: float = 42

    def x(self, value):
        span = self.across.high - self.across.low
        return self.left + (value - self.across.low) / span * (self.width - self.left - self.right)

    def y(self, value):
        span = self.up.high - self.up.low
        return self.height - self.bottom - (value - self.up.low) / span * (self.height - self.top - self.bottom)

    def draw(self, *marks: str) -> str:
        return canvas(self.width, self.height, self.told, self._grid(), *marks, self._labels())

    def _grid(self) -> str:
        right, floor = self.width - self.right, self.height - self.bottom
        lines = [f"M{px(self.left)} {px(self.y(tick))}H{px(right)}" for tick in self.up.ticks()]
        base = f'<path class="base" d="M{px(self.left)} {px(floor)}H{px(right)}"/>'
        return f'<path class="grid" d="{"".join(lines)}"/>{base}'

    def _labels(self) -> str:
        floor = self.height - self.bottom
        texts = [
            f'<text x="{px(self.left - 6)}" y="{px(self.y(tick) + 4)}" text-anchor="end">{self.up.text(tick)}</text>'
            for tick in self.up.ticks()
        ]
        if self.up.label:
            centre = (self.top + floor) / 2
            place = f'transform="translate(11 {px(centre)}) rotate(-90)" text-anchor="middle"'
            texts.append(f'<text class="name" {place}>{safe(self.up.label)}</text>')
        return self.labels_across() + "".join(texts)

    def labels_across(self) -> str:
        floor, middle = self.height - self.bottom, (self.left + self.width - self.right) / 2
        texts = [
            f'<text x="{px(self.x(tick))}" y="{px(floor + 15)}" text-anchor="middle">{self.across.text(tick)}</text>'
            for tick in self.across.ticks()
        ]
        if self.across.label:
            place = f'x="{px(middle)}" y="{px(self.height - 6)}" text-anchor="middle"'
            texts.append(f'<text class="name" {place}>{safe(self.across.label)}</text>')
        return "".join(texts)


def canvas(width: float, height: float, told: str, *marks: str) -> str:
    head = f'<svg viewBox="0 0 {px(width)} {px(height)}" role="img" aria-label="{safe(told)}">'
    return head + "".join(marks) + "</svg>"


def tooltip(text: str) -> str:
    return f"<title>{safe(text)}</title>"
