"""Logs replayed in the twin that generates data: its cell, its drive and its engine, with the commands of a log.

Three things differ from an episode, because a log does not tell them: nothing is touched, end stops are off, and the
arm begins where the log begins. The physics step is that of the calibration (the config's, fitted to the log's rate).
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import cast

import mujoco
import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.replay import Replay, compare_with_logs
from twinloop.calibrate.slots import goal_channel
from twinloop.calibrate.track import Track
from twinloop.errors import UsageError
from twinloop.randomize.servo import HELD, NOTHING_HELD
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.twin.compose import PREFIX
from twinloop.twin.twin import Twin


def replay_in_twin(config: RunConfig, bench: Bench, logs: Sequence[Log], *, held_rad: float = NOTHING_HELD) -> Replay:
    """Replay logs in the twin of a config; apply a patch to the config first to replay with it.

    Args:
        bench: what the columns of the logs mean, and the physics step.
        held_rad: where the jaws of these logs close on something, if the gripper has a servo.
    """
    plant = BenchSimulator(bench, logs, ())
    simulator = TwinSimulator(config, bench, plant.tracks, held_rad=held_rad)
    return compare_with_logs(plant, simulator.simulate(), {})


def held_in(bench: Bench, values: dict[str, float]) -> float:
    """Where the jaws of a fit's logs close on something."""
    names = [name for name in bench.variables if name.rpartition(".")[2] == HELD.name]
    positions = [values.get(name, bench.variables[name].value) for name in names]
    return max(positions, default=NOTHING_HELD)


class TwinSimulator:
    """A cell with one slot per log."""

    def __init__(self, config: RunConfig, bench: Bench, tracks: Sequence[Track], *, held_rad: float = NOTHING_HELD):
        self._config, self._bench, self._tracks, self._held_rad = config, bench, list(tracks), held_rad
        self._twin = _for_replay(twin_of(config), bench)
        self._cell = Cell(self._twin, width=len(self._tracks))
        robot, drive = self._twin.robot, bench.drive
        if drive is None or any(joint not in drive.joints for joint in robot.arm_joints):
            raise UsageError(
                f"{bench.path}: does not drive all joints of robot {robot.name}, so it has no replay there"
            )
        self._goals = [goal_channel(bench, joint) for joint in robot.arm_joints]
        fingers = [joint for joint in robot.gripper.joints if joint in drive.joints]
        self._opening = goal_channel(bench, fingers[0]) if fingers else ""

    def simulate(self) -> dict[str, np.ndarray]:
        """Channel -> (1, logs, frames, 1) in the model's units, as `BenchSimulator.simulate`."""
        cell, bench, tracks = self._cell, self._bench, self._tracks
        frames = max(track.frames for track in tracks)
        arm = np.stack([self._padded([track.commands[name] for track in tracks], frames) for name in self._goals], -1)
        opening = self._openings(frames)
        self._begin(arm[:, 0], opening[:, 0])
        rows = {channel.name: np.full((1, len(tracks), frames, 1), np.nan) for channel in bench.compared}
        for frame in range(frames):
            if frame:
                cell.step(None, arm[:, frame - 1], opening[:, frame - 1, None])
            for channel in bench.compared:
                rows[channel.name][0, :, frame, 0] = self._read(channel.joint, channel.of)
        for place, track in enumerate(tracks):
            for values in rows.values():
                values[0, place, track.frames :] = np.nan
        return rows

    def _begin(self, arm_rad: np.ndarray, opening: np.ndarray) -> None:
        """Put the robot of every slot where its log begins."""
        cell, ids = self._cell, np.arange(len(self._tracks))
        cell.admit(ids, self._config.sampler({}).draw(0, len(ids)), ids)
        qpos, qvel, model = cell.engine.bind("qpos"), cell.engine.bind("qvel"), self._twin.model
        for channel in self._bench.measured:
            joint = model.joint(PREFIX + channel.joint)
            first = np.array([track.begin[channel.name][0] for track in self._tracks])
            if channel.of == "position":
                qpos[:, joint.qposadr[0]] = first
            elif channel.of == "velocity":
                qvel[:, joint.dofadr[0]] = first
        if cell.servo is not None:
            gripper = [opening[:, None]] if cell.servo.grippers else []
            if cell.servo.grippers:
                cell.servo.hold(ids, np.append(np.full(arm_rad.shape[1], NOTHING_HELD), self._held_rad))
            cell.servo.begin(ids, np.concatenate([arm_rad, *gripper], axis=1))
        cell.engine.forward(ids)

    def _openings(self, frames: int) -> np.ndarray:
        gripper = self._twin.robot.gripper
        if self._opening:
            return self._padded([track.commands[self._opening] for track in self._tracks], frames)
        names = [channel.name for channel in self._bench.commanded if channel.actuator == gripper.actuator]
        if not names:
            return np.full((len(self._tracks), frames), gripper.open)
        control = self._padded([track.commands[names[0]] for track in self._tracks], frames)
        slope = (gripper.open - gripper.closed) / (gripper.open_control - gripper.closed_control)
        return gripper.closed + (control - gripper.closed_control) * slope

    @staticmethod
    def _padded(columns: list[np.ndarray], frames: int) -> np.ndarray:
        """(logs, frames), the last value repeated."""
        return np.stack([rows[np.minimum(np.arange(frames), len(rows) - 1), 0] for rows in columns])

    def _read(self, name: str, of: str) -> np.ndarray:
        joint, servo = self._twin.model.joint(PREFIX + name), self._cell.servo
        if of == "velocity":
            return self._cell.engine.bind("qvel")[:, joint.dofadr[0]]
        position = self._cell.engine.bind("qpos")[:, joint.qposadr[0]]
        if servo is not None and name in servo.joints:
            return position + servo.encoder_bias_rad[:, servo.joints.index(name)]
        return position


def _for_replay(twin: Twin, bench: Bench) -> Twin:
    """The twin with the physics step of the bench, without contacts and end stops."""
    model = copy(twin.model)
    model.opt.timestep = bench.model.opt.timestep
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    joints = [model.joint(PREFIX + name).id for name in (bench.drive.joints if bench.drive is not None else ())]
    model.jnt_limited[joints] = False
    return replace(twin, model=model, control_hz=cast(int, bench.logs.rate_hz))
