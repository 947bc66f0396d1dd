"""Raw columns -> features, converted element by element as the mapping says."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from twinloop.dataset.ingest.mapping import ColumnMap
from twinloop.dataset.ingest.source import RawEpisode, Unreadable
from twinloop.dataset.ingest.units import Conversion
from twinloop.errors import UsageError, nearest

REFERENCE = re.compile(r"(?P<name>.+?)\[(?P<first>\d+)(?P<range>:(?P<stop>\d+))?\]")


def shaped(raw: RawEpisode, columns: Sequence[ColumnMap]) -> dict[str, np.ndarray]:
    """Feature -> (rows, d), converted; Unreadable where a column is missing, too short or too narrow."""
    return {column.name: _feature(raw, column) for column in columns}


def recorded_of(raw: RawEpisode, column: ColumnMap) -> np.ndarray:
    """(rows, d) as recorded, the elements of all its sources side by side."""
    return np.concatenate([_elements(raw, source) for source in column.sources], axis=1)


def _feature(raw: RawEpisode, column: ColumnMap) -> np.ndarray:
    recorded = recorded_of(raw, column)
    width = recorded.shape[1]
    if column.names and len(column.names) != width:
        raise UsageError(f"columns.{column.name}: {len(column.names)} names for {width} elements ({raw.label})")
    conversions = conversions_of(column, width)
    if all(conversion.is_identity for conversion in conversions):
        return recorded
    converted = [conversion.apply(recorded[:, place]) for place, conversion in enumerate(conversions)]
    # Values in single precision stay so after a conversion.
    kind = np.float32 if recorded.dtype == np.float32 else np.float64
    return np.stack(converted, axis=1).astype(kind)


def conversions_of(column: ColumnMap, width: int) -> tuple[Conversion, ...]:
    if len(column.conversions) not in (1, width):
        given = len(column.conversions)
        raise UsageError(f"columns.{column.name}: {given} units, scales or offsets for {width} elements")
    return column.conversions * width if len(column.conversions) == 1 else column.conversions


def _elements(raw: RawEpisode, source: str) -> np.ndarray:
    """(rows, d) of `name`, `name[3]` or `name[0:3]`; a column may itself be called `q[0]`."""
    values, part = raw.columns.get(source), slice(None)
    if values is None and (reference := REFERENCE.fullmatch(source)):
        values, first = raw.columns.get(reference["name"]), int(reference["first"])
        part = slice(first, int(reference["stop"]) if reference["stop"] else first + 1)
    if values is None:
        known = nearest(source, raw.columns)
        raise Unreadable(f"{raw.label}: has no column {source!r}; {known}", check="ragged_columns")
    if len(values) != raw.rows:
        raise Unreadable(f"{raw.label}: {source} has {len(values)} of {raw.rows} rows", check="ragged_columns")
    wide = values.reshape(raw.rows, -1) if raw.rows else values.reshape(0, values.shape[1] if values.ndim > 1 else 1)
    chosen = wide[:, part]
    if part.stop is not None and chosen.shape[1] != part.stop - (part.start or 0):
        raise Unreadable(f"{raw.label}: {source}: the column has {wide.shape[1]} elements", check="ragged_columns")
    return chosen


def restored(frames: Mapping[str, np.ndarray], conversions: Mapping[str, Sequence[Mapping]]) -> dict[str, np.ndarray]:
    """Feature -> (rows, d) as recorded: undoes the conversions of `features` in conversions.json."""
    out = {}
    for name, elements in conversions.items():
        stored = frames[name].reshape(len(frames[name]), -1)
        parts = []
        for place, element in enumerate(elements):
            conversion = Conversion(
                element["scale"], element["offset"], element["recorded_unit"], element["stored_unit"], element["unwrap"]
            )
            parts.append(conversion.invert(stored[:, place], lowest=element["lowest"]))
        out[name] = np.stack(parts, axis=1)
    return out
