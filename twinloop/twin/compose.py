"""Compose the spec of a cell: robot, table, things, fixtures, surroundings and contact sensors."""

from collections.abc import Collection
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.bystander import NAME as BYSTANDER
from twinloop.twin.clutter import furnish as furnish_clutter
from twinloop.twin.entity import Fixture, Thing
from twinloop.twin.robot import Robot, RobotArm
from twinloop.twin.soft import add_soft
from twinloop.twin.solid import PAD_SLIP_RATIO, add_parts, add_thing, soften
from twinloop.twin.surroundings import KINDS, Kind
from twinloop.twin.surroundings import furnish as furnish_surroundings
from twinloop.twin.task import Task
from twinloop.twin.touch import add_touch

PREFIX = "robot/"
TABLE_THICKNESS_M = 0.04
FINGER_SENSORS = ("left_finger", "right_finger")

# name -> (what one side is, what the other is, how contacts are reduced, what is read of them)
_FORCE = 1 << mujoco.mjtConDataField.mjCONDATA_FORCE.value
_DISTANCE = 1 << mujoco.mjtConDataField.mjCONDATA_DIST.value
_BY_DEPTH, _BY_FORCE, _NET_FORCE = 1, 2, 3


@dataclass(frozen=True)
class Features:
    """Features of a cell that make the physics slower, so a cell has only those that its config needs.

    Attributes:
        rolling_friction: of things that do not roll.
        off_centre_mass: the centre of mass of things can be moved.
        wrist_sensors: force, torque and inertial sensors at the hand.
        longest_delay_s: length of the delay lines of commands.
        shapes: things have drawn shapes.
        two_materials: the surface of things has two materials.
        soft_pads: finger pads have their own softness.
        touch: taxels on the finger pads.
    """

    rolling_friction: bool = False
    off_centre_mass: bool = False
    wrist_sensors: bool = False
    clutter: bool = False
    longest_delay_s: float = 0.0
    shapes: bool = False
    two_materials: bool = False
    soft_pads: bool = False
    touch: bool = False
    surroundings: frozenset[Kind] = frozenset()


PLAIN = Features()


def features_of(parts: Collection[str], *, wrist_sensors: bool, touch: bool, longest_delay_s: float) -> Features:
    """Features with the named parts: flags of `Features`, or kinds of surroundings."""
    kinds: frozenset[Kind] = frozenset(kind for kind in KINDS if kind in parts)
    flags = {part: True for part in parts if part not in kinds}
    return Features(
        **flags, wrist_sensors=wrist_sensors, touch=touch, longest_delay_s=longest_delay_s, surroundings=kinds
    )


def compose(robot: Robot, task: Task, *, timestep_s: float = 0.004, features: Features = PLAIN) -> mujoco.MjSpec:
    """Return the spec of a cell with everything that the physics needs. Lights and cameras are part of the stage."""
    spec = mujoco.MjSpec()
    spec.modelname = f"{robot.name}/{task.name}"
    set_options(spec, timestep_s)
    _add_table(spec)
    robot_spec = robot.build()
    spec.attach(robot_spec, frame=spec.worldbody.add_frame(pos=robot.mount_m), prefix=PREFIX)
    for arm in robot.arms:
        if arm.base_m[2] > 0:
            _add_plinth(spec, arm)
    for thing in task.things:
        _add(spec, thing, features, several=len(task.things) > 1)
    for fixture in task.fixtures:
        _add_fixture(spec, fixture)
    if features.clutter:
        furnish_clutter(spec)
    first = task.things[0]
    furnish_surroundings(spec, first.object, features.surroundings)
    bystander = BYSTANDER if "bystander" in features.surroundings else ""
    sensed = _sensed(task)
    _add_sensors(spec, robot, task, sensed, bystander)
    if features.wrist_sensors:
        _add_wrist_sensors(spec, robot)
    for arm in robot.arms:
        fingers = finger_bodies(arm)
        if features.touch:
            add_touch(spec, fingers, sensed, prefix=arm.named(""))
        if features.soft_pads:
            for body in fingers:
                soften(spec.body(body))
            spec.option.impratio = PAD_SLIP_RATIO
    for sensor in spec.sensors:
        sensor.nsample = 1  # room for the time of the last reading: see `Engine.read_forces_every`
    if features.longest_delay_s > 0:
        for actuator in spec.actuators:
            actuator.nsample = int(np.ceil(features.longest_delay_s / timestep_s)) + 1
    return spec


def _add(spec: mujoco.MjSpec, thing: Thing, features: Features, *, several: bool) -> None:
    rolls = thing.object.rolls or features.rolling_friction or features.shapes or bool(thing.object.pool)
    if thing.object.soft:
        add_soft(spec, thing, rolls=rolls, several=several)
    elif has_forms(thing, features):
        add_parts(spec, thing, rolls=rolls, cut=features.two_materials, several=several)
    else:
        add_thing(spec, thing, rolls=rolls, simple=not features.off_centre_mass, several=several)


def has_forms(thing: Thing, features: Features) -> bool:
    """Whether an episode may change the shape or the materials of a thing: a rigid primitive, or one of a pool."""
    if thing.object.pool:
        return True
    changes = features.shapes or features.two_materials
    kind = thing.object
    return changes and not (kind.soft or kind.parts or kind.mesh is not None or thing.grain)


def _add_fixture(spec: mujoco.MjSpec, fixture: Fixture) -> None:
    body = spec.worldbody.add_body(name=fixture.name, mocap=True)
    fixture.furnish(spec, body)


