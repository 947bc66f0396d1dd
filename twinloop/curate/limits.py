"""Limits of the plausibility checks. The defaults suit a table-top arm."""

from dataclasses import dataclass, replace

from twinloop.config.fields import flag, number
from twinloop.twin.task import Task

LONGEST_SHARE = 0.6
"""An episode that needs more of its task's time limit has lost its way, even if it ends in success."""


def _limit(default: float, unit: str, help: str) -> float:
    return number(default, low=0, high=1e6, unit=unit, help=help)


@dataclass(frozen=True)
class CurateConfig:
    """The largest values that a plausible episode may have. The help text of each field describes its quantity."""

    penetration_mm: float = _limit(6.0, "mm", "deepest overlap of two bodies")
    object_jump_m_s: float = _limit(2.5, "m/s", "largest change of the object's velocity within a control period")
    joint_margin_deg: float = _limit(0.5, "°", "how far a joint may be beyond its range")
    velocity_share: float = _limit(1.0, "of limit", "largest joint velocity")
    torque_share: float = _limit(1.0, "of limit", "largest joint torque")
    contact_force_n: float = _limit(400.0, "N", "hardest contact")
    person_force_n: float = _limit(140.0, "N", "largest force on a person (140 N: a clamped hand, ISO/TS 15066)")
    workspace_m: float = _limit(0.95, "m", "largest distance of the object from the robot's base")
    longest_s: float | None = number(
        None, low=0, high=1e6, unit="s", help="longest episode", otherwise="0.6 of the task's time limit"
    )
    require_success: bool = flag(True, help="reject episodes that end without success")

    def for_task(self, task: Task) -> "CurateConfig":
        """These limits, with those that depend on the task filled in."""
        return self if self.longest_s is not None else replace(self, longest_s=LONGEST_SHARE * task.longest_s)
