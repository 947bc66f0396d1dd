"""Phase: one closed-loop motion of the tool. A task's program is a sequence of phases, which skills make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from twinloop.twin.scene import Scene

Condition = Callable[["Scene"], np.ndarray]
"""Scene -> (n,) bool."""


@dataclass
class Memory:
    """The actor's memory of each slot.

    Attributes:
        tool_m, tool_axes: (n, 3) and (n, 3, 3) pose of the tool when the current phase began.
        thing_m, thing_axes: pose of the thing that the phase is about (`Phase.thing`) when it began.
        grip_m, grip_axes: pose of the tool in the frame of the thing that is or will be gripped.
        elapsed_s: (n,) time since the phase began.
    """

    tool_m: np.ndarray
    tool_axes: np.ndarray
    thing_m: np.ndarray
    thing_axes: np.ndarray
    grip_m: np.ndarray
    grip_axes: np.ndarray
    elapsed_s: np.ndarray


@dataclass
class Target:
    """Where a phase moves the tool, or the thing in its grip: positions (n, 3) and tool axes (n, 3, 3).

    `axes` None: the tool keeps the axes of the phase before.
    """

    position: np.ndarray
    axes: np.ndarray | None = None


@dataclass(frozen=True)
class FingerRoom:
    """Obstacles that the open fingers must keep clear of.

    Attributes:
        things: other things.
        within: frame on the floor of a bin; "" for none.
        half_m: half extents of the bin inside, along the axes of that frame.
        wall_m: height of its walls.
    """

    things: tuple[str, ...] = ()
    within: str = ""
    half_m: tuple[float, float] = (0.0, 0.0)
    wall_m: float = 0.0


@dataclass(frozen=True)
class GripChoice:
    """Choose a grip when the phase begins.

    Attributes:
        of: the entity, or a frame of it (`drawer.handle`), that is gripped.
        approach: direction from which the tool comes: `top`, `side`, or `frame` for the z axis of the frame itself.
        raise_m: distance from the centre of a thing to the grip, along the approach and towards the hand.
        offset_m: from the centre to the grip, along the axes of the thing.
        tilt_rad: turn the tool about its closing direction, towards the direction `along`.
        along: direction in the frame of the thing that the tool's x axis is to have; (0, 0, 0) for any.
        room: what the open fingers must keep clear of.
        turn_rad: what is gripped is turned by this about the vertical afterwards. For `frame` grips, the way round is
            chosen in which the wrist is nearest to home in the middle of that turn.
    """

    of: str
    approach: Literal["top", "side", "frame"] = "top"
    raise_m: float = 0.0
    offset_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    along: tuple[float, float, float] = (0.0, 0.0, 0.0)
    tilt_rad: float = 0.0
    room: FingerRoom | None = None
    turn_rad: float = 0.0


@dataclass(frozen=True)
class Phase:
    """One motion.

    Attributes:
        name: short name, e.g. `approach`.
        target: (Scene, Memory) -> Target, evaluated in every control period.
        words: the sub-task in words, with slots, e.g. `grasp the {object}`.
        thing: the entity that the phase is about; its pose at the start of the phase is remembered.
        anchor: the entity at which the target is; "" for a target relative to where the phase began.
        moves: `tool`, or the entity (or frame of it) in the grip that is brought to the target.
        gripper: what the fingers are told to do.
        until: the condition that ends the phase: arrived, both fingers press, the gripper is open, or a Condition.
        grip: choose a grip when the phase begins.
        follow: choose the grip again in every period, for a round thing that rolls under the hand.
        tips: the tips of the closed fingers are brought to the target, and not the tool frame between open ones.
        carrying: the thing that must stay in the grip. If it is lost, the program goes back to `retry`.
        lost: Scene -> (n,) bool, True where the phase has lost what it moves; then the program goes back to `retry`.
        retry: name of the phase to go back to; the last phase with a `grip` by default.
        relative: the target is relative to where the phase began, so being there says nothing of other phases.
        funnel: descend only as far as the horizontal error allows.
        turns: the phase waits for the orientation too.
        leans_rad: how far the hand leans past the vertical, with the fingers pointing back to the robot.
        press_n: largest force along the approach, to which the tool gives way; 0 for any.
        stalls_s: a phase that is near its target but blocked goes on to the next after this time; 0 for never.
        longest_s: a phase that takes longer ends the episode.
        noise: factor on the expert's injected action noise; 0 while the fingers close.
        arm: the arm that makes the motion; "" for a robot with one arm. See `in_steps`.
        step: arms follow their phases of a step in parallel, and wait for each other before the next step.
    """

    name: str
    target: "Callable[[Scene, Memory], Target]"
    words: str = ""
    thing: str = ""
    anchor: str = ""
    moves: str = "tool"
    gripper: Literal["open", "closed"] = "open"
    until: "Literal['arrived', 'gripped', 'opened'] | Condition" = "arrived"
    grip: GripChoice | None = None
    follow: GripChoice | None = None
    tips: bool = False
    carrying: str = ""
    lost: Condition | None = None
    retry: str = ""
    speed_m_s: float = 0.5
    tolerance_m: float = 0.01
    turns: bool = False
    relative: bool = False
    funnel: bool = True
    shortest_s: float = 0.0
    leans_rad: float = 0.0
    press_n: float = 0.0
    stalls_s: float = 0.0
    longest_s: float = 4.0
    noise: float = 1.0
    lost_m: float = 0.045
    arm: str = ""
    step: int = 0


def in_steps(*steps: Mapping[str, tuple[Phase, ...]]) -> tuple[Phase, ...]:
    """A program for several arms.

    Args:
        steps: arm -> its phases. Every step has phases of every arm; `hold` is one that does nothing else.
    """
    program = []
    for number, phases in enumerate(steps):
        # Phases of the arms alternate, so the first phase that is not done belongs to the arm that is behind.
        for row in zip_longest(
            *([replace(phase, arm=arm, step=number) for phase in own] for arm, own in phases.items())
        ):
            program += [phase for phase in row if phase is not None]
    return tuple(program)