def _sensed(task: Task) -> str:
    """The body whose contacts with fingers and table are measured; "" for all contacts.

    Contacts of a soft thing belong to no body. In a scene of several things or with moving parts all contacts count.
    """
    alone = len(task.things) == 1 and not any(fixture.joint for fixture in task.fixtures)
    return task.things[0].name if alone and not task.things[0].object.soft else ""


def compiled(spec: mujoco.MjSpec, robot: Robot, task: Task) -> mujoco.MjModel:
    try:
        return spec.compile()
    except ValueError as error:
        raise ModelError(f"robot {robot.name} does not compile into the {task.name} scene: {error}") from error


def set_options(spec: mujoco.MjSpec, timestep_s: float) -> None:
    """Set the engine options of all cells."""
    spec.compiler.degree = False
    option = spec.option
    option.timestep = timestep_s
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    off = mujoco.mjtDisableBit
    # A diverged state must stay visible; the engine's automatic reset would look like valid data. For one small
    # tree, constraint islands and warm starts cost more than they save: a quarter of a step was measured, with the
    # same grasps.
    option.disableflags = off.mjDSBL_AUTORESET.value | off.mjDSBL_ISLAND.value | off.mjDSBL_WARMSTART.value
    spec.memory = 1 << 20


def _add_plinth(spec: mujoco.MjSpec, arm: RobotArm) -> None:
    """Add the plinth of an arm that is mounted above the table. It has no contacts."""
    x, y, height = arm.base_m
    spec.worldbody.add_geom(
        name=arm.named("plinth"), type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.06, 0.05, height / 2], pos=[x, y, height / 2],
        rgba=[0.3, 0.3, 0.32, 1], contype=0, conaffinity=0,
    )  # fmt: skip


def _add_table(spec: mujoco.MjSpec) -> None:
    table = spec.worldbody.add_body(name="table")
    table.add_geom(
        name="table", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.45, 0.6, TABLE_THICKNESS_M / 2],
        pos=[0.35, 0, -TABLE_THICKNESS_M / 2], rgba=[0.72, 0.6, 0.46, 1], contype=0, conaffinity=3,
    )  # fmt: skip


def _add_sensors(spec: mujoco.MjSpec, robot: Robot, task: Task, thing: str, bystander: str) -> None:
    """Add the contact sensors.

    Args:
        thing: the body whose contacts are counted; "" for all contacts of a finger or of the table.
    """
    body, none = mujoco.mjtObj.mjOBJ_XBODY, mujoco.mjtObj.mjOBJ_UNKNOWN
    roots = [child.name for child in spec.worldbody.bodies if child.name.startswith(PREFIX)]
    fingers = [
        (arm.named(name), body, thing, _NET_FORCE, _FORCE)
        for arm in robot.arms
        for name, body in zip(FINGER_SENSORS, finger_bodies(arm), strict=True)
    ]
    finger_names = {name for name, *_ in fingers}
    pairs = [finger_bodies(arm) for arm in robot.arms]
    # A jaw that is part of the hand: its forces are its own, without those of the jaw that moves in it.
    outer = {one for pair in pairs for one, other in (pair, pair[::-1]) if _inside(spec, one, other)}
    for name, first, second, reduction, data in (
        *fingers,
        ("support", "table", thing, _NET_FORCE, _FORCE),
        ("deepest", "", "", _BY_DEPTH, _DISTANCE),
        ("hardest", "", "", _BY_FORCE, _FORCE),
        *(
            (f"person{_number(number, arm)}", name, root, _NET_FORCE, _FORCE)
            for number, name in enumerate(task.people)
            for arm, root in enumerate(roots)
        ),
        *(
            (f"bystander{_number('', arm)}", bystander, root, _NET_FORCE, _FORCE)
            for arm, root in enumerate(roots)
            if bystander
        ),
    ):
        sensor = spec.add_sensor(name=name, type=mujoco.mjtSensor.mjSENS_CONTACT)
        sensor.objtype, sensor.objname = (body, first) if first else (none, "")
        if name in finger_names and first in outer:
            sensor.objtype = mujoco.mjtObj.mjOBJ_BODY
        sensor.reftype, sensor.refname = (body, second) if second else (none, "")
        sensor.intprm[:3] = [data, reduction, 1]


def _inside(spec: mujoco.MjSpec, outer: str, inner: str) -> bool:
    """Whether a body is part of another body's subtree."""
    parent = spec.body(inner).parent
    while parent is not None and parent.name != "world":
        if parent.name == outer:
            return True
        parent = parent.parent
    return False


def _add_wrist_sensors(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Add sensors of force and torque between hand and arm, and of the hand's acceleration and angular rate.

    All of them are in the tool's frame.
    """
    kinds = mujoco.mjtSensor
    for arm in robot.arms:
        for name, kind in (
            ("force", kinds.mjSENS_FORCE),
            ("torque", kinds.mjSENS_TORQUE),
            ("acceleration", kinds.mjSENS_ACCELEROMETER),
            ("turn_rate", kinds.mjSENS_GYRO),
        ):
            sensor = spec.add_sensor(name=arm.named(name), type=kind)
            sensor.objtype, sensor.objname = mujoco.mjtObj.mjOBJ_SITE, PREFIX + arm.tool_site


def finger_bodies(arm: RobotArm) -> tuple[str, str]:
    left, right = arm.gripper.finger_bodies
    return PREFIX + left, PREFIX + right


def _number(start: int | str, arm: int) -> str:
    """End of the name of a sensor of contacts with a person. The sensor of the first arm has a plain name."""
    return f"{start}" if arm == 0 else f"{start}.{arm}"
