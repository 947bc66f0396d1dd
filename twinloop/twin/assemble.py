"""Compile a robot and a task to a Twin: the model, and where everything is in it."""

from collections.abc import Mapping
from dataclasses import replace

import mujoco
import numpy as np

from twinloop.errors import ModelError, nearest
from twinloop.twin.compose import (
    FINGER_SENSORS,
    PLAIN,
    PREFIX,
    Features,
    compiled,
    compose,
    finger_bodies,
    has_forms,
)
from twinloop.twin.entity import Fixture, Thing, state_names
from twinloop.twin.grasps import grips_of
from twinloop.twin.gripper_opening import opening_m
from twinloop.twin.objects import SceneObject
from twinloop.twin.phase import GripChoice
from twinloop.twin.robot import Robot
from twinloop.twin.shapes import forms_of
from twinloop.twin.soft import soft_index
from twinloop.twin.solid import free_parts, part_names
from twinloop.twin.task import Task
from twinloop.twin.task_checks import refuse_unknown_frames
from twinloop.twin.touch import pads_of, touch_index
from twinloop.twin.twin import ArmIndex, FixtureIndex, ThingIndex, Twin


def assemble(
    robot: Robot,
    task: Task,
    thing: SceneObject | None = None,
    *,
    control_hz: int = 25,
    timestep_s: float = 0.004,
    features: Features = PLAIN,
    layout: tuple[str, ...] = (),
) -> Twin:
    """Compile a cell.

    Args:
        layout: elements of the environment state, if it has more entities than those of the task.
        thing: replaces the object of the task's first thing.
    """
    task = task.for_robot(robot)
    task = task if thing is None else task.with_object(thing)
    task = _fitted(task, robot)
    spec = compose(robot, task, timestep_s=timestep_s, features=features)
    twin = _index(compiled(spec, robot, task), robot, task, control_hz, features, layout)
    refuse_unknown_frames(task, twin.sites)
    if features.soft_pads and not len(twin.pad_geoms):
        raise ModelError(f"no geom of the fingers of robot {robot.name} touches things: it has no pads to be soft")
    for index in twin.things:
        if index.forms is not None:
            free_parts(twin.model, index.geoms, index.forms.solid[0])
    return replace(twin, longest_delay_s=features.longest_delay_s, surroundings=features.surroundings)


def _fitted(task: Task, robot: Robot) -> Task:
    """The task with its places in the robot's area and with things that its gripper can hold."""
    if robot.widest_grip_m is not None:
        task = _narrowed(task, robot.widest_grip_m)
    # The places of a task that travels are apart from each other, and the base goes there.
    return task if robot.area is None or task.travels else replace(task, area=robot.area)


def _narrowed(task: Task, widest_m: float) -> Task:
    """The task with smaller things where they are wider than `widest_m`. They are gripped at the same parts."""
    gripped = {phase.grip.of for phase in task.program if phase.grip is not None}
    gripped |= {name for role in task.roles if role.name in gripped for name in role.candidates}
    entities, scales = [], {}
    for entity in task.entities:
        if isinstance(entity, Thing) and entity.name in gripped:
            narrow = replace(entity, object=entity.object.narrowed(widest_m))
            scales[entity.name] = narrow.object.half_extents_m[0] / entity.object.half_extents_m[0]
            entity = narrow
        entities.append(entity)
    program = (
        replace(phase, grip=_scaled(phase.grip, scales), follow=_scaled(phase.follow, scales)) for phase in task.program
    )
    return replace(task, entities=tuple(entities), program=tuple(program))


def _scaled(choice: GripChoice | None, scales: Mapping[str, float]) -> GripChoice | None:
    if choice is None or choice.of not in scales:
        return choice
    scale, (x, y, z) = scales[choice.of], choice.offset_m
    return replace(choice, raise_m=scale * choice.raise_m, offset_m=(scale * x, scale * y, scale * z))


def _index(
    model: mujoco.MjModel, robot: Robot, task: Task, control_hz: int, features: Features, layout: tuple[str, ...]
) -> Twin:
    joints = _ids(model, mujoco.mjtObj.mjOBJ_JOINT, robot.arm_joints, robot)
    controls = _ids(model, mujoco.mjtObj.mjOBJ_ACTUATOR, robot.arm_actuators, robot)
    grippers = tuple(arm.gripper.actuator for arm in robot.arms)
    clutter = [index for index in range(model.nbody) if model.body(index).name.startswith("clutter/")]
    sensors = {}
    for number in range(model.nsensor):
        start = int(model.sensor_adr[number])
        sensors[model.sensor(number).name] = slice(start, start + int(model.sensor_dim[number]))
    things, fixtures = _entities(model, robot, task, features, layout or state_names(task.entities))
    arms = tuple(_arm_index(model, robot, number, joints, sensors) for number in range(len(robot.arms)))
    fingers = [name for arm in robot.arms for name in finger_bodies(arm)]
    return Twin(
        model=model, robot=robot, task=task, control_hz=control_hz,
        arm_joints=joints, arm_qpos=model.jnt_qposadr[joints], arm_dofs=model.jnt_dofadr[joints],
        arm_controls=controls, arm_filters=model.actuator_actadr[controls],
        gripper_controls=_ids(model, mujoco.mjtObj.mjOBJ_ACTUATOR, grippers, robot), arms=arms,
        things=things, fixtures=fixtures, layout=layout,
        sites={name: number for number in range(model.nsite) if _is_frame(name := model.site(number).name)},
        pad_geoms=np.concatenate([pads_of(model, model.body(name).id) for name in fingers]),
        table_body=model.body("table").id,
        clutter_mocaps=model.body_mocapid[clutter], sensors=sensors,
    )  # fmt: skip


