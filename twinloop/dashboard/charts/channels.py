"""Encodings that all charts share: quantitative axes, names, colours and tooltips."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

TOOLTIP = {"field": "tip", "type": "nominal"}
COLOUR = {"field": "colour", "type": "nominal", "scale": None}
"""The field holds a CSS colour."""

_PERCENT = "format(100 * datum.value, '.0f') + ' %'"
_SHORT = "abs(datum.value) >= 1e4 ? replace(format(datum.value, '~s'), 'G', 'B') : format(datum.value, '~r')"


def quantity(
    field: str,
    title: str = "",
    *,
    domain: Sequence[float] | None = None,
    percent: bool = False,
    whole: bool = False,
    ticks: int | Sequence[float] = 5,
    labels: Mapping[float, str] | None = None,
    log: bool = False,
) -> dict[str, Any]:
    """A quantitative channel with its axis.

    Args:
        domain: the ends of the axis; without it Vega chooses round ends around the data, zero not included.
        percent: values are shares, labels are percentages.
        whole: ticks at whole numbers only.
        ticks: about how many, or their values.
        labels: text of each tick, instead of its number.
    """
    axis: dict[str, Any] = {"title": title or None, "labelExpr": _PERCENT if percent else _SHORT}
    if labels is not None:
        # Vega drops every other value unless the count agrees.
        axis |= {"values": sorted(labels), "tickCount": len(labels) + 1, "labelExpr": _lookup(labels)}
    elif isinstance(ticks, int):
        axis["tickCount"] = ticks
    else:
        axis |= {"values": list(ticks), "tickCount": len(ticks) + 1}
    if whole:
        axis["tickMinStep"] = 1
    scale: dict[str, Any] = {"type": "log"} if log else {"zero": False}
    if domain is not None:
        scale |= {"domain": list(domain), "nice": False}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}


def _lookup(labels: Mapping[float, str]) -> str:
    """A Vega expression from tick to text. Text of a user is never passed here: it would become code."""
    if any(set(text) & set("'\\\n") for text in labels.values()):
        raise ValueError(f"tick labels hold a quote, a backslash or a line break: {labels}")
    pairs = "".join(f"abs(datum.value - {float(tick)!r}) < 1e-9 ? '{text}' : " for tick, text in labels.items())
    return f"{pairs}''"


def names(field: str = "name", *, limit: int = 150) -> dict[str, Any]:
    """A nominal y channel in the order of the data, with its names as labels."""
    axis = {"title": None, "grid": False, "labelColor": "var(--text)", "labelFontSize": 12.5, "labelLimit": limit}
    return {"field": field, "type": "nominal", "sort": None, "axis": axis}


def room_around(values: Iterable[float] | np.ndarray, *, zero: bool = False) -> tuple[float, float]:
    """The ends of an axis that holds all finite values with a little room, beginning at zero if requested."""
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 0.5
    return (low if zero and low == 0 else low - room), high + room


def data(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Inline data. NumPy numbers become Python numbers, and non-finite values become null."""
    return {"values": [{name: _plain_value(value) for name, value in row.items()} for row in rows]}


def _plain_value(value: Any) -> Any:
    if isinstance(value, (str, bool)) or value is None:
        return value
    number = float(value)
    if not np.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else float(f"{number:.6g}")
