"""The control rate of a twin, in seconds and in physics steps."""

from dataclasses import dataclass

import mujoco


@dataclass(frozen=True, kw_only=True)
class ControlRate:
    """A compiled model that is commanded at a fixed rate: what twins of all kinds of robots are."""

    model: mujoco.MjModel
    control_hz: int

    @property
    def control_period_s(self) -> float:
        return 1 / self.control_hz

    @property
    def substeps(self) -> int:
        """Physics steps per control period."""
        return round(self.control_period_s / self.model.opt.timestep)
