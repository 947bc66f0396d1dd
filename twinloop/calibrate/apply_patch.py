"""Apply a patch to a run config: the proposed ranges replace those of the file.

The digest of the config follows its ranges, so data made with and without a patch do not mix.
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
    """The ranges of the patch, without rows that do not apply to the object of this scene."""
    idle = inapplicable_rows(config.scene.world)
    return {
        name: Uniform(low, high) if low < high else Constant(low)
        for name, (low, high) in patch.ranges.items()
        if name not in idle
    }
