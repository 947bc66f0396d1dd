"""Coupled simulation of parameter sets and logs in one batch, by threads of this process.

A simulation begins at the first frame of its log and then uses only the logged commands. Simulations of a batch do not
affect each other.
"""

from collections.abc import Callable, Iterator, Sequence

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError

from twinloop.calibrate.bench import Bench, ChannelMap, Place
from twinloop.calibrate.effort import EffortReader, value_reader
from twinloop.calibrate.track import Track
from twinloop.errors import DatasetError
from twinloop.simulate.drives import DRIVES
from twinloop.simulate.drives.servo import ServoModel

_SEEN = mujoco.mjtStage.mjSTAGE_VEL.value
MOST_SLOTS = 2048
MOST_BATCHES = 3  # a search uses the same few widths
AT_ONCE = 256  # physics steps whose goals are computed together
PARTS = {
    "position": ("qpos", 0, 1),
    "place": ("qpos", 0, 3),
    "turn": ("qpos", 3, 7),
    "velocity": ("qvel", 0, 1),
    "linear_velocity": ("qvel", 0, 3),
    "angular_velocity": ("qvel", 3, 6),
}
"""Kind of a measured channel -> the state that it reads, and the first and last column in it from the joint's own."""


class Rig:
    """Simulates some tracks of a bench. Batches are kept by their width."""

    def __init__(self, bench: Bench, tracks: Sequence[Track], names: tuple[str, ...], *, threads: int):
        self.bench, self.tracks, self.names, self._threads = bench, list(tracks), names, threads
        self.frames = max(track.frames for track in tracks)
        self._batches: dict[int, Slots] = {}

    def simulate(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Channel -> (sets, logs, frames, elements), of (sets, fit variables) values."""
        batch = max(1, MOST_SLOTS // len(self.tracks))
        return joined([self._part(values[first : first + batch]) for first in range(0, len(values), batch)])

    def _part(self, values: np.ndarray) -> dict[str, np.ndarray]:
        sets = len(values)
        if sets not in self._batches:
            if len(self._batches) >= MOST_BATCHES:
                self._batches.clear()
            self._batches[sets] = Slots(self.bench, self.tracks, self.names, sets, self._threads)
        return self._batches[sets].run(values, self.frames)


def joined(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Concatenate the results of parts of the parameter sets."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class Slots:
    """One batch: parameter set s and log l in slot s · logs + l."""

    def __init__(self, bench: Bench, tracks: list[Track], names: tuple[str, ...], sets: int, threads: int):
        self.bench, self.tracks, self.names, self.sets = bench, tracks, names, sets
        self.width = sets * len(tracks)
        self.batch = Batch(bench.model, self.width, threads, persistent=True)
        self._log = np.tile(np.arange(len(tracks)), sets)
        model = bench.model
        self._fields: dict[str, np.ndarray] = {}
        self._qpos, self._qvel = self.batch.bind("qpos"), self.batch.bind("qvel")
        self._ctrl = self.batch.bind("ctrl") if model.nu else np.zeros((self.width, 0))
        self._controls = [
            (channel.name, model.actuator(channel.actuator).id) for channel in bench.commanded if channel.actuator
        ]
        joints = bench.drive.joints if bench.drive is not None else ()
        self._driven_qpos = _columns_at([int(model.joint(name).qposadr[0]) for name in joints])
        self._driven_dof = _columns_at([int(model.joint(name).dofadr[0]) for name in joints])
        if bench.drive is not None:
            self._bias, self._applied = self.batch.bind("qfrc_bias"), self.batch.bind("qfrc_applied")
            self._goal_of = [goal_channel(bench, joint) for joint in joints]
        self._compared = [
            (
                channel.name,
                *self._columns(channel),
                joints.index(channel.joint) if channel.of == "position" and channel.joint in joints else None,
            )
            for channel in bench.compared
            if channel.of in PARTS
        ]
        self._efforts = EffortReader(model, bench.compared, self.batch)
        self._motor_nm, self._braking = np.zeros((self.width, model.nv)), np.zeros((self.width, model.nv))
        self._frames = np.array([track.frames for track in tracks])
        longest = int(self._frames.max())

        def padded(rows: np.ndarray) -> np.ndarray:
            """Repeat the last row until the longest log ends."""
            return rows[np.minimum(np.arange(longest), len(rows) - 1)]

        self._commands = {
            channel.name: np.stack([padded(track.commands[channel.name]) for track in tracks])
            for channel in bench.commanded
        }
        self._enabled = np.stack([padded(track.enabled) for track in tracks])

    def field(self, name: str) -> np.ndarray:
        if name not in self._fields:
            self._fields[name] = self.batch.expand(name)
        return self._fields[name]

    def run(self, values: np.ndarray, frames: int) -> dict[str, np.ndarray]:
        bench = self.bench
        by_name = {name: np.repeat(values[:, k], len(self.tracks)) for k, name in enumerate(self.names)}
        self.batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._write_model(by_name)
        value_of = value_reader(bench.variables, by_name, self.width)
        self._command_scale = self._scale_commands(value_of)
        drive = self._begin(by_name)
        out = {channel.name: np.full((self.width, frames, _width(channel)), np.nan) for channel in bench.compared}
        delay_s = self._variable("delay_ms", by_name) / 1000 if drive is not None else np.zeros((self.width, 1))
        bias = self._variable("encoder_bias_rad", by_name) if drive is not None else np.zeros((self.width, 0))
        armature = self._armature()
        diverged = np.zeros(self.width, bool)
        self._read(out, 0, bias)
        # Without commands and torque channels, one call makes all physics steps of a frame.
        at_once = bench.substeps if drive is None and not bench.commanded and not self._efforts.is_needed else 1
        goals = None if drive is None else self._goals(delay_s, (frames - 1) * bench.substeps)
        for frame in range(1, frames):
            for substep in range(0, bench.substeps, at_once):
                self._apply_commands(frame - 1)
                if drive is not None and goals is not None:
                    self._push(drive, *next(goals))
                reads_efforts = substep == 0 and self._efforts.is_needed
                if reads_efforts:
                    self._efforts.note_velocity()
                try:
                    self.batch.step(nstep=at_once, stage=_SEEN)
                except SimulationError as error:
                    diverged[error.ids] = True
                if reads_efforts:
                    self._efforts.read(out, frame - 1, self._motor_nm, self._braking, armature, value_of)
            self._read(out, frame, bias)
        self._efforts.repeat_last(out)
        diverged |= self.batch.warning[:, :, 1].any(axis=1)
        shape = (self.sets, len(self.tracks))
        past = np.arange(frames)[None, :] >= self._frames[self._log][:, None]
        for rows in out.values():
            # A diverged simulation gets a very large error; NaN would mean that it is unknown.
            rows[diverged] = 1e6
            rows[past] = np.nan
        return {name: rows.reshape(*shape, *rows.shape[1:]) for name, rows in out.items()}

    def _write_model(self, by_name: dict[str, np.ndarray]) -> None:
        bench = self.bench
        for field, rows in self._fields.items():
            rows[:] = getattr(bench.model, field)
        for constant, places in bench.constants.items():
            values = np.array([track.log.constants.get(constant, np.nan) for track in self.tracks])[self._log]
            for place in places:
                self._put(place, values, where=np.isfinite(values))
        everything = np.ones(self.width, bool)
        for name, places in bench.places.items():
            value = by_name.get(name, np.full(self.width, bench.variables[name].value))
            for place in places:
                self._put(place, value, where=everything)
        if bench.drive is not None:
            self.field("dof_armature")[:, self._driven_dof] = self._variable("armature_kgm2", by_name)
            for name in ("dof_frictionloss", "dof_damping"):
                self.field(name)
        self.batch.set_const()

    def _put(self, place: Place, value: np.ndarray, *, where: np.ndarray) -> None:
        rows, index = self.field(place.field), index_of(self.bench.model, place)
        if place.field == "body_mass":
            inertia = self.field("body_inertia")
            share = place.scale * value[where] / rows[where, index[0]]
            inertia[where, index[0]] *= share[:, None]
        rows[(where, *index)] = place.scale * value[where]

    def _variable(self, name: str, by_name: dict[str, np.ndarray]) -> np.ndarray:
        """(slots, driven joints) values of a variable of the servo."""
        assert self.bench.drive is not None
        full = [f"{joint}.{name}" for joint in self.bench.drive.joints]
        variables = self.bench.variables
        return np.stack(
            [
                by_name.get(joint_variable, np.full(self.width, variables[joint_variable].value))
                for joint_variable in full
            ],
            axis=1,
        )

    def _begin(self, by_name: dict[str, np.ndarray]) -> ServoModel | None:
        """Set every slot to the first frame of its log and make the servos."""
        bench = self.bench
        for channel in bench.measured:
            first = np.stack([track.begin[channel.name] for track in self.tracks])[self._log]
            if channel.of not in PARTS:
                continue
            if channel.of == "turn":
                first = first / np.linalg.norm(first, axis=1, keepdims=True)
            state, columns = self._columns(channel)
            state[:, columns] = first
        drive = None
        if bench.drive is not None:
            kind = DRIVES[bench.drive.model]
            values = {variable.name: self._variable(variable.name, by_name) for variable in kind.variables}
            self._qpos[:, self._driven_qpos] -= values["encoder_bias_rad"]
            given = {
                name: np.array([track.inputs[name] for track in self.tracks])[self._log][:, None]
                for name in kind.inputs
            }
            goal = self._goal(np.zeros((1, self.width, len(bench.drive.joints))))[0]
            drive = kind(values, given, goal)
        self.batch.forward(stage=_SEEN)
        return drive

    def _goals(self, delay_s: np.ndarray, steps: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each physics step: (slots, joints) goals that have arrived at the driven joints, and which are powered.

        They do not depend on the state, so many steps are computed at once.
        """
        bench, last = self.bench, len(self._enabled[0]) - 1
        for first in range(0, steps, AT_ONCE):
            step = np.arange(first, min(first + AT_ONCE, steps))
            now_s = step // bench.substeps * (1 / bench.logs.rate_hz) + step % bench.substeps * bench.model.opt.timestep
            time_s = now_s[:, None, None] - delay_s
            frame = np.clip(np.floor(time_s * bench.logs.rate_hz + 1e-6), 0, last).astype(int)
            yield from zip(self._goal(time_s), self._enabled[self._log[:, None], frame], strict=True)

    def _goal(self, time_s: np.ndarray) -> np.ndarray:
        """Goals of the driven joints as sent at these times (steps, slots, joints). A goal holds until the next one.

        A change within a physics step counts by its share of the step, so that residuals are smooth in the delay.
        """
        place = time_s * self.bench.logs.rate_hz
        last = len(self._enabled[0]) - 1
        whole = np.floor(place)
        share = np.clip((place - whole) * self.bench.substeps, 0, 1)
        now, before = np.clip(whole, 0, last).astype(int), np.clip(whole - 1, 0, last).astype(int)
        goal = np.empty_like(place)
        for k, name in enumerate(self._goal_of):
            rows = self._commands[name][:, :, 0]
            old, new = rows[self._log, before[..., k]], rows[self._log, now[..., k]]
            goal[..., k] = old + share[..., k] * (new - old)
        return goal * self._command_scale

    def _scale_commands(self, value_of: Callable[[str], np.ndarray]) -> np.ndarray:
        """(slots, driven joints) factor from a command to the drive's goal: commanded currents become torques."""
        channels = {channel.name: channel for channel in self.bench.commanded}
        scale = np.ones((self.width, len(self.bench.drive.joints) if self.bench.drive is not None else 0))
        for k, name in enumerate(self._goal_of if self.bench.drive is not None else ()):
            effort = channels[name].effort
            if effort is not None:
                scale[:, k] = effort.torque_per_unit(value_of)
        return scale

    def _armature(self) -> np.ndarray:
        if "dof_armature" in self._fields:
            return self._fields["dof_armature"]
        return np.broadcast_to(self.bench.model.dof_armature, (self.width, self.bench.model.nv))

    def _apply_commands(self, frame: int) -> None:
        """Apply the commands of a frame to the model's own actuators."""
        for channel, control in self._controls:
            self._ctrl[:, control] = self._commands[channel][self._log, min(frame, len(self._enabled[0]) - 1), 0]

    def _push(self, drive: ServoModel, goal: np.ndarray, on: np.ndarray) -> None:
        """Apply the torques of the servos for one physics step, (slots, joints) goals and whether a motor is on."""
        dofs = self._driven_dof
        push = drive.push(
            goal,
            on,
            self._qpos[:, self._driven_qpos],
            self._qvel[:, dofs],
            self._bias[:, dofs],
            self.bench.model.opt.timestep,
        )
        self._applied[:, dofs] = push.torque_nm
        if self._efforts.is_needed:
            self._motor_nm[:, dofs], self._braking[:, dofs] = push.motor_nm, push.braking_nms_rad
        self._fields["dof_frictionloss"][:, dofs] = push.friction_nm
        self._fields["dof_damping"][:, dofs] = push.damping_nms_rad

    def _columns(self, channel: ChannelMap) -> tuple[np.ndarray, slice]:
        """The state that a measured channel reads, and its columns."""
        joint = self.bench.model.joint(channel.joint)
        name, first, stop = PARTS[channel.of]
        start = int((joint.qposadr if name == "qpos" else joint.dofadr)[0])
        return self._qpos if name == "qpos" else self._qvel, slice(start + first, start + stop)

    def _read(self, out: dict[str, np.ndarray], frame: int, bias: np.ndarray) -> None:
        for name, state, columns, driven in self._compared:
            rows = out[name][:, frame]
            rows[:] = state[:, columns]
            if driven is not None:
                rows[:, 0] += bias[:, driven]


def _columns_at(places: list[int]) -> slice | np.ndarray:
    """Columns at these places: a slice where they are neighbours, because NumPy copies none of a slice."""
    first = places[0] if places else 0
    return slice(first, first + len(places)) if places == list(range(first, first + len(places))) else np.array(places)


def _width(channel: ChannelMap) -> int:
    return len(channel.elements)


def goal_channel(bench: Bench, joint: str) -> str:
    """The name of the commanded channel that is the goal of a driven joint."""
    assert bench.drive is not None
    kinds = DRIVES[bench.drive.model].command
    for channel in bench.commanded:
        if channel.joint == joint and channel.of in kinds:
            return channel.name
    raise DatasetError(
        f"{bench.path}: no channel under `commanded` commands joint {joint!r}: the drive {bench.drive.model} "
        f"needs one with `joint: {joint}` and `of: {' or '.join(kinds)}`"
    )


def index_of(model: mujoco.MjModel, place: Place) -> tuple[int, ...]:
    """The index of a place in its field of the model."""
    kind = place.field.partition("_")[0]
    match kind:
        case "dof":
            row = int(model.joint(place.of).dofadr[0])
        case "jnt":
            row = model.joint(place.of).id
        case _:
            row = getattr(model, kind)(place.of).id
    return (row,) if place.element is None else (row, place.element)
