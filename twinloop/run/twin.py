"""The twin that a run config describes."""

from collections import OrderedDict
from dataclasses import replace

from twinloop.errors import UsageError
from twinloop.observe.clearance import refuse_blocked
from twinloop.randomize.servo import SERVO
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.simulate.drives.nominal import complete_drive, kind_for, refuse_unknown
from twinloop.simulate.start_check import refuse_bad_start
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import PREFIX, Features, features_of
from twinloop.twin.robot_drive import RobotDrive
from twinloop.twin.task_checks import unfit_arms
from twinloop.twin.twin import Twin

_COMPILED: OrderedDict[str, Twin] = OrderedDict()
MAX_COMPILED = 32
"""Number of twins that a process keeps: those of all tasks of a robot, of which a run needs each several times. Driver
and worker may be one process, and evaluations share their twin."""


def twin_of(config: RunConfig) -> Twin:
    """The twin that a config describes, compiled once per process."""
    _ = config.scene.world  # refuses robots without a table
    if not config.scene.is_single:
        raise UsageError(f"the config has several tasks ({', '.join(config.scene.tasks)}); name one with --task")
    digest = config.digest
    if digest not in _COMPILED:
        _COMPILED[digest] = _compile(config)
        if len(_COMPILED) > MAX_COMPILED:
            _COMPILED.popitem(last=False)
    twin = _COMPILED[digest]
    # A robot with the same content may lie in another folder now, from which images need its meshes again.
    return twin if twin.robot == config.scene.robot else replace(twin, robot=config.scene.robot)


def _compile(config: RunConfig) -> Twin:
    scene, rollout_ = config.scene, config.rollout
    unfit = unfit_arms(scene.world, scene.robot)
    if unfit:
        raise UsageError(f"scene: {unfit}")
    features = _features(config)
    twin = assemble(
        scene.robot,
        scene.world,
        control_hz=rollout_.control_hz,
        timestep_s=rollout_.timestep_ms / 1000,
        features=features,
        layout=scene.layout,
    )
    refuse_bad_start(twin, tuple(scene.things))
    refuse_blocked(twin, config.cameras)
    return replace(twin, drive=_drive_of(config, twin))


def _drive_of(config: RunConfig, twin: Twin) -> RobotDrive | None:
    """The drive that the config, its patch or the robot declares, or that a row of the table asks for; else None."""
    robot = config.scene.robot
    declared = robot.drive if config.drive is None else config.drive.over(robot.drive)
    of_servo = {row.name for row in SERVO} & {BY_NAME[name].name for name in config.randomization}
    if declared is None and of_servo:
        declared = RobotDrive(kind_for(of_servo))
    if declared is not None:
        # A config whose robot was replaced may still have the drive of the other one.
        refuse_unknown(declared, robot, where="drive.joints")
    return None if declared is None else complete_drive(twin.model, robot, declared, prefix=PREFIX)


def _features(config: RunConfig) -> Features:
    """The parts of the model that the config's rows and sensors need."""
    rows = [(BY_NAME[name], distribution) for name, distribution in config.randomization.items()]
    # The longest value of every row that delays commands.
    delay_ms = sum(row.delay_line_ms * distribution.support()[1] for row, distribution in rows if row.delay_line_ms)
    return features_of(
        {part for row, _ in rows for part in row.builds},
        wrist_sensors=config.observe.wrist,
        touch=config.observe.touch,
        longest_delay_s=delay_ms / 1000,
    )
