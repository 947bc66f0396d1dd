"""The bench of a run config: its robot alone, as the twin of the config simulates it, and logs in the project's schema.

A runlog (or a dataset of real episodes) has the names and units of the twin, so no bench file is needed. The bench has
the robot of the config with the engine settings of the twin. Contacts and end stops are off, because a log does not say
what the arm touched. The gripper follows its logged commands with the actuator of the model.
"""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import mujoco
import numpy as np

from twinloop.calibrate.bench import UNDECLARED_HZ, Bench, DriveConfig, substeps_of
from twinloop.calibrate.bench_file import LogConfig
from twinloop.calibrate.channels import ChannelMap
from twinloop.calibrate.free_motion import free_motion
from twinloop.calibrate.logs import Log
from twinloop.calibrate.logs.own import is_own, read_own_logs
from twinloop.calibrate.patch import robot_digest
from twinloop.config.yaml_file import read_yaml
from twinloop.dataset import Dataset
from twinloop.errors import DatasetError, UsageError
from twinloop.randomize.fit_variable import FitVariable
from twinloop.run.config import RunConfig
from twinloop.run.scene import SceneConfig
from twinloop.simulate.drives import DRIVES
from twinloop.simulate.drives.nominal import UNLIMITED_RAD_S, complete_drive
from twinloop.twin.compose import set_options
from twinloop.twin.robot import Robot
from twinloop.twin.robot_drive import RobotDrive

STATE, VELOCITY, COMMANDS = "observation.state", "observation.velocity", ("command", "action")
GRIPPER = "gripper"
"""Name of the gripper among the elements of states and actions."""
FACTOR = 30.0
"""Bounds of a quantity whose order of magnitude is searched: this factor below and above the value of the twin."""
FITTED = ("stiffness_nm_rad", "braking_nms_rad", "coulomb_nm", "torque_limit_nm", "no_load_speed_rad_s",
          "armature_kgm2", "delay_ms")  # fmt: skip
FITTED_VOLTAGE = ("torque_constant_nm_a", "resistance_ohm", "coulomb_nm", "viscous_nms_rad", "armature_kgm2",
                  "delay_ms")  # fmt: skip
UNDER_GRAVITY = ("stribeck_nm", "load_outside", "encoder_bias_rad")
"""Fitted for joints that carry weight. Without gravity compensation, a bias shows as a load that does not fit."""


def is_run_config(path: Path) -> bool:
    """Whether a file is a run config, and not a bench file."""
    value, _ = read_yaml(path)
    return isinstance(value, dict) and not {"twin", "measured"} & set(value)


def refuse_without_drive(config: RunConfig, *, name: str) -> None:
    """Raise if the robot of a config is no arm: only the drive of an arm can be fitted and patched."""
    if not isinstance(config.scene, SceneConfig):
        raise UsageError(
            f"{name}: scene.robot: {config.scene.robot.name} is not an arm; `calibrate`, `excite`, `replay` and "
            "patches are for the drive of an arm. Give a config with an arm (`twinloop robots` lists them), or a bench "
            "file of a single joint"
        )


def read_run_logs(paths: Path | list[Path] | tuple[Path, ...]) -> list[Log]:
    """All episodes of runlogs and datasets in the project's schema; of a folder of them, those of all."""
    logs: list[Log] = []
    given = [paths] if isinstance(paths, Path) else list(paths)
    for path in given:
        if not path.exists():
            raise DatasetError(f"{path}: no such runlog or dataset")
        folders = [path] if is_own(path) else sorted(folder for folder in path.iterdir() if is_own(folder))
        if not folders:
            raise DatasetError(
                f"{path}: is not a runlog and holds none. A run config needs a runlog of `deploy`, `collect` or "
                "`excite`, or a dataset of `ingest`; other logs need a bench file"
            )
        for folder in folders:
            name = f"{folder.name}/" if len(folders) > 1 or len(given) > 1 else ""
            logs += [replace(log, name=name + log.name) for log in read_own_logs(folder)]
    return logs


def refuse_other_robot(config: RunConfig, path: Path) -> None:
    """Raise if a runlog is that of another robot than the config's."""
    folders = [path] if is_own(path) else [folder for folder in path.iterdir() if is_own(folder)]
    for folder in folders:
        robot = Dataset.open(folder).header.robot
        if robot != config.scene.robot.name:
            raise UsageError(
                f"{folder}: is a log of robot {robot}, and the config has {config.scene.robot.name}; give logs of "
                "this robot, or a config of the other one"
            )


def bench_of(config: RunConfig, logs: list[Log], *, name: str) -> Bench:
    """The bench of a config for these logs. `name`: of the config, for messages."""
    robot = config.scene.robot
    declared = robot.drive if config.drive is None else config.drive.over(robot.drive)
    declared = declared or RobotDrive()
    # The gripper is not fitted: its logs show the objects that it closes on.
    declared = RobotDrive(declared.kind, {joint: declared.joints.get(joint, {}) for joint in robot.arm_joints})
    timestep_ms = config.rollout.timestep_ms
    substeps = substeps_of(UNDECLARED_HZ, timestep_ms)
    model = _compiled(robot, timestep_ms / 1000)
    drive = complete_drive(model, robot, declared)
    # The servo law takes the place of these actuators; that of another gripper stays.
    driven = [model.actuator(actuator).id for actuator in _actuators(robot, tuple(drive.joints))]
    model.actuator_gainprm[driven] = model.actuator_biasprm[driven] = 0
    model.jnt_limited[[model.joint(joint).id for joint in drive.joints]] = False
    variables = _variables(drive)
    kind = DRIVES[drive.kind]
    inputs = {input_name: ("", next(iter(drive.joints.values()))[input_name]) for input_name in kind.inputs}
    others = tuple(model.joint(number).name for number in range(model.njnt))
    return Bench(
        path=Path(name),
        name=Path(name).stem,
        model=model,
        substeps=substeps,
        logs=LogConfig(format="lerobot", rate_hz=UNDECLARED_HZ, rate_declared=False),
        measured=_measured(robot, drive, logs),
        commanded=_commanded(robot, drive, logs),
        drive=DriveConfig(drive.kind, tuple(drive.joints), "", inputs),
        variables=variables,
        places={},
        constants={},
        fit=_fitted(model, drive),
        digest=sha256(json.dumps([robot_digest(robot), timestep_ms]).encode()).hexdigest(),
        robot=robot,
        aside=tuple(joint for joint in others if joint not in drive.joints),
    )


