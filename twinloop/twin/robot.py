"""Robot: a model to attach to a scene, and the names in it that the pipeline needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from twinloop.twin.area import Area
from twinloop.twin.robot_drive import RobotDrive


@dataclass(frozen=True)
class Gripper:
    """A gripper with one degree of freedom.

    Its `opening` is the sum of its joint positions (for two fingers that slide apart: the gap in metres).

    Attributes:
        joints: joints whose positions add up to the opening.
        actuator: the actuator that opens and closes it.
        finger_bodies: the two bodies that touch the object.
        open, closed: openings.
        open_control, closed_control: the actuator's control at each.
        unit: unit of openings: `m`, or `rad` for a gripper with revolute joints.
    """

    joints: tuple[str, ...]
    actuator: str
    finger_bodies: tuple[str, str]
    open: float
    closed: float
    open_control: float
    closed_control: float
    unit: str = "m"

    def control(self, opening: np.ndarray) -> np.ndarray:
        """The actuator's control for an opening."""
        return self.closed_control + (opening - self.closed) * self.control_slope

    @property
    def control_slope(self) -> float:
        """Change of the control per change of the opening."""
        return (self.open_control - self.closed_control) / (self.open - self.closed)


@dataclass(frozen=True)
class RobotArm:
    """One arm of a robot.

    Attributes:
        name: "" for the arm of a robot that has one.
        first, axes: place of its first joint in the robot's `arm_joints`, and number of its joints.
        tool_site: frame between its finger tips.
        base_m, yaw_deg: where it stands, and its direction about the vertical.
        robot: the robot that this arm of a set is; None for the arm of a robot that has one.
    """

    name: str
    first: int
    axes: int
    gripper: Gripper
    tool_site: str
    base_m: tuple[float, float, float]
    robot: "Robot | None" = None
    yaw_deg: float = 0.0

    @property
    def joints(self) -> slice:
        """Its part of arrays over the joints of all arms."""
        return slice(self.first, self.first + self.axes)

    def named(self, part: str) -> str:
        """Name of a part of this arm among the parts of all arms, e.g. `left.gripper`."""
        return f"{self.name}.{part}" if self.name else part


@dataclass(frozen=True)
class Robot:
    """One or more arms with a gripper each, position-controlled. Limits are the manufacturer's, one per arm joint.

    A robot with several arms lists the joints of one arm after the other. `robot_set` makes it from robots with one
    arm each.

    Attributes:
        build: returns a new spec whose root is the robot's mount. All names below are names in that spec.
        gripper: that of the first arm; `arms` has all of them.
        tool_site: that of the first arm: a frame between the finger tips, whose z points out of the hand and along
            whose y the fingers move.
        acceleration_limits_rad_s2: empty where the manufacturer gives none.
        mount_m: where the robot stands. Objects lie about 0.5 m from the origin, so a short arm stands nearer to
            them, on a plinth.
        model_digest: SHA-256 of the files that the model is built from; "" for a model that is built in code.
        payload_kg: the manufacturer's payload at the flange, gripper included; None where there is no figure.
        area: the part of the table in which tasks place things, for an arm that does not reach everything that a large
            arm at the origin does.
        widest_grip_m: things of tasks are made so small that the gripper holds them firmly; None for as they are. The
            jaws of a gripper with one hinge form a wedge, from which wide things slip.
        closing_speed: how fast the scripted expert closes the gripper, in units of its opening a second; None for as
            fast as the motor can. A jaw with a large gear strikes a thing with the inertia of its motor.
        closed_tips_m: where the tips of the closed fingers are, in the tool's frame.
        travels: joints that move the whole arm about, of a robot with a mobile base.
        source: where the figures are from.
        drive: servo law of its joints; None for the position actuators of the model.
        mapping: what a config file says of a robot that is given by path; None for a robot known by name.
        several: the arms of a robot that has more than one; () for one arm.

    Example:
        >>> from dataclasses import replace
        >>> robot = tl.load_config("cell.yaml").scene.robot
        >>> shifted = replace(robot, name="shifted_panda", mount_m=(0.0, 0.1, 0.0))
        >>> isinstance(shifted, tl.Robot), len(shifted.arm_joints)
        (True, 7)
    """

    name: str
    build: Callable[[], mujoco.MjSpec]
    arm_joints: tuple[str, ...]
    arm_actuators: tuple[str, ...]
    gripper: Gripper
    tool_site: str
    home_rad: tuple[float, ...]
    velocity_limits_rad_s: tuple[float, ...]
    torque_limits_nm: tuple[float, ...]
    reach_m: float
    acceleration_limits_rad_s2: tuple[float, ...] = ()
    mount_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    payload_kg: float | None = None
    area: Area | None = None
    widest_grip_m: float | None = None
    closing_speed: float | None = None
    closed_tips_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    travels: tuple[str, ...] = ()
    source: str = ""
    model_digest: str = ""
    mapping: Any = None
    drive: RobotDrive | None = None
    several: tuple[RobotArm, ...] = ()

    @property
    def arms(self) -> tuple[RobotArm, ...]:
        if self.several:
            return self.several
        return (RobotArm("", 0, len(self.arm_joints), self.gripper, self.tool_site, self.mount_m),)

    @property
    def is_short(self) -> bool:
        """Whether the arm reaches less far than tasks are made for, so that tasks are `fitted` to it."""
        return self.area is not None and self.area.is_short

    @property
    def state_names(self) -> tuple[str, ...]:
        """Elements of states and actions: the joints of all arms, then the grippers."""
        return (*self.arm_joints, *(arm.named("gripper") for arm in self.arms))

    @property
    def home(self) -> tuple[float, ...]:
        """Joint positions and openings at the start of an episode."""
        return (*self.home_rad, *(arm.gripper.open for arm in self.arms))
