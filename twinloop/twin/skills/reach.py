"""Reach: bring the empty tool to a point above an entity."""

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.scene import Scene


def reach(entity: str, *, height_m: float = 0.1, words: str = "", speed_m_s: float = 0.45) -> tuple[Phase, ...]:
    def above(scene: Scene, _memory: Memory) -> Target:
        position = scene.position(entity).copy()
        position[:, 2] += height_m
        return Target(position)

    words = words or f"reach for the {{{entity.partition('.')[0]}}}"
    return (Phase("reach", above, words, thing=entity, anchor=entity, speed_m_s=speed_m_s, tolerance_m=0.02),)
