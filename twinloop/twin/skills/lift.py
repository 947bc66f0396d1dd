"""Lift: raise the tool straight up, with or without something in its grip."""

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.scene import Scene


def lift(thing: str, *, by_m: float = 0.12, speed_m_s: float = 0.35) -> tuple[Phase, ...]:
    """Raise a gripped thing."""
    return (
        Phase("lift", raised(by_m), f"lift the {{{thing}}}", thing=thing, gripper="closed", carrying=thing,
              relative=True, speed_m_s=speed_m_s, tolerance_m=0.03),
    )  # fmt: skip


def raised(by_m: float):
    """Target: above where the tool was when the phase began."""

    def target(_scene: Scene, memory: Memory) -> Target:
        position = memory.tool_m.copy()
        position[:, 2] += by_m
        return Target(position)

    return target