def _compiled(robot: Robot, timestep_s: float) -> mujoco.MjModel:
    """The robot alone with the engine options of a twin, without contacts."""
    spec = robot.build()
    set_options(spec, timestep_s)
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT.value
    return spec.compile()


def _actuators(robot: Robot, joints: tuple[str, ...]) -> list[str]:
    arm = dict(zip(robot.arm_joints, robot.arm_actuators, strict=True))
    return [arm.get(joint, robot.gripper.actuator) for joint in joints]


def _variables(drive: RobotDrive) -> dict[str, FitVariable]:
    """Full name -> fit variable of each joint: the value of the twin, and bounds around it."""
    variables = {}
    for joint, values in drive.joints.items():
        for variable in DRIVES[drive.kind].variables:
            value = values[variable.name]
            low, high = min(variable.low, value), max(variable.high, value)
            if variable.name == "no_load_speed_rad_s" and value >= UNLIMITED_RAD_S:
                value, low, high = 20.0, variable.low, 200.0  # unlimited: the logs decide
            elif variable.log:
                low, high = value / FACTOR, value * FACTOR
            elif variable.unit == "N·m":
                high = max(0.2 * values.get("torque_limit_nm", high), value)
            name = f"{joint}.{variable.name}"
            variables[name] = replace(variable, name=name, value=value, low=low, high=high)
    return variables


def _fitted(model: mujoco.MjModel, drive: RobotDrive) -> tuple[str, ...]:
    names: list[str] = []
    for joint in drive.joints:
        number = model.joint(joint).id
        base = FITTED if drive.kind == "position_servo" else FITTED_VOLTAGE
        body = int(model.jnt_bodyid[number])
        heavy = not model.body_gravcomp[body] and _carries_weight(model, number)
        names += [f"{joint}.{quantity}" for quantity in (*base, *(UNDER_GRAVITY if heavy else ()))]
    return tuple(names)


def _carries_weight(model: mujoco.MjModel, joint: int) -> bool:
    """Whether the axis of a joint is not vertical in the model's own pose."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return abs(float(data.xaxis[joint, 2])) < 0.99


def free_logs(config: RunConfig, logs: list[Log]) -> list[Log]:
    """The parts of runlogs in which the hand is empty."""
    state, command = _column(logs, (STATE,)), _column(logs, COMMANDS)
    return free_motion(logs, config.scene.robot, state=state, command=command, gripper=GRIPPER)


def _column(logs: list[Log], names: tuple[str, ...]) -> str:
    for name in names:
        if all(name in log.columns for log in logs):
            return name
    raise DatasetError(f"these logs have no column {' or '.join(names)}; they have {', '.join(logs[0].columns)}")


def _element(log: Log, column: str, joint: str) -> str:
    names = log.names.get(column, ())
    if joint in names:
        return joint
    raise DatasetError(f"{log.name}: {column} has no element for joint {joint!r}; it has {', '.join(names) or 'none'}")


def _channel(name: str, column: str, element: str, **given) -> ChannelMap:
    values = {"joint": "", "actuator": "", "of": "position", "unit": "rad", "scale": 1.0, "offset": 0.0,
              "compared": False} | given  # fmt: skip
    return ChannelMap(name=name, column=column, elements=(element,), **values)


def _measured(robot: Robot, drive: RobotDrive, logs: list[Log]) -> tuple[ChannelMap, ...]:
    state = _column(logs, (STATE,))
    channels = [
        _channel(joint, state, _element(logs[0], state, joint), joint=joint, compared=True) for joint in drive.joints
    ]
    if all(VELOCITY in log.columns for log in logs):
        channels += [
            _channel(f"{joint}_velocity", VELOCITY, _element(logs[0], VELOCITY, joint), joint=joint,
                     of="velocity", unit="rad/s")
            for joint in drive.joints
        ]  # fmt: skip
    fingers = robot.gripper.joints
    channels += [_channel(f"{GRIPPER}/{joint}", state, GRIPPER, joint=joint, scale=1 / len(fingers))
                 for joint in fingers]  # fmt: skip
    return tuple(channels)


def _commanded(robot: Robot, drive: RobotDrive, logs: list[Log]) -> tuple[ChannelMap, ...]:
    column = _column(logs, COMMANDS)
    channels = [
        _channel(f"{joint}_goal", column, _element(logs[0], column, joint), joint=joint) for joint in drive.joints
    ]
    at_zero, at_one = robot.gripper.control(np.array([0.0, 1.0]))
    goal = _channel(f"{GRIPPER}_goal", column, GRIPPER, actuator=robot.gripper.actuator,
                    scale=float(at_one - at_zero), offset=float(at_zero))  # fmt: skip
    return (*channels, goal)
