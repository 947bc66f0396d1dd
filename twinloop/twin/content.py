"""Content of robots, tasks and objects that determines an episode, as JSON for the config's digest.

The digest covers the model and not only its name. Paths are left out, because they differ between machines. The
contents of the files are included.
"""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from inspect import isfunction
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from twinloop.config.record import write_record
from twinloop.twin.entity import Thing
from twinloop.twin.meshes.mesh_body import MeshBody
from twinloop.twin.robot import Robot, RobotArm
from twinloop.twin.task import Task

OWN_PACKAGE = "twinloop"
OPTIONAL = ("mesh", "pool", "room", "arm", "step", "leans_rad")
PLACES = ("mjcf", "urdf", "root", "packages", "reach_m")


@cache
def robot_content(robot: Robot) -> dict[str, Any]:
    """Names, limits and home of the robot, the digest of its model, and its drive if it declares one."""
    drive = {} if robot.drive is None else {"drive": write_record(robot.drive)}
    return {
        "name": robot.name,
        "model": robot.model_digest or spec_digest(robot.build()),
        "arm_joints": robot.arm_joints,
        "arm_actuators": robot.arm_actuators,
        "gripper": asdict(robot.gripper),
        "tool_site": robot.tool_site,
        "home_rad": robot.home_rad,
        "velocity_limits_rad_s": robot.velocity_limits_rad_s,
        "torque_limits_nm": robot.torque_limits_nm,
        "mount_m": robot.mount_m,
        "mapping": _mapping_content(robot),
        **drive,
        **({"closing_speed": robot.closing_speed} if robot.closing_speed is not None else {}),
        **({"arms": [_arm_content(arm) for arm in robot.several]} if robot.several else {}),
    }


def _arm_content(arm: RobotArm) -> dict[str, Any]:
    """One arm of a set: where it stands, and the robot that it is."""
    own = robot_content(arm.robot) if arm.robot is not None else {}
    return {"name": arm.name, "base_m": arm.base_m, "yaw_deg": arm.yaw_deg, "robot": own}


def _mapping_content(robot: Robot) -> dict[str, Any]:
    """The mapping of a user's robot without the model: tool frame, gripper gains and so on."""
    if robot.mapping is None:
        return {}
    content = write_record(robot.mapping)
    # The model is included by content, and no episode depends on the reach, which only `explain` uses for hints.
    return {key: value for key, value in content.items() if key not in PLACES}


@cache
def task_content(task: Task) -> dict[str, Any]:
    """The task's data, its entities and, for a task of another package, its source code."""
    spec = mujoco.MjSpec()
    for fixture in task.fixtures:
        fixture.furnish(spec, spec.worldbody.add_body(name=fixture.name, mocap=True))
    paths = [fixture.path for fixture in task.fixtures if fixture.path is not None]
    furnishing = [fixture.furnish for fixture in task.fixtures]
    targets = [phase.target for phase in task.program]
    conditions = [phase.until for phase in task.program if callable(phase.until)]
    relations = [relation.holds for relation in task.success]
    failures = [failure.holds for failure in task.failures]
    return {
        "name": task.name,
        "start": function_content(task.start),
        "things": [_thing_content(thing) for thing in task.things],
        "fixtures": [_plain(fixture) for fixture in task.fixtures],
        "language": task.language.templates,
        "program": [_plain(phase) for phase in task.program],
        "roles": [asdict(role) for role in task.roles],
        "success": [{"name": relation.name, "holds": function_content(relation.holds)} for relation in task.success],
        "longest_s": task.longest_s,
        "goal": task.goal,
        "failures": [failure.name for failure in task.failures],
        "furniture": spec_digest(spec),
        "code": source_digest(task.start, *targets, *conditions, *relations, *failures, *paths, *furnishing),
    }


def _thing_content(thing: Thing) -> dict[str, Any]:
    """A thing with its mesh by content: the file may have any path."""
    mesh = thing.object.mesh
    content = asdict(replace(thing, object=replace(thing.object, mesh=None)))
    content["object"] = {name: value for name, value in content["object"].items() if value or name not in OPTIONAL}
    return content if mesh is None else content | {"mesh": mesh.digest}


def _plain(record: Any) -> dict[str, Any]:
    """The fields of a record, with the arguments of its functions."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    # A part that is absent does not change the digest of the tasks that never had it.
    absent = {name for name in OPTIONAL if name in values and not values[name]}
    return {name: _value(value) for name, value in values.items() if name not in absent}


def function_content(function: Callable) -> dict[str, Any]:
    """Name of a function and the values that it captured, e.g. the arguments of the skill that made it.

    Its code is covered by `source_digest` and by the package's version.
    """
    cells = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars if cells else ()
    captured = {name: _value(cell.cell_contents) for name, cell in zip(names, cells, strict=True)}
    return {"name": function.__qualname__, "captured": captured}


def _value(value: Any) -> Any:
    """A value as JSON. Objects that are not data are covered by their type."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _value(item) for key, item in value.items()}
    if isinstance(value, MeshBody):
        return value.digest
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(value)
    return function_content(value) if isfunction(value) else type(value).__qualname__


def spec_digest(spec: mujoco.MjSpec) -> str:
    """SHA-256 of a model's XML, which names no folder of this machine, and of the asset files that it names."""
    folder = Path(spec.modelfiledir or "")
    named = [(mesh.file, spec.meshdir) for mesh in spec.meshes]
    named += [(field.file, "") for field in spec.hfields]
    named += [(file, spec.texturedir) for texture in spec.textures for file in (texture.file, *texture.cubefiles)]
    files = {file: _asset(spec, folder, place, file) for file, place in named if file}
    spec.compile()  # an uncompiled spec has no XML
    digest = hashlib.sha256(spec.to_xml().encode())
    for file in sorted(files):
        digest.update(hashlib.sha256(files[file]).digest())
    return digest.hexdigest()


def _asset(spec: mujoco.MjSpec, folder: Path, place: str, file: str) -> bytes:
    """Content of an asset: from memory if the spec holds it, else from its file."""
    for name in (file, f"{place}/{file}"):
        if name in spec.assets:
            content = spec.assets[name]
            return content if isinstance(content, bytes) else str(content).encode()
    path = folder / place / file
    return path.read_bytes() if path.is_file() else b""  # the compiler reports a file that is missing


def source_digest(*functions: Callable) -> str:
    """SHA-256 of the source files of functions that other packages define; "" where there are none.

    Functions of Twinloop itself are covered by its version, which a dataset's header records.
    """
    modules = {function.__module__ for function in functions}
    foreign = sorted(module for module in modules if module.partition(".")[0] != OWN_PACKAGE)
    files = [getattr(sys.modules.get(module), "__file__", None) for module in foreign]
    contents = [Path(file).read_bytes() for file in files if file and Path(file).is_file()]
    return hashlib.sha256(b"\0".join(contents)).hexdigest() if contents else ""
