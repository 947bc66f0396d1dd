"""Task: data that an expert can follow and a check can test: start, phases, success and failures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import mujoco
import numpy as np

from twinloop.twin.failure import COMMON, Failure
from twinloop.twin.objects import SceneObject


@dataclass(frozen=True)
class Phase:
    """One step of a task: move the tool or the object to a point.

    Attributes:
        moves: the tool, or the object in its grip. It is moved to `height_m` above the anchor's point.
        until: the condition that ends the phase: arrived, both fingers press, or the gripper is open.
        longest_s: a phase that takes longer ends the episode.
        carrying: a phase that loses the object goes back to the task's `retry_from`.
        noise: factor on the expert's injected action noise; 0 while the fingers close.
    """

    name: str
    anchor: str
    height_m: float
    gripper: Literal["open", "closed"]
    until: Literal["arrived", "gripped", "opened"] = "arrived"
    moves: Literal["tool", "object"] = "tool"
    speed_m_s: float = 0.5
    tolerance_m: float = 0.01
    shortest_s: float = 0.0
    longest_s: float = 4.0
    carrying: bool = False
    noise: float = 1.0


@dataclass(frozen=True)
class Start:
    """Poses at the start of an episode: x, y, z, then a quaternion w, x, y, z."""

    object_pose: np.ndarray
    goal_pose: np.ndarray


class Scene(Protocol):
    """The state of n simulations that a task may read, one row each. Positions are in the world, in metres."""

    @property
    def tool_position(self) -> np.ndarray: ...
    @property
    def object_position(self) -> np.ndarray: ...
    @property
    def object_yaw_rad(self) -> np.ndarray: ...
    @property
    def object_speed_m_s(self) -> np.ndarray: ...
    @property
    def object_half_height_m(self) -> np.ndarray: ...
    @property
    def goal_position(self) -> np.ndarray: ...
    @property
    def table_height_m(self) -> np.ndarray: ...
    @property
    def finger_force_n(self) -> np.ndarray: ...
    @property
    def support_force_n(self) -> np.ndarray: ...


@dataclass(frozen=True)
class Task:
    """Reset, phases, success: all that a task is. A new task is a new file with one of these.

    start: (values of the draw, how many, the object) -> Start
    anchors: Scene -> anchor name -> (n, 3) points that phases refer to; "here" is always there: where the
        tool was when the phase began.
    success: Scene -> (n,) bool, asked after the last phase.
    goal_poses: (values of the draw, seconds since the start) -> (n, 7), for a goal that moves by itself.
    person: the body that is somebody, where there is a person: how hard the robot touches it is watched.
    failures: names for what goes wrong, the first that holds is given.

    Example:
        >>> task = tl.load_config("cell.yaml").scene.task
        >>> isinstance(task, tl.Task), [phase.name for phase in task.phases][:3]
        (True, ['approach', 'descend', 'grasp'])
    """

    name: str
    instruction: str
    phases: tuple[Phase, ...]
    retry_from: str
    longest_s: float
    furnish: Callable[[mujoco.MjSpec], None]
    start: Callable[[Mapping[str, np.ndarray], int, SceneObject], Start]
    anchors: Callable[[Scene], Mapping[str, np.ndarray]]
    success: Callable[[Scene], np.ndarray]
    goal_poses: Callable[[Mapping[str, np.ndarray], np.ndarray], np.ndarray] | None = None
    person: str = ""
    failures: tuple[Failure, ...] = COMMON
