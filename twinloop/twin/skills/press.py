"""Press: push a button down with closed fingers, and come up again."""

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation
from twinloop.twin.rotation import pointing_down, yaw_of
from twinloop.twin.scene import Scene
from twinloop.twin.skills.lift import raised

ABOVE_M = 0.06


def press(frame: str, *, depth_m: float, done: Relation, words: str = "") -> tuple[Phase, ...]:
    """Push along the world's vertical at a frame until `done` holds.

    Args:
        depth_m: how far below the frame the fingertips aim, at most.
    """
    words = words or f"press the {{{frame.partition('.')[0]}}}"

    def above(height_m: float):
        def target(scene: Scene, _memory: Memory) -> Target:
            position = scene.position(frame).copy()
            position[:, 2] += height_m
            return Target(position, pointing_down(yaw_of(scene.tool_axes)))

        return target

    def down(_scene: Scene, memory: Memory) -> Target:
        # The button moves down with the tool, so the aim is below where it was when the phase began.
        position = memory.thing_m.copy()
        position[:, 2] -= depth_m
        return Target(position)

    closed = {"gripper": "closed", "tips": True}
    return (
        Phase("approach", above(ABOVE_M), words, thing=frame, anchor=frame, tolerance_m=0.01, shortest_s=0.3, **closed),
        Phase("press", down, words, thing=frame, anchor=frame, until=done.holds, speed_m_s=0.1, **closed),
        Phase("retreat", raised(0.08), words, relative=True, speed_m_s=0.3, tolerance_m=0.02, **closed),
    )
