"""Decoupled simulation: each driven joint alone, while the other joints move as they were logged.

It has the interface of `slots.Rig` and uses the same servo model. A joint is one equation of motion,

    (inertia + armature) · acceleration = servo torque - damping · speed - friction - gravity - coupling,

integrated like MuJoCo's `implicitfast` integrator, with MuJoCo's soft friction constraint. Inertia, gravity and
coupling come from the logged motion (loads.py). One NumPy step moves all joints of all logs and parameter sets. For
the SO-101 arm this costs about a fortieth of the coupled simulation and differs from it by 0.1 units (RMS) or less;
for a single joint the two agree to rounding.
"""

from collections.abc import Sequence

import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.loads import JointLoads, compensation, joint_loads, log_model
from twinloop.calibrate.slots import goal_channel, joined
from twinloop.calibrate.track import Track
from twinloop.simulate.drives import DRIVES, ServoModel

MAX_SIMULATIONS = 1024
"""Larger batches are slower, because their arrays do not fit the cache."""


class DecoupledSimulator:
    """The joints of some logs, simulated one by one for many parameter sets."""

    def __init__(self, bench: Bench, tracks: Sequence[Track], names: tuple[str, ...]):
        assert bench.drive is not None
        self.bench, self.tracks, self.names = bench, list(tracks), names
        self.joints = bench.drive.joints
        self.frames = max(track.frames for track in tracks)
        self._ends = np.array([track.frames for track in tracks])
        loads = joint_loads(bench, tracks)
        self._loads = JointLoads(
            *(np.stack([self._padded(getattr(load, name)) for load in loads], axis=1) for name in JointLoads.names())
        )
        self._goals = np.stack(
            [
                np.stack([self._padded(track.commands[goal_channel(bench, joint)][:, 0]) for joint in self.joints], 1)
                for track in tracks
            ],
            axis=1,
        )
        self._enabled = np.stack([self._padded(track.enabled) for track in tracks], axis=1)
        position = {channel.joint: channel.name for channel in bench.measured if channel.of == "position"}
        velocity = {channel.joint: channel.name for channel in bench.measured if channel.of == "velocity"}
        self._position = np.array([[track.begin[position[joint]][0] for joint in self.joints] for track in tracks])
        self._velocity = np.array(
            [
                [track.begin[velocity[joint]][0] if joint in velocity else 0.0 for joint in self.joints]
                for track in tracks
            ]
        )
        self._read_friction()

    def _read_friction(self) -> None:
        """Constants of MuJoCo's friction constraint: its regularisation and its damping."""
        models = [log_model(self.bench, track) for track in self.tracks]
        dofs = [int(models[0].joint(joint).dofadr[0]) for joint in self.joints]
        impedance, width = models[0].dof_solimp[dofs, 0], models[0].dof_solimp[dofs, 1]
        time_s = np.maximum(models[0].dof_solref[dofs, 0], 2 * self.bench.model.opt.timestep)
        self._stabilising = 2 / (width * time_s)
        self._softness = (1 - impedance) / impedance
        self._mass = np.array([1 / model.dof_invweight0[dofs] - model.dof_armature[dofs] for model in models])

    def _padded(self, rows: np.ndarray) -> np.ndarray:
        """The last row repeated until the longest log ends."""
        return rows[np.minimum(np.arange(self.frames), len(rows) - 1)]

    def simulate(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Channel -> (sets, logs, frames, 1), of (sets, fit variables) values."""
        batch = max(1, MAX_SIMULATIONS // len(self.tracks))
        return joined([self._part(values[first : first + batch]) for first in range(0, len(values), batch)])

    def _part(self, values: np.ndarray) -> dict[str, np.ndarray]:
        assert self.bench.drive is not None
        shape = (len(values), len(self.tracks), len(self.joints))
        kind = DRIVES[self.bench.drive.model]
        by_name = dict(zip(self.names, values.T, strict=True))
        variables = {variable.name: self._variable(variable.name, by_name, shape) for variable in kind.variables}
        inputs = {
            name: np.broadcast_to(np.array([track.inputs[name] for track in self.tracks])[:, None], shape)
            for name in kind.inputs
        }
        servo = kind(variables, inputs, np.broadcast_to(self._goals[0], shape))
        commands = _Commands(self._goals, self._enabled, self.bench, variables["delay_ms"] / 1000)
        positions, speeds = self._integrate(servo, commands, variables, shape)
        positions += variables["encoder_bias_rad"]
        rows = {}
        for channel in self.bench.compared:
            both = positions if channel.of == "position" else speeds
            own = np.moveaxis(both[..., [self.joints.index(channel.joint)]], 0, 2)
            # A diverged simulation gets a very large error; NaN would mean that it is unknown.
            own = np.nan_to_num(own, nan=1e6, posinf=1e6, neginf=-1e6)
            own[:, np.arange(self.frames) >= self._ends[:, None]] = np.nan
            rows[channel.name] = own
        return rows

    def _variable(self, name: str, by_name: dict[str, np.ndarray], shape: tuple[int, int, int]) -> np.ndarray:
        variables = self.bench.variables
        columns = [
            by_name.get(f"{joint}.{name}", np.full(shape[0], variables[f"{joint}.{name}"].value))
            for joint in self.joints
        ]
        return np.ascontiguousarray(np.broadcast_to(np.stack(columns, axis=1)[:, None], shape))

    def _integrate(
        self,
        servo: ServoModel,
        commands: "_Commands",
        variables: dict[str, np.ndarray],
        shape: tuple[int, int, int],
    ) -> tuple[np.ndarray, np.ndarray]:
        """(frames, sets, logs, joints) positions and speeds."""
        bench, loads = self.bench, self._loads
        step_s = float(bench.model.opt.timestep)
        armature, compensated = variables["armature_kgm2"], bool(compensation(bench))
        # The engine takes the inertia in the model's own pose for the softness of friction.
        softness = self._softness / (self._mass + armature)
        position = np.broadcast_to(self._position, shape) - variables["encoder_bias_rad"]
        speed = np.array(np.broadcast_to(self._velocity, shape))
        positions, speeds = np.empty((2, self.frames, *shape))
        positions[0], speeds[0] = position, speed
        for frame in range(1, self.frames):
            inertia = loads.inertia_kgm2[frame - 1] + armature
            amplitude, phase = loads.amplitude_nm[frame - 1], loads.phase_rad[frame - 1]
            coupling, resistance = loads.coupling_nm[frame - 1], 1 / (1 / inertia + softness)
            for substep in range(bench.substeps):
                gravity = amplitude * np.sin(position + phase)
                bias = gravity + coupling
                goal, on = commands.at(frame - 1, substep)
                push = servo.push(goal, on, position, speed, bias, step_s)
                force = push.torque_nm - bias - push.damping_nms_rad * speed
                if compensated:
                    force = force + gravity
                friction = resistance * (force / inertia + self._stabilising * speed)
                friction = np.maximum(np.minimum(friction, push.friction_nm), -push.friction_nm)
                speed = speed + step_s * (force - friction) / (inertia + step_s * push.damping_nms_rad)
                position = position + step_s * speed
            positions[frame], speeds[frame] = position, speed
        return positions, speeds


class _Commands:
    """Goals and the motor's switch as they have arrived after each joint's delay.

    A goal holds until the next one arrives. Where that happens within a physics step, it counts by its share of the
    step, so that residuals are smooth in the delay. The delays are constant, so the indices move by one per frame.
    """

    def __init__(self, goals: np.ndarray, enabled: np.ndarray, bench: Bench, delay_s: np.ndarray):
        """`goals`: (frames, logs, joints). `enabled`: (frames, logs). `delay_s`: (sets, logs, joints)."""
        _, logs, joints = delay_s.shape
        delay = delay_s * bench.logs.rate_hz
        ahead = int(np.ceil(delay.max())) + 2
        self._goals = np.concatenate([np.repeat(goals[:1], ahead, axis=0), goals]).reshape(-1)
        self._on = np.concatenate([np.repeat(enabled[:1], ahead, axis=0), enabled]).reshape(-1)
        self._stride, self._logs, self._always_on = logs * joints, logs, bool((enabled == 1).all())
        column = np.arange(logs * joints).reshape(logs, joints)
        self._index, self._share, self._switch = [], [], []
        for substep in range(bench.substeps):
            place = substep / bench.substeps - delay
            whole = np.floor(place)
            self._share.append(np.clip((place - whole) * bench.substeps, 0, 1))
            self._index.append((whole.astype(int) + ahead) * self._stride + column)
            self._switch.append((np.floor(place + 1e-6).astype(int) + ahead) * logs + np.arange(logs)[:, None])
        self._one = np.ones(1)

    def at(self, frame: int, substep: int) -> tuple[np.ndarray, np.ndarray]:
        index = self._index[substep] + frame * self._stride
        new, old = self._goals.take(index), self._goals.take(index - self._stride)
        goal = old + self._share[substep] * (new - old)
        if self._always_on:
            return goal, self._one
        return goal, self._on.take(self._switch[substep] + frame * self._logs)
