"""Calibration: fits the twin to logs of the robot. The result is a TwinPatch."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.calibrate.bench import Bench as Bench
    from twinloop.calibrate.patch import TwinPatch as TwinPatch
    from twinloop.calibrate.replay import Replay as Replay

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "TwinPatch": "patch",
        "Bench": "bench",
        "Replay": "replay",
    },
)
