"""Reach: bring the empty tool to a point above an entity."""

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.rotation import pointing_down, yaw_of
from twinloop.twin.scene import Scene


def reach(
    entity: str, *, height_m: float = 0.1, facing: bool = False, words: str = "", speed_m_s: float = 0.45
) -> tuple[Phase, ...]:
    """Bring the tool to `height_m` above an entity or a frame of it.

    Args:
        facing: turn the tool so that it points down and its x axis is that of the entity.
    """

    def above(scene: Scene, _memory: Memory) -> Target:
        position = scene.position(entity).copy()
        position[:, 2] += height_m
        return Target(position, pointing_down(yaw_of(scene.axes(entity))) if facing else None)

    words = words or f"reach for the {{{entity.partition('.')[0]}}}"
    return (
        Phase("reach", above, words, thing=entity, anchor=entity, turns=facing, speed_m_s=speed_m_s, tolerance_m=0.03,
              stalls_s=2.5),
    )  # fmt: skip
