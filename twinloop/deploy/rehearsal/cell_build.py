"""CellBuild: everything that a physics engine needs to build one episode of a rehearsal cell.

Its core is a MuJoCo model with the cell's own numbers. Engines read bodies, joints, shapes and collision masks from it;
MuJoCo itself computes only kinematics here.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from twinloop.deploy.rehearsal.cell_file import CellConfig
from twinloop.deploy.rehearsal.cell_layout import CellLayout
from twinloop.deploy.rehearsal.cell_scene import CellScene
from twinloop.deploy.rehearsal.effects import worn_pads
from twinloop.deploy.rehearsal.own_numbers import ROBOT, OwnNumbers, own_numbers
from twinloop.errors import UsageError
from twinloop.twin.assemble import assemble
from twinloop.twin.clutter import PARKED_M, THINGS
from twinloop.twin.compose import PLAIN
from twinloop.twin.table import PIVOT_M
from twinloop.twin.task import Task
from twinloop.twin.twin import Twin

FIXTURE_GRIP, MOST_RATIO = 1.0, 1.8
"""Friction between fingers and fixtures, and its largest ratio to the friction of things."""
JOINT_KINDS = (mujoco.mjtJoint.mjJNT_HINGE.value, mujoco.mjtJoint.mjJNT_SLIDE.value)


@dataclass(frozen=True)
class Motor:
    """A position servo. joint: in the model. limit: of its force or torque, N or N·m."""

    joint: int
    stiffness: float
    damping: float
    limit: float


@dataclass(frozen=True)
class CellBuild:
    """One episode's cell, ready to be built by an engine.

    Attributes:
        twin: the twin of this episode's things; indices of the model.
        model: the twin's model with the cell's own numbers.
        motors: of the joints of all arms in order, then of each gripper's.
        gripper_motors: number of motors of each gripper.
        thing_friction: friction of things against new surfaces.
        friction: (geoms,) the same for every geom, with the cell's own factors.
        fixture_friction: friction between fingers and fixtures.
        stiffness_pa: body of a thing -> contact stiffness.
        table: pose of the table.
        placed: body that has no joint of its own (mocap) -> pose; bodies that an episode does not have are left out.
        compensated: the robot carries its own weight.
    """

    twin: Twin
    model: mujoco.MjModel
    own: OwnNumbers
    motors: tuple[Motor, ...]
    gripper_motors: tuple[int, ...]
    thing_friction: float
    friction: np.ndarray
    fixture_friction: float
    stiffness_pa: Mapping[int, float]
    dissipation_s_m: float
    gravity_m_s2: np.ndarray
    table: np.ndarray
    placed: Mapping[int, np.ndarray]
    compensated: bool

    @property
    def finger_bodies(self) -> tuple[int, ...]:
        """The two fingers of each arm."""
        names = (name for arm in self.twin.robot.arms for name in arm.gripper.finger_bodies)
        return tuple(self.model.body(ROBOT + name).id for name in names)

    def targets(self, command: np.ndarray) -> np.ndarray:
        """Return the target of every motor for a command: joints of all arms, then the openings of the grippers."""
        joints = self.twin.joints
        parts = [command[:joints]]
        for arm, opening, count in zip(self.twin.robot.arms, command[joints:], self.gripper_motors, strict=True):
            parts.append(np.full(count, float(arm.gripper.control(np.asarray(opening)))))
        return np.concatenate(parts)

    def by_opening(self, motors: np.ndarray) -> np.ndarray:
        """Return values of motors with those of each gripper added up: one for each element of a command."""
        joints = self.twin.joints
        ends = joints + np.cumsum(self.gripper_motors)
        return np.append(motors[:joints], [motors[end - count : end].sum()
                                           for end, count in zip(ends, self.gripper_motors, strict=True)])  # fmt: skip


def collides(model: mujoco.MjModel, geom: int) -> bool:
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


_TWINS: OrderedDict[tuple, Twin] = OrderedDict()
MAX_TWINS = 16


def twin_of_scene(scene: CellScene, task: Task, *, clutter: bool = False) -> Twin:
    """Return the twin of a scene with the things of a task, compiled once for the same things."""
    things = tuple(thing.object for thing in task.things)
    bases = tuple((arm.name, arm.base_m, arm.yaw_deg) for arm in scene.robot.arms)
    robot = (scene.robot.name, scene.robot.model_digest, bases)
    key = (robot, task.name, things, scene.control_hz, scene.layout, clutter)
    if key not in _TWINS:
        features = replace(PLAIN, clutter=clutter)
        _TWINS[key] = assemble(scene.robot, task, control_hz=scene.control_hz, features=features, layout=scene.layout)
        if len(_TWINS) > MAX_TWINS:
            _TWINS.popitem(last=False)
    return _TWINS[key]


def build_of(cell: CellConfig, layout: CellLayout) -> CellBuild:
    """Return the build of one episode. Raise UsageError for a robot that cells cannot simulate."""
    stands = layout.clutter_m[:, 2] > PARKED_M + 0.1
    twin = twin_of_scene(cell.scene, layout.task, clutter=bool(stands.any()))
    own = own_numbers(twin, seed=cell.seed, size=cell.own)
    model, values = own.model, layout.values
    refuse_unsupported(model, cell.scene.robot.name)
    for index in twin.things:
        if not index.thing.grain:
            offset_mm = [layout.of_thing(index.name, f"object_com_offset_mm.{axis}") for axis in "xyz"]
            model.body_ipos[index.body] += np.array(offset_mm) / 1000
    friction = values["friction_coefficient"]
    arms = _arm_motors(model, twin, own, values)
    grippers = [_gripper_motors(model, twin, own, values, arm=number) for number in range(len(twin.arms))]
    return CellBuild(
        twin=twin,
        model=model,
        own=own,
        motors=tuple(motor for part in (arms, *grippers) for motor in part),
        gripper_motors=tuple(len(motors) for motors in grippers),
        thing_friction=friction,
        friction=_friction(model, twin, own, layout, worn_pads(cell.effects)),
        fixture_friction=min(FIXTURE_GRIP, MOST_RATIO * friction),
        stiffness_pa={
            index.body: layout.stiffness_pa[index.name] * values["contact_stiffness_scale"] for index in twin.things
        },
        dissipation_s_m=values["contact_dissipation_s_m"],
        gravity_m_s2=layout.gravity_m_s2,
        table=_table_pose(own, values["table_height_cm"] / 100),
        placed=_placed(twin, layout, stands),
        compensated=bool(model.body_gravcomp[[twin.model.jnt_bodyid[joint] for joint in twin.arm_joints]].mean() > 0.5),
    )


def refuse_unsupported(model: mujoco.MjModel, robot: str) -> None:
    """Raise UsageError for a model with parts that cells cannot simulate."""
    kinds = mujoco.mjtEq
    for equality in range(model.neq):
        if model.eq_type[equality] != kinds.mjEQ_JOINT.value:
            name = kinds(int(model.eq_type[equality])).name.removeprefix("mjEQ_").lower()
            raise UsageError(
                f"robot {robot}: has an equality of type {name} (a closed chain), which rehearsal cells cannot "
                "simulate; couple the joints by equalities of type joint instead"
            )
    for joint in range(model.njnt):
        if model.joint(joint).name.startswith(ROBOT) and model.jnt_type[joint] not in JOINT_KINDS:
            raise UsageError(
                f"robot {robot}: joint {model.joint(joint).name.removeprefix(ROBOT)} is neither a hinge nor a slide, "
                "which rehearsal cells cannot simulate"
            )


def _arm_motors(model: mujoco.MjModel, twin: Twin, own: OwnNumbers, values: Mapping[str, float]) -> list[Motor]:
    motors = []
    for number, actuator in enumerate(twin.arm_controls):
        kp, kd, limit = _gains(model, int(actuator))
        motors.append(Motor(
            joint=int(twin.arm_joints[number]),
            stiffness=kp * values["servo_stiffness_scale"] * own.stiffness[number],
            damping=kd * values["servo_damping_scale"] * own.damping[number],
            limit=limit * values["motor_strength_scale"] * own.strength[number],
        ))  # fmt: skip
    return motors


def _gripper_motors(
    model: mujoco.MjModel, twin: Twin, own: OwnNumbers, values: Mapping[str, float], *, arm: int
) -> list[Motor]:
    control = int(twin.gripper_controls[arm])
    kp, kd, limit = _gains(model, control)
    limit *= values["grip_force_scale"] * own.grip[arm]
    target = int(model.actuator_trnid[control, 0])
    if model.actuator_trntype[control] == mujoco.mjtTrn.mjTRN_JOINT.value:
        return [Motor(target, kp, kd, limit)]
    # The force of a tendon's motor is divided among its joints.
    wraps = range(int(model.tendon_adr[target]), int(model.tendon_adr[target] + model.tendon_num[target]))
    shares = {int(model.wrap_objid[wrap]): float(model.wrap_prm[wrap]) for wrap in wraps}
    return [Motor(joint, share * kp, share * kd, share * limit) for joint, share in shares.items()]


def _gains(model: mujoco.MjModel, actuator: int) -> tuple[float, float, float]:
    """Return stiffness, damping and limit of a position servo."""
    limit = float(np.abs(model.actuator_forcerange[actuator]).max())
    kp, kd = float(model.actuator_gainprm[actuator, 0]), float(-model.actuator_biasprm[actuator, 2])
    return kp, kd, limit if limit > 0 else 1e4


def _friction(
    model: mujoco.MjModel, twin: Twin, own: OwnNumbers, layout: CellLayout, pads: tuple[float, float]
) -> np.ndarray:
    """Return (geoms,) friction of every geom against a thing."""
    friction = np.full(model.ngeom, layout.values["friction_coefficient"])
    things = {index.body: index.name for index in twin.things}
    sides = {model.body(ROBOT + name).id: side
             for arm in twin.robot.arms for side, name in enumerate(arm.gripper.finger_bodies)}  # fmt: skip
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        if body in things:
            friction[geom] *= own.surface["thing"]
        elif body == twin.table_body:
            friction[geom] *= own.surface["table"]
        elif body in sides:
            side = sides[body]
            friction[geom] *= own.surface["left" if side == 0 else "right"] * pads[side]
    return friction


def _table_pose(own: OwnNumbers, height_m: float) -> np.ndarray:
    """Return the pose of the table: raised, and sloped about the middle of the workspace."""
    quat = np.array([1.0, own.table_slope[1] / 2, -own.table_slope[0] / 2, 0.0])
    rise_m = own.table_m - own.table_slope[0] * PIVOT_M[0]
    return np.array([0.0, 0.0, height_m + rise_m, *(quat / np.linalg.norm(quat))])


def _placed(twin: Twin, layout: CellLayout, stands: np.ndarray) -> dict[int, np.ndarray]:
    placed = {index.body: layout.start.poses[index.name][0] for index in twin.fixtures}
    for number, name in enumerate(THINGS):
        if stands[number]:
            body = twin.model.body(f"clutter/{name}").id
            placed[body] = np.array([*layout.clutter_m[number], 1.0, 0.0, 0.0, 0.0])
    return placed
