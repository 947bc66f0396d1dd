"""Twin: a compiled cell, with indices into its arrays."""

from dataclasses import dataclass, field

import mujoco
import numpy as np

from twinloop.twin.objects import SceneObject
from twinloop.twin.robot import Robot
from twinloop.twin.shapes import Forms, name_of
from twinloop.twin.soft import SoftIndex
from twinloop.twin.surroundings import Kind
from twinloop.twin.task import Task
from twinloop.twin.touch import TouchIndex


@dataclass(frozen=True)
class Twin:
    """A robot, a task and an object on a table, compiled once and simulated many times.

    Index arrays refer to the model's joints, state and controls; sensor ranges refer to `sensordata`. The body of a
    soft object is the frame that fits its corners, and its geom is used for images and labels only.

    Attributes:
        arm_filters: activations of actuators that filter their commands; -1 for actuators that do not.
        object_geoms: all geoms of the object; `object_geom` is the first.
        soft: indices of the corners of a soft object.
        forms: the shapes that an episode may draw.
    """

    model: mujoco.MjModel
    robot: Robot
    task: Task
    object: SceneObject
    control_hz: int

    arm_joints: np.ndarray
    arm_qpos: np.ndarray
    arm_dofs: np.ndarray
    arm_controls: np.ndarray
    arm_filters: np.ndarray
    gripper_qpos: np.ndarray
    gripper_dofs: np.ndarray
    gripper_control: int
    tool_site: int
    object_body: int
    object_geom: int
    object_qpos: int
    object_dof: int
    table_body: int
    target_mocap: int
    clutter_mocaps: np.ndarray
    sensors: dict[str, slice]
    longest_delay_s: float = 0.0
    object_geoms: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    pad_geoms: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    forms: Forms | None = None
    soft: SoftIndex | None = None
    touch: TouchIndex | None = None
    surroundings: frozenset[Kind] = frozenset()

    @property
    def control_period_s(self) -> float:
        return 1 / self.control_hz

    @property
    def substeps(self) -> int:
        """Physics steps per control period."""
        return round(self.control_period_s / self.model.opt.timestep)

    @property
    def arm_limits_rad(self) -> np.ndarray:
        """(joints, 2) lower and upper position limits."""
        return self.model.jnt_range[self.arm_joints]

    @property
    def has_wrist_sensors(self) -> bool:
        return "force" in self.sensors

    @property
    def has_person(self) -> bool:
        """True if there is a person that the robot may touch: the task's person or a bystander."""
        return bool(self.task.person) or "bystander" in self.surroundings

    def mocap(self, body: str) -> int:
        """Index of a body in the engine's array of mocap bodies."""
        return int(self.model.body_mocapid[self.model.body(body).id])

    @property
    def instruction(self) -> str:
        return self.task.instruction.format(object=self.object.name)

    def pose_object(self, data: mujoco.MjData, environment: np.ndarray) -> None:
        """Set the object's pose from one row of recorded states.

        Args:
            environment: the pose first; for a soft object its corners last.
        """
        pose = environment[:7]
        if self.soft is None:
            data.qpos[self.object_qpos : self.object_qpos + 7] = pose
            return
        frame = int(self.model.body_mocapid[self.object_body])
        data.mocap_pos[frame], data.mocap_quat[frame] = pose[:3], pose[3:]
        data.qpos[self.soft.qpos] = environment[-self.soft.qpos.size :].reshape(-1, 3) - self.soft.home_m

    def instruction_for(self, draw_shape: float) -> str:
        """Instruction of an episode that has drawn this shape."""
        return self.task.instruction.format(object=name_of(self.object, draw_shape))

    @property
    def longest_ticks(self) -> int:
        return round(self.task.longest_s * self.control_hz)
