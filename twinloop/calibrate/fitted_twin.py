"""The file of a fitted twin, and the config of a run in it."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from twinloop.calibrate.by_traits import FittedTwin
from twinloop.config.json_file import load_json
from twinloop.curate.rates import Rate
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import CorruptError
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.fill import FillConfig, FillRegion
from twinloop.run.config import RunConfig
from twinloop.run.randomization import ordered_rows

FITTED = "fitted.json"
MAX_BYTES = 1 << 22
KERNEL = 0.02
"""Half width of the region around a sample, as a share of the range of its column."""
ALL = 0.999999
"""Share of the episodes that is drawn around samples. Shares are rounded, and their sum must not exceed 1."""


def write_fitted(fitted: FittedTwin, file: Path) -> None:
    values = {name: samples.tolist() for name, samples in fitted.values.items()}
    text = json.dumps(asdict(fitted) | {"values": values}, indent=1) + "\n"
    with storage_errors(file):
        replace_file(file, text.encode(), scratch=file.parent)


def read_fitted(file: Path) -> FittedTwin | None:
    """The fitted twin in a file; None without the file."""
    if not file.exists():
        return None
    content = load_json(file, max_bytes=MAX_BYTES, what="a fitted twin", error=CorruptError)
    try:
        values = {str(name): np.array(samples, float) for name, samples in content["values"].items()}
        success, robot = (Rate(**content[key]) for key in ("success", "robot"))
        return FittedTwin(values, success, robot, tuple(map(str, content["logs"])))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptError(f"{file}: is not a fitted twin ({error!s:.80}); delete it and run again") from None


def with_fitted(config: RunConfig, fitted: FittedTwin) -> RunConfig:
    """`config` with the fitted values. Every episode has the values of one sample, which belong together."""
    rows = {column.partition(".")[0] for column in fitted.values}
    ranges: dict[str, Distribution] = {
        name: distribution
        for name, distribution in config.randomization.items()
        if name not in fitted.values and name not in rows
    }
    quantiles: list[dict[str, tuple[float, float]]] = [{} for _ in next(iter(fitted.values.values()))]
    for name, values in fitted.values.items():
        low, high = float(values.min()), float(values.max())
        if low == high:
            ranges[name] = Constant(low)
            continue
        ranges[name] = Uniform(low, high)
        places = np.clip((values - low) / (high - low), KERNEL, 1 - KERNEL)
        for region, place in zip(quantiles, places.tolist(), strict=True):
            region[name] = place - KERNEL, place + KERNEL
    regions = tuple(FillRegion(ALL / len(quantiles), region) for region in quantiles)
    return replace(config, randomization=ordered_rows(ranges), fill=FillConfig(of=fitted.logs, regions=regions))
