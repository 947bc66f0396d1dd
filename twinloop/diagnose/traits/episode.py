"""EpisodeTrace: one episode of a robot or its twin, with quantities that several traits use."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import mujoco
import numpy as np

from twinloop.diagnose.traits.load import CENTRE_M, GRAVITY_M_S2, MASS_SHARE, ArmGravity, load_n
from twinloop.randomize.parameter import Morphology
from twinloop.signals.delay import estimate_delay
from twinloop.signals.pictures import Appearance, appearance
from twinloop.twin.twin import Twin

CLOSING = 0.5  # a gripper command below this share of the stroke is a command to close
BLOCKED_SHARE, STILL_SHARE = 0.03, 0.01  # opening above that of closed fingers, and its change per frame, of the stroke
RISEN_M = 0.02
STILL_FRAMES = 3
SETTLED_FRAMES = 4  # after the fingers begin to close
MAX_ARM_DELAY = 9  # largest delay of an arm, in control periods
MAX_TRACKER_DELAY = 12  # largest lead or delay of a tracked object, in control periods
MIN_CARRIED_FRAMES = 8
MIN_APPROACH_FRAMES = 16
RELEASED_FRAMES = 6  # after the command to open, the object may still be in the gripper
LOAD_FRAMES = 30  # frames with and without the object for which a load is fitted
NAN = float("nan")


class Arm:
    """Kinematics of a twin's arm for given joint positions, without a simulation.

    Of several arms, it has the joints of all and the tool and gripper of the first.
    """

    def __init__(self, twin: Twin):
        self.robot = twin.robot.name
        self._model, self._data = twin.model, mujoco.MjData(twin.model)
        self._qpos, self._dofs, self._site = twin.arm_qpos, twin.arm_dofs, twin.tool_site
        self.joints = len(twin.arm_joints)
        self._links = _links(twin.model, self._dofs)
        self.weight_n = float(GRAVITY_M_S2 * twin.model.body_mass[self._links].sum())
        self._moves = np.array([[_is_above(twin.model, dof, link) for link in self._links] for dof in self._dofs])
        gripper = twin.robot.gripper
        self.closed, self.stroke = gripper.closed, gripper.open - gripper.closed
        self.period_s = twin.control_period_s
        self.kind = twin.object.name
        self.things = tuple((index.object.name, twin.pose_columns(index.name)) for index in twin.things)
        self.goal_columns = twin.pose_columns(twin.task.goal) if twin.task.goal else None

    def tool(self, position_rad: np.ndarray) -> np.ndarray:
        """(n, 3) tool positions for (n, joints) joint positions."""
        out = np.empty((len(position_rad), 3))
        # The engine computes the kinematics of one state at a time.
        for row, joints in enumerate(position_rad):
            self._data.qpos[self._qpos] = joints
            mujoco.mj_kinematics(self._model, self._data)
            out[row] = self._data.site_xpos[self._site]
        return out

    def unexplained(self, position_rad: np.ndarray, effort_nm: np.ndarray) -> "Unexplained":
        """The part of the torques that the arm itself does not need, by the twin's model.

        The model gives the torques for weight, acceleration and damping of the arm.
        """
        velocity = _smooth_gradient(position_rad, self.period_s)
        acceleration = _smooth_gradient(velocity, self.period_s)
        model, data = self._model, self._data
        rest, lever = np.empty((len(position_rad), self.joints)), np.empty((len(position_rad), 3, self.joints))
        jacobian, own = np.zeros((3, model.nv)), np.zeros(model.nv)
        armature = model.dof_armature[self._dofs]
        data.qvel[:], data.qacc[:] = 0, 0
        # The engine computes the dynamics of one state at a time.
        for row in range(len(position_rad)):
            data.qpos[self._qpos] = position_rad[row]
            data.qvel[self._dofs], data.qacc[self._dofs] = velocity[row], acceleration[row]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_passive(model, data)
            mujoco.mj_rne(model, data, 1, own)
            mujoco.mj_jacSite(model, data, jacobian, None, self._site)
            rest[row] = effort_nm[row] - (own - data.qfrc_passive)[self._dofs] - armature * acceleration[row]
            lever[row] = jacobian[:, self._dofs]
        return Unexplained(rest, velocity, lever)

    def gravity(self, position_rad: np.ndarray) -> ArmGravity:
        """How errors of masses and centres of mass of the links change the torques, in (n, joints) positions."""
        model, data = self._model, self._data
        joints, links = model.dof_jntid[self._dofs], self._links
        frames = len(position_rad)
        anchor_m, axis = np.empty((2, frames, self.joints, 3))
        centre_m, turned = np.empty((frames, len(links), 3)), np.empty((frames, len(links), 9))
        for row, position in enumerate(position_rad):
            data.qpos[self._qpos] = position
            mujoco.mj_kinematics(model, data)
            anchor_m[row], axis[row] = data.xanchor[joints], data.xaxis[joints]
            centre_m[row], turned[row] = data.xipos[links], data.xmat[links]
        # The motion of a point of a link for a unit speed of each joint: (frames, joints, links, ...).
        hinge = (model.jnt_type[joints] == mujoco.mjtJoint.mjJNT_HINGE)[:, None]
        turn = (axis * hinge)[:, :, None]
        arm_m = centre_m[:, None] - anchor_m[:, :, None]
        rise = turn[..., 0] * arm_m[..., 1] - turn[..., 1] * arm_m[..., 0] + (axis * ~hinge)[:, :, None, 2]
        xmat = turned.reshape(frames, 1, len(links), 3, 3)
        tilt = turn[..., :1] * xmat[..., 1, :] - turn[..., 1:2] * xmat[..., 0, :]
        columns = np.concatenate([rise[..., None], tilt], axis=3) * self._moves[..., None]
        mass = model.body_mass[self._links]
        deviation = np.column_stack([MASS_SHARE * mass, *(CENTRE_M * mass for _ in range(3))]).ravel()
        return ArmGravity(GRAVITY_M_S2 * columns.reshape(frames, self.joints, -1), deviation)


@dataclass(frozen=True)
class Unexplained:
    """Torques that the twin's arm does not explain.

    Attributes:
        rest_nm: (n, joints) torques.
        speed_rad_s: (n, joints) smoothed speeds.
        lever_m: (n, 3, joints) Jacobian of the tool.
    """

    rest_nm: np.ndarray
    speed_rad_s: np.ndarray
    lever_m: np.ndarray

    @cached_property
    def force_n(self) -> np.ndarray:
        """(n, 3) force at the tool that balances these torques."""
        solve = np.linalg.pinv(self.lever_m.transpose(0, 2, 1), rcond=0.02)
        return (solve @ self.rest_nm[:, :, None])[:, :, 0]


def _links(model: mujoco.MjModel, dofs: np.ndarray) -> list[int]:
    """Bodies with mass that the joints of the arm move."""
    moved = set(model.dof_bodyid[dofs].tolist())
    links = []
    for body in range(1, model.nbody):
        above = body
        while above and above not in moved:
            above = int(model.body_parentid[above])
        if above and model.body_mass[body] > 0:
            links.append(body)
    return links


def _is_above(model: mujoco.MjModel, dof: int, body: int) -> bool:
    """Whether the degree of freedom moves the body."""
    while body and body != model.dof_bodyid[dof]:
        body = int(model.body_parentid[body])
    return bool(body)


def _smooth_gradient(values: np.ndarray, period_s: float) -> np.ndarray:
    """Derivative over four periods: the slope of the line through five samples."""
    padded = np.concatenate([values[:1], values[:1], values, values[-1:], values[-1:]])
    n = len(values)
    return (2 * (padded[4:] - padded[:n]) + padded[3 : n + 3] - padded[1 : n + 1]) / (10 * period_s)


@dataclass(frozen=True)
class EpisodeTrace:
    """One episode of a robot or its twin.

    Attributes:
        frames: feature -> (n, ...), with the feature names of a dataset.
        conditions: conditions that the lab recorded; for the twin, those that a lab would have recorded.
        pictures: camera -> (n, height, width, 3) uint8, a few images of the episode.
    """

    frames: Mapping[str, np.ndarray]
    success: bool
    arm: Arm
    conditions: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, np.ndarray] = field(default_factory=dict)
    morphology: Morphology = "arm"

    @property
    def period_s(self) -> float:
        return self.arm.period_s

    @cached_property
    def look(self) -> Appearance | None:
        return appearance(picture for pictures in self.pictures.values() for picture in pictures)

    @cached_property
    def rows(self) -> int:
        return len(self.frames["action"])

    def first(self, seconds: float) -> "EpisodeTrace":
        """The first part of this episode."""
        rows = round(seconds / self.arm.period_s)
        return replace(self, frames={name: values[:rows] for name, values in self.frames.items()})

    def part(self, feature: str) -> np.ndarray | None:
        values = self.frames.get(feature)
        return None if values is None else np.asarray(values, float)[: self.rows]

    @cached_property
    def state(self) -> np.ndarray:
        return np.asarray(self.frames["observation.state"], float)

    @cached_property
    def position(self) -> np.ndarray:
        """(n, joints) measured positions of the arm."""
        return self.state[:, : self.arm.joints]

    @cached_property
    def command(self) -> np.ndarray:
        """(n, joints and openings) commands that were sent; the actions if commands are not recorded."""
        sent = self.part("command")
        return np.asarray(self.frames["action"], float) if sent is None else sent

    @cached_property
    def effort(self) -> np.ndarray | None:
        """(n, joints and openings) measured torques; None if the robot does not measure them and reports zeros."""
        effort = self.part("observation.effort")
        return effort if effort is not None and effort[:, : self.arm.joints].any() else None

    @cached_property
    def thing(self) -> int:
        """The thing that the robot handles: the nearest when the fingers first close, else the one that moves most."""
        poses = self.part("observation.environment_state")
        if poses is None or len(self.arm.things) == 1:
            return 0
        paths = [poses[:, columns][:, :3] for _, columns in self.arm.things]
        if self.first_closing < self.rows:
            tool = self.arm.tool(self.position[self.first_closing : self.first_closing + 1])[0]
            return int(np.argmin([np.linalg.norm(path[self.first_closing] - tool) for path in paths]))
        return int(np.argmax([np.linalg.norm(np.ptp(path, axis=0)) for path in paths]))

    @property
    def kind(self) -> str:
        """The kind of the handled thing, as recorded or as in the twin."""
        usual = self.arm.things[self.thing][0]
        return self.conditions.get("object", usual) if self.thing == 0 else usual

    @cached_property
    def object(self) -> np.ndarray | None:
        """(n, 7) tracked pose of the handled thing."""
        poses = self.part("observation.environment_state")
        return None if poses is None else poses[:, self.arm.things[self.thing][1]]

    @cached_property
    def all_things(self) -> np.ndarray | None:
        """(n, things, 3) tracked positions of all things."""
        poses = self.part("observation.environment_state")
        return None if poses is None else np.stack([poses[:, columns][:, :3] for _, columns in self.arm.things], axis=1)

    @cached_property
    def goal(self) -> np.ndarray | None:
        """(n, 7) pose of the goal of a task that has one."""
        poses, columns = self.part("observation.environment_state"), self.arm.goal_columns
        return None if poses is None or columns is None or poses.shape[1] < columns.stop else poses[:, columns]

    @cached_property
    def closing(self) -> np.ndarray:
        """(n,) whether the gripper, or the first of several, is commanded to close."""
        return (self.command[:, self.arm.joints] - self.arm.closed) / self.arm.stroke < CLOSING

    @cached_property
    def first_closing(self) -> int:
        return int(np.argmax(self.closing)) if self.closing.any() else self.rows

    @cached_property
    def held(self) -> np.ndarray:
        """Frames in which the object is carried for the first time: the gripper is closing and the object has risen.

        They end when the gripper opens. Later the object may stand on another one while the gripper carries a third.
        """
        poses = self.object
        if poses is None or self.first_closing >= self.rows:
            return np.array([], int)
        height = poses[:, 2] - np.median(poses[: max(self.first_closing, STILL_FRAMES), 2])
        settled = np.arange(self.rows) >= self.first_closing + SETTLED_FRAMES
        rows = np.flatnonzero(self.closing & settled & (height > RISEN_M))
        return rows[rows < self._next(~self.closing, int(rows[0]))] if len(rows) else rows

    @cached_property
    def pressing(self) -> np.ndarray:
        """Frames in which the gripper first presses on something, whether or not that rises.

        Closing is commanded, and the fingers stand still without having closed. They move again if it slips out.
        """
        opening = (self.state[:, self.arm.joints] - self.arm.closed) / self.arm.stroke
        still = np.abs(np.diff(opening, prepend=opening[:1])) < STILL_SHARE
        blocked = self.closing & still & (opening > BLOCKED_SHARE)
        first = self._next(blocked, min(self.first_closing + SETTLED_FRAMES, self.rows))
        return np.arange(first, self._next(~blocked, first))

    @cached_property
    def first_opening(self) -> int:
        """The frame in which the gripper is commanded to open again after the object was carried; `rows` if never."""
        return self._next(~self.closing, int(self.held[0])) if len(self.held) else self.rows

    def _next(self, happens: np.ndarray, first: int) -> int:
        """The first frame from `first` on in which something happens; `rows` if there is none."""
        later = happens[first:]
        return first + int(np.argmax(later)) if later.any() else self.rows

    @cached_property
    def approach(self) -> int:
        """Number of frames until the fingers first close. What the arm does later depends on how the grasp went."""
        return self.rows if self.first_closing < MIN_APPROACH_FRAMES else min(self.first_closing, self.rows)

    @cached_property
    def arm_delay(self) -> tuple[float, float]:
        """(control periods that the arm is behind its commands on the approach, remaining error in rad (RMS))."""
        most = min(MAX_ARM_DELAY, self.approach // 3)
        if most < 2:
            return NAN, NAN
        pair = self.command[: self.approach, : self.arm.joints], self.position[: self.approach]
        delay = estimate_delay([pair], shifts=range(most + 1), fit_gain=False)
        return (NAN, NAN) if delay is None else (delay.rows, delay.rms)

    @cached_property
    def tracking_error(self) -> np.ndarray | None:
        """(m, joints) distance of each joint from its delayed command, from the first command to the end."""
        behind, _ = self.arm_delay
        if np.isnan(behind):
            return None
        then = np.arange(int(np.ceil(behind)), self.rows)
        before = np.floor(then - behind).astype(int)
        share = (then - behind - before)[:, None]
        command = self.command[:, : self.arm.joints]
        return (
            self.position[then] - (1 - share) * command[before] - share * command[np.minimum(before + 1, self.rows - 1)]
        )

    @cached_property
    def tracker_delay(self) -> tuple[float, float]:
        """(delay of the carried object behind the tool in control periods, remaining distance in m (RMS)).

        It is negative if the joint readings are older than the tracked pose. This tells a delayed observation from a
        delayed command: both delay the measured motion behind the command, but only an old reading of the joints lets
        the object lead the tool.
        """
        poses, rows = self.object, self.held
        if poses is None or len(rows) < MIN_CARRIED_FRAMES:
            return NAN, NAN
        first, last = int(rows[0]), int(rows[-1]) + 1
        tool = self.held_tool if len(rows) == last - first else self.arm.tool(self.position[first:last])
        most = min(MAX_TRACKER_DELAY, (last - first) // 2)
        delay = estimate_delay([(tool, poses[first:last, :3])], shifts=range(-most, most + 1), fit_gain=False)
        return (NAN, NAN) if delay is None else (delay.rows, delay.rms)

    @cached_property
    def unexplained(self) -> Unexplained | None:
        """Torques that the arm's own weight and acceleration do not explain."""
        if self.effort is None or self.rows < 8:
            return None
        return self.arm.unexplained(self.position, self.effort[:, : self.arm.joints])

    @cached_property
    def outside_force_n(self) -> np.ndarray | None:
        """(n, 3) force at the tool that the arm's own weight and acceleration do not explain, in N."""
        return None if self.unexplained is None else self.unexplained.force_n

    @cached_property
    def load_n(self) -> float:
        """Upward force for the carried object; errors of the arm's own masses are fitted to the other frames."""
        held = self.held[SETTLED_FRAMES // 2 : -SETTLED_FRAMES // 2]
        released = min(self.first_opening + RELEASED_FRAMES, self.rows)
        free = np.concatenate([self.before, np.arange(released, self._next(self.closing, released))])
        if self.unexplained is None or self.effort is None or min(len(held), len(free)) < MIN_CARRIED_FRAMES:
            return NAN
        rows = np.concatenate([_spread_over(free), _spread_over(held)])
        carried = np.isin(rows, self.held)
        torques = self.unexplained
        return load_n(
            torques.rest_nm[rows], torques.speed_rad_s[rows], torques.lever_m[rows, 2],
            self.arm.gravity(self.position[rows]), self.effort[rows, : self.arm.joints], carried,
        )  # fmt: skip

    @cached_property
    def before(self) -> np.ndarray:
        """Frames before the fingers close, in which the robot does not touch the object."""
        return np.arange(max(self.first_closing - 2, 0))

    @cached_property
    def held_tool(self) -> np.ndarray:
        """(held, 3) tool positions while the object is carried."""
        return self.arm.tool(self.position[self.held])


def _spread_over(rows: np.ndarray) -> np.ndarray:
    """At most `LOAD_FRAMES` of some frames, evenly spread."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), LOAD_FRAMES)).round().astype(int))]
