"""Compile a robot, a task and an object to a Twin."""

from dataclasses import replace

import mujoco
import numpy as np

from twinloop.errors import ModelError, nearest
from twinloop.twin.bystander import NAME as BYSTANDER
from twinloop.twin.clutter import furnish as furnish_clutter
from twinloop.twin.objects import SceneObject
from twinloop.twin.robot import Robot
from twinloop.twin.shapes import forms_of
from twinloop.twin.soft import add_soft, soft_index
from twinloop.twin.solid import PARTS, add_object, add_parts, free_parts, soften
from twinloop.twin.surroundings import Kind
from twinloop.twin.surroundings import furnish as furnish_surroundings
from twinloop.twin.task import Task
from twinloop.twin.touch import add_touch, pads_of, touch_index
from twinloop.twin.twin import Twin

PREFIX = "robot/"
TABLE_THICKNESS_M = 0.04

# name -> (what one side is, what the other is, how contacts are reduced, what is read of them)
_FORCE = 1 << mujoco.mjtConDataField.mjCONDATA_FORCE.value
_DISTANCE = 1 << mujoco.mjtConDataField.mjCONDATA_DIST.value
_BY_DEPTH, _BY_FORCE, _NET_FORCE = 1, 2, 3


def assemble(
    robot: Robot,
    task: Task,
    thing: SceneObject,
    *,
    control_hz: int = 25,
    timestep_s: float = 0.004,
    rolling_friction: bool = False,
    off_centre_mass: bool = False,
    wrist_sensors: bool = False,
    clutter: bool = False,
    longest_delay_s: float = 0.0,
    shapes: bool = False,
    two_materials: bool = False,
    soft_pads: bool = False,
    touch: bool = False,
    surroundings: frozenset[Kind] = frozenset(),
) -> Twin:
    """Compile a cell. See `compose` for the options."""
    spec = compose(
        robot,
        task,
        thing,
        timestep_s=timestep_s,
        rolling_friction=rolling_friction,
        off_centre_mass=off_centre_mass,
        wrist_sensors=wrist_sensors,
        clutter=clutter,
        longest_delay_s=longest_delay_s,
        shapes=shapes,
        two_materials=two_materials,
        soft_pads=soft_pads,
        touch=touch,
        surroundings=surroundings,
    )
    twin = _index(compiled(spec, robot, task), robot, task, thing, control_hz)
    if soft_pads and not len(twin.pad_geoms):
        raise ModelError(f"no geom of the fingers of robot {robot.name} touches things: it has no pads to be soft")
    forms = forms_of(thing, cut=two_materials) if shapes or two_materials else None
    if forms is not None:
        free_parts(twin.model, twin.object_geoms, forms.solid[0])
    return replace(twin, longest_delay_s=longest_delay_s, forms=forms, surroundings=surroundings)


def compose(
    robot: Robot,
    task: Task,
    thing: SceneObject,
    *,
    timestep_s: float = 0.004,
    rolling_friction: bool = False,
    off_centre_mass: bool = False,
    wrist_sensors: bool = False,
    clutter: bool = False,
    longest_delay_s: float = 0.0,
    shapes: bool = False,
    two_materials: bool = False,
    soft_pads: bool = False,
    touch: bool = False,
    surroundings: frozenset[Kind] = frozenset(),
) -> mujoco.MjSpec:
    """Return the spec of a cell with everything that the physics needs. Lights and cameras are part of the stage.

    Features that make the physics slower are left out unless an argument asks for them: rolling friction for an object
    that does not roll, a movable centre of mass, wrist sensors, clutter, surroundings, delay lines as long as
    `longest_delay_s`, drawn shapes, a surface of two materials, soft finger pads, and touch.
    """
    spec = mujoco.MjSpec()
    spec.modelname = f"{robot.name}/{task.name}"
    _set_options(spec, timestep_s)
    _add_table(spec)
    robot_spec = robot.build()
    spec.attach(robot_spec, frame=spec.worldbody.add_frame(pos=robot.mount_m), prefix=PREFIX)
    if robot.mount_m[2] > 0:
        _add_plinth(spec, robot.mount_m)
    rolls = thing.rolls or rolling_friction or shapes
    if thing.soft:
        add_soft(spec, thing, rolls=rolls)
    elif shapes or two_materials:
        add_parts(spec, thing, rolls=rolls, cut=two_materials)
    else:
        add_object(spec, thing, rolls=rolls, simple=not off_centre_mass)
    task.furnish(spec)
    if clutter:
        furnish_clutter(spec)
    furnish_surroundings(spec, thing, surroundings)
    bystander = BYSTANDER if "bystander" in surroundings else ""
    _add_sensors(spec, robot, task, "" if thing.soft else "object", bystander)
    if wrist_sensors:
        _add_wrist_sensors(spec, robot)
    left, right = (PREFIX + name for name in robot.gripper.finger_bodies)
    if touch:
        add_touch(spec, (left, right), "" if thing.soft else "object")
    if soft_pads:
        for body in (left, right):
            soften(spec.body(body))
    if longest_delay_s > 0:
        for actuator in spec.actuators:
            actuator.nsample = int(np.ceil(longest_delay_s / timestep_s)) + 1
    return spec


def compiled(spec: mujoco.MjSpec, robot: Robot, task: Task) -> mujoco.MjModel:
    try:
        return spec.compile()
    except ValueError as error:
        raise ModelError(f"robot {robot.name} does not compile into the {task.name} scene: {error}") from error


def _set_options(spec: mujoco.MjSpec, timestep_s: float) -> None:
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


