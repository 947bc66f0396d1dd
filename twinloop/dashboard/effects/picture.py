"""EffectPicture: a picture of a row's effect, as the bytes of a small file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from twinloop.dashboard.effects.chart import chart
from twinloop.dashboard.effects.driving import DRIVE_MEASURES, DRIVE_PERIOD_S, drive_curves
from twinloop.dashboard.effects.looks import LOOKS, Sentences, looks_of, measures_of, range_of, setting_of
from twinloop.dashboard.effects.measures import CLEAR, Measure, curves, difference, largest
from twinloop.dashboard.effects.strips import Strip, StripRenderer
from twinloop.dashboard.effects.walking import PERIOD_S, WALK_MEASURES, walk_curves
from twinloop.dashboard.formatting import number
from twinloop.dashboard.images import jpeg_bytes
from twinloop.dashboard.sheet import FAINT, GAP_PX, LINE_PX, PAPER, write_text
from twinloop.randomize.parameter import Parameter
from twinloop.run.effect import RowEffect, RowSweep, effects_of

TILES = 5
WORDS_PX = 440


@dataclass(frozen=True)
class EffectPicture:
    """A picture of a row's effect.

    Attributes:
        look: name of the look or measure.
        clearness: difference between low and high, in units of the smallest one that counts.
        suffix: `.svg` or `.jpg`.
        draw: returns the bytes of the file.
    """

    row: Parameter
    look: str
    clearness: float
    suffix: str
    draw: Callable[[], bytes]

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file, drawn on first use: only the clearest picture of a row is drawn."""
        return self.draw()


def pictures_of(rows: Iterable[Parameter], studio: StripRenderer) -> Iterator[EffectPicture]:
    """The picture of each row: of the first look with a clear difference, or else of the measure that it changes most.

    What all rows need is simulated together, before the first picture.
    """
    rows = list(rows)
    sweeps = [_sweep(row, _first_values(row)) for row in rows if "arm" in row.robots]
    effects = {effect.row.name: effect for effect in effects_of(sweeps)}
    for row in rows:
        yield _picture(effects[row.name], studio) if row.name in effects else _moving(row)


def _picture(first: RowEffect, studio: StripRenderer) -> EffectPicture:
    row = first.row

    # Few rows need more than the first values.
    @cache
    def at(values: tuple[float, ...]) -> RowEffect:
        return first if values == tuple(first.values) else effects_of([_sweep(row, values)])[0]

    pictures: list[EffectPicture] = []
    for name in looks_of(row):
        look = LOOKS[name]
        if isinstance(look, Sentences):
            return _sentences(at(_tiles(row)), name)
        picture = (
            _strip(at(_tiles(row)), name, look, studio)
            if isinstance(look, Strip)
            else _curves(at(_three(row)), name, look)
        )
        if picture.clearness >= CLEAR:
            return picture
        pictures.append(picture)
    if not setting_of(row).look:
        measures = measures_of(at(_three(row)))
        name = largest(at(_three(row)), measures)
        pictures.append(_curves(at(_three(row)), name, measures[name]))
    return max(pictures, key=lambda picture: picture.clearness)


def _sweep(row: Parameter, values: tuple[float, ...]) -> RowSweep:
    setting = setting_of(row)
    return RowSweep(row, values, scene=setting.scene, given=setting.given)


def _first_values(row: Parameter) -> tuple[float, ...]:
    """The values that the first look of a row shows."""
    looks = looks_of(row)
    return _tiles(row) if looks and isinstance(LOOKS[looks[0]], Strip | Sentences) else _three(row)


def _tiles(row: Parameter) -> tuple[float, ...]:
    if row.words:
        return tuple(float(number) for number in range(len(row.words)))
    values = np.linspace(*range_of(row), TILES)
    return tuple((np.unique(np.floor(values)) if row.pool else values).tolist())


def _three(row: Parameter) -> tuple[float, float, float]:
    """Low, nominal and high; nominal may lie outside, or be one of the two."""
    low, high = range_of(row)
    return low, row.nominal, high


