"""The settings of an episode's images, from the drawn values of all rows that act on images."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from twinloop.randomize.imaging import ImageSettings, OnImage
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import TABLE

Values = Mapping[str, float]
"""Column of the table -> this episode's value."""

HOOKS: tuple[tuple[Parameter, OnImage], ...] = tuple((row, row.on_image) for row in TABLE if row.on_image is not None)


_COLUMNS = tuple(dict.fromkeys(column for row, _ in HOOKS for column in row.columns))


def image_settings(values: Values) -> ImageSettings:
    """The settings for these values. They are shared by all callers and must not be changed."""
    return _settings(tuple(values[column] for column in _COLUMNS))


@lru_cache(maxsize=1024)
def _settings(drawn_values: tuple[float, ...]) -> ImageSettings:
    values, settings = dict(zip(_COLUMNS, drawn_values, strict=True)), ImageSettings()
    for row, on_image in HOOKS:
        drawn = [values[column] for column in row.columns]
        if any(value != row.nominal for value in drawn):
            on_image(settings, np.array(drawn if row.elements else drawn[0]))
    return settings