def _is_frame(site: str) -> bool:
    """Whether a site is a frame of an entity."""
    return "." in site and not site.startswith(PREFIX)


def _arm_index(
    model: mujoco.MjModel, robot: Robot, number: int, joints: np.ndarray, sensors: dict[str, slice]
) -> ArmIndex:
    arm = robot.arms[number]
    fingers = _ids(model, mujoco.mjtObj.mjOBJ_JOINT, arm.gripper.joints, robot)
    tool = int(_ids(model, mujoco.mjtObj.mjOBJ_SITE, (arm.tool_site,), robot)[0])
    left, right = (arm.named(name) for name in FINGER_SENSORS)
    felt = arm.named("left_touch") in sensors
    kinds = model.jnt_type[joints[arm.joints]]
    return ArmIndex(
        arm=arm, number=number, joints=joints[arm.joints],
        slides=tuple(np.flatnonzero(kinds == mujoco.mjtJoint.mjJNT_SLIDE.value).tolist()),
        gripper_qpos=model.jnt_qposadr[fingers], gripper_dofs=model.jnt_dofadr[fingers],
        tool_site=tool, fingers=(left, right),
        touch=touch_index(model, finger_bodies(arm), tool, sensors, prefix=arm.named("")) if felt else None,
    )  # fmt: skip


def _entities(
    model: mujoco.MjModel, robot: Robot, task: Task, features: Features, layout: tuple[str, ...]
) -> tuple[tuple[ThingIndex, ...], tuple[FixtureIndex, ...]]:
    things, fixtures = [], []
    for entity in task.entities:
        first = layout.index(f"{entity.name}.{entity.state_names[0]}")
        columns = slice(first, first + len(entity.state_names))
        if isinstance(entity, Thing):
            things.append(_thing_index(model, robot, entity, features, columns))
        else:
            fixtures.append(_fixture_index(model, entity, columns))
    return tuple(things), tuple(fixtures)


def _thing_index(model: mujoco.MjModel, robot: Robot, thing: Thing, features: Features, columns: slice) -> ThingIndex:
    body = model.body(thing.name).id
    forms = forms_of(thing.object, cut=features.two_materials) if has_forms(thing, features) else None
    if forms is None:
        first = int(model.body_geomadr[body])
        geoms = np.arange(first, first + int(model.body_geomnum[body]))
    else:
        geoms = np.array([model.geom(name).id for name in part_names(thing.name, forms.solid.shape[1])])
    soft = soft_index(model, thing.name) if thing.object.soft else None
    if soft is None:
        joint = model.joint(thing.name).id
        qpos, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
    else:
        qpos, dof = int(soft.qpos[0, 0]), int(soft.dofs[0, 0])
    # Only grips of meshes depend on the gripper.
    mesh = thing.object.mesh is not None
    opening = min(opening_m(arm.robot or robot) for arm in robot.arms) if mesh else np.inf
    grips = grips_of(thing.object, shapes=forms is not None, opening_m=opening)
    return ThingIndex(thing, body, geoms, qpos, dof, columns, grips, forms, soft)


def _fixture_index(model: mujoco.MjModel, fixture: Fixture, columns: slice) -> FixtureIndex:
    body = model.body(fixture.name).id
    qpos = dof = -1
    if fixture.joint is not None:
        joint = model.joint(f"{fixture.name}.{fixture.joint.name}").id
        qpos, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
    return FixtureIndex(fixture, body, int(model.body_mocapid[body]), qpos, dof, columns)


def _ids(model: mujoco.MjModel, kind: mujoco.mjtObj, names: tuple[str, ...], robot: Robot) -> np.ndarray:
    ids = []
    for name in names:
        number = mujoco.mj_name2id(model, kind, PREFIX + name)
        if number < 0:
            names_there = (mujoco.mj_id2name(model, kind, index) or "" for index in range(_count(model, kind)))
            known = [other.removeprefix(PREFIX) for other in names_there if other.startswith(PREFIX)]
            what = kind.name.removeprefix("mjOBJ_").lower()
            raise ModelError(f"robot {robot.name} has no {what} named {name!r}; {nearest(name, known)}")
        ids.append(number)
    return np.array(ids)


def _count(model: mujoco.MjModel, kind: mujoco.mjtObj) -> int:
    return {mujoco.mjtObj.mjOBJ_JOINT: model.njnt, mujoco.mjtObj.mjOBJ_ACTUATOR: model.nu}.get(kind, model.nsite)
