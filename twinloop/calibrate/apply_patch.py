"""A run config with a patch laid over it: the ranges that calibration proposes, instead of those the file names.

The config's digest is that of the ranges it then has, so data made with a patch and data made without it never mix.
"""

from dataclasses import replace

from twinloop.calibrate.patch import TwinPatch
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.table import TABLE
from twinloop.run.config import RunConfig, inapplicable_rows


def patched(config: RunConfig, patch: TwinPatch) -> RunConfig:
    rows = patched_rows(config, patch)
    both = {**config.randomization, **rows}
    ordered = {parameter.name: both[parameter.name] for parameter in TABLE if parameter.name in both}
    return replace(config, randomization=ordered)


def patched_rows(config: RunConfig, patch: TwinPatch) -> dict[str, Distribution]:
    """What comes from the patch: all of its ranges but those that mean nothing for this scene's object."""
    idle = inapplicable_rows(config.scene.object)
    return {
        name: Uniform(low, high) if low < high else Constant(low)
        for name, (low, high) in patch.ranges.items()
        if name not in idle
    }