def _curves(effect: RowEffect, name: str, measure: Measure) -> EffectPicture:
    row, (low, nominal, high) = effect.row, effect.values
    names = {"low": _text(low, row), "nominal": f"{_text(nominal, row)} (nominal)", "high": _text(high, row)}
    lines = {kind: (names[kind], line) for kind, line in zip(names, curves(effect, measure), strict=True)}
    if nominal in (low, high):
        del lines["low" if nominal == low else "high"]
    alt_text = f"{measure.label} over time, {row.name} from {number(low)} to {number(high)} {row.unit}"
    draw = partial(_chart_bytes, lines, effect.twin.control_period_s, measure.label, alt_text)
    return EffectPicture(row, name, difference(effect, measure), ".svg", draw)


def _chart_bytes(lines: Mapping[str, tuple[str, np.ndarray]], period_s: float, label: str, alt_text: str) -> bytes:
    return chart(lines, period_s, label, alt_text).encode()


def _moving(row: Parameter) -> EffectPicture:
    """The measure that the row changes most: a quadruped marches on the spot, a robot on wheels drives in a curve."""
    low, nominal, high = _three(row)
    legs = "legs" in row.robots
    curves_of, measures, period_s = (
        (walk_curves, WALK_MEASURES, PERIOD_S) if legs else (drive_curves, DRIVE_MEASURES, DRIVE_PERIOD_S)
    )
    name, (low_line, nominal_line, high_line), clearness = curves_of(row, (low, nominal, high))
    lines = {"low": (_text(low, row), low_line), "nominal": (f"{_text(nominal, row)} (nominal)", nominal_line),
             "high": (_text(high, row), high_line)}  # fmt: skip
    if nominal in (low, high):
        del lines["low" if nominal == low else "high"]
    label = measures[name].label
    alt_text = f"{label} over time, {row.name} from {number(low)} to {number(high)} {row.unit}"
    return EffectPicture(row, name, clearness, ".svg", partial(_chart_bytes, lines, period_s, label, alt_text))


def _strip(effect: RowEffect, name: str, strip: Strip, studio: StripRenderer) -> EffectPicture:
    tiles, clearness = studio.tiles(effect, strip)
    tall, wide = tiles[0].shape[:2]
    sheet = np.full((tall + LINE_PX, len(tiles) * (wide + GAP_PX) - GAP_PX, 3), PAPER, np.uint8)
    for place, (tile, value) in enumerate(zip(tiles, effect.values, strict=True)):
        left = place * (wide + GAP_PX)
        sheet[:tall, left : left + wide] = tile
        write_text(sheet, _text(value, effect.row), left, tall + 1, FAINT, wide)
    return EffectPicture(effect.row, name, clearness, ".jpg", partial(jpeg_bytes, sheet))


def _sentences(effect: RowEffect, name: str) -> EffectPicture:
    """The instruction of each value. Its clearness is the number of further instructions."""
    instructions = [instruction for instruction, _ in effect.twin.spoken(effect.episodes.draws.values)]
    sheet = np.full((len(instructions) * LINE_PX + GAP_PX, WORDS_PX, 3), PAPER, np.uint8)
    for place, (value, instruction) in enumerate(zip(effect.values, instructions, strict=True)):
        line = f"{_text(value, effect.row)}: {instruction}"
        write_text(sheet, line, GAP_PX, place * LINE_PX + 1, FAINT, WORDS_PX - 2 * GAP_PX)
    return EffectPicture(effect.row, name, len(set(instructions)) - 1.0, ".jpg", partial(jpeg_bytes, sheet))


def _text(value: float, row: Parameter) -> str:
    if row.words:
        place = round(float(value))
        return row.words[place] if 0 <= place < len(row.words) else "own"
    unit = "" if row.unit in ("1", "materials", "things", "lights") else f" {row.unit}"
    return f"{number(float(value))}{unit}"