def _add_plinth(spec: mujoco.MjSpec, top_m: tuple[float, float, float]) -> None:
    """Add the plinth of a robot that is mounted above the table. It has no contacts."""
    x, y, height = top_m
    spec.worldbody.add_geom(
        name="plinth", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.06, 0.05, height / 2], pos=[x, y, height / 2],
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
        thing: the object's body; "" for a soft object, whose contacts belong to no body. Then all contacts of a finger
            or of the table are counted.
    """
    body, none = mujoco.mjtObj.mjOBJ_XBODY, mujoco.mjtObj.mjOBJ_UNKNOWN
    root = next(each.name for each in spec.worldbody.bodies if each.name.startswith(PREFIX))
    left, right = (PREFIX + name for name in robot.gripper.finger_bodies)
    for name, first, second, reduction, data in (
        ("left_finger", left, thing, _NET_FORCE, _FORCE),
        ("right_finger", right, thing, _NET_FORCE, _FORCE),
        ("support", "table", thing, _NET_FORCE, _FORCE),
        ("deepest", "", "", _BY_DEPTH, _DISTANCE),
        ("hardest", "", "", _BY_FORCE, _FORCE),
        *((("person", task.person, root, _NET_FORCE, _FORCE),) if task.person else ()),
        *((("bystander", bystander, root, _NET_FORCE, _FORCE),) if bystander else ()),
    ):
        sensor = spec.add_sensor(name=name, type=mujoco.mjtSensor.mjSENS_CONTACT)
        sensor.objtype, sensor.objname = (body, first) if first else (none, "")
        sensor.reftype, sensor.refname = (body, second) if second else (none, "")
        sensor.intprm[:3] = [data, reduction, 1]


def _add_wrist_sensors(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Add sensors of force and torque between hand and arm, and of the hand's acceleration and angular rate.

    All of them are in the tool's frame.
    """
    kinds = mujoco.mjtSensor
    for name, kind in (
        ("force", kinds.mjSENS_FORCE),
        ("torque", kinds.mjSENS_TORQUE),
        ("acceleration", kinds.mjSENS_ACCELEROMETER),
        ("turn_rate", kinds.mjSENS_GYRO),
    ):
        sensor = spec.add_sensor(name=name, type=kind)
        sensor.objtype, sensor.objname = mujoco.mjtObj.mjOBJ_SITE, PREFIX + robot.tool_site


def _index(model: mujoco.MjModel, robot: Robot, task: Task, thing: SceneObject, control_hz: int) -> Twin:
    joints = _ids(model, mujoco.mjtObj.mjOBJ_JOINT, robot.arm_joints, robot)
    fingers = _ids(model, mujoco.mjtObj.mjOBJ_JOINT, robot.gripper.joints, robot)
    actuators = _ids(model, mujoco.mjtObj.mjOBJ_ACTUATOR, (*robot.arm_actuators, robot.gripper.actuator), robot)
    soft = soft_index(model) if thing.soft else None
    if soft is None:
        joint = model.joint("object").id
        object_qpos, object_dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
    else:
        object_qpos, object_dof = int(soft.qpos[0, 0]), int(soft.dofs[0, 0])
    geoms = np.array([model.geom(name).id for name in PARTS[: int(model.body_geomnum[model.body("object").id])]])
    left, right = (PREFIX + name for name in robot.gripper.finger_bodies)
    tool = int(_ids(model, mujoco.mjtObj.mjOBJ_SITE, (robot.tool_site,), robot)[0])
    clutter = [index for index in range(model.nbody) if model.body(index).name.startswith("clutter/")]
    sensors = {}
    for number in range(model.nsensor):
        start = int(model.sensor_adr[number])
        sensors[model.sensor(number).name] = slice(start, start + int(model.sensor_dim[number]))
    return Twin(
        model=model, robot=robot, task=task, object=thing, control_hz=control_hz,
        arm_joints=joints, arm_qpos=model.jnt_qposadr[joints], arm_dofs=model.jnt_dofadr[joints],
        arm_controls=actuators[:-1], arm_filters=model.actuator_actadr[actuators[:-1]],
        gripper_control=int(actuators[-1]),
        gripper_qpos=model.jnt_qposadr[fingers], gripper_dofs=model.jnt_dofadr[fingers],
        tool_site=tool,
        object_body=model.body("object").id, object_geom=int(geoms[0]),
        object_qpos=object_qpos, object_dof=object_dof, object_geoms=geoms, soft=soft,
        pad_geoms=np.concatenate([pads_of(model, model.body(name).id) for name in (left, right)]),
        touch=touch_index(model, (left, right), tool, sensors) if "left_touch" in sensors else None,
        table_body=model.body("table").id, target_mocap=int(model.body_mocapid[model.body("target").id]),
        clutter_mocaps=model.body_mocapid[clutter], sensors=sensors,
    )  # fmt: skip


def _ids(model: mujoco.MjModel, kind: mujoco.mjtObj, names: tuple[str, ...], robot: Robot) -> np.ndarray:
    ids = []
    for name in names:
        number = mujoco.mj_name2id(model, kind, PREFIX + name)
        if number < 0:
            known = [
                found.removeprefix(PREFIX)
                for index in range(model.nbody + model.njnt + model.nu + model.nsite)
                if (found := mujoco.mj_id2name(model, kind, index) or "").startswith(PREFIX)
            ]
            what = kind.name.removeprefix("mjOBJ_").lower()
            raise ModelError(f"robot {robot.name} has no {what} named {name!r}; {nearest(name, known)}")
        ids.append(number)
    return np.array(ids)
