"""WalkTrace: one episode of a legged robot or its twin, with quantities that several traits use."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.diagnose.traits.joint_response import JointResponse, joint_response
from twinloop.diagnose.traits.mobile_episode import MobileEpisode
from twinloop.randomize.parameter import Morphology
from twinloop.twin.kinematic_chain import KinematicChain
from twinloop.twin.legs.walk_twin import WalkTwin

STANDS = (0.1, 0.48)
"""Share of the step period in which a foot is surely on the ground: it lands at 0 and leaves at 0.55."""
SWINGS = (0.6, 0.97)
"""Share of the step period in which a foot is surely in the air."""
MAX_JOINT_DELAY = 12  # largest delay of joints behind their targets, in control periods
BEGUN_FRAMES = 15  # an episode begins with a drop of some millimetres


class LegsModel:
    """Kinematics of the feet of a legged robot in the frame of its base, for many frames at once."""

    def __init__(self, twin: WalkTwin):
        self.period_s = twin.control_period_s
        self.joints = twin.joints
        phases = np.array([foot.phase for foot in twin.robot.feet])
        self.phases = phases - phases[0]
        self._legs = [_leg(twin, int(site)) for site in twin.foot_sites]
        self._base_m = twin.model.body_pos[twin.base_body]

    @property
    def legs(self) -> list[list[int]]:
        """Columns of the joints of each leg."""
        return [columns for columns, _ in self._legs]

    def feet_m(self, position_rad: np.ndarray) -> np.ndarray:
        """(n, feet, 3) places of the feet for (n, joints) joint positions."""
        feet = [chain.frames(position_rad[:, columns]).position_m for columns, chain in self._legs]
        return np.stack(feet, axis=1) - self._base_m


def _leg(twin: WalkTwin, site: int) -> tuple[list[int], KinematicChain]:
    """The joints between the base and a foot, as columns of joint positions, and their chain."""
    model, bodies = twin.model, set()
    body = int(model.site_bodyid[site])
    while body != twin.base_body:
        bodies.add(body)
        body = int(model.body_parentid[body])
    columns = [place for place, joint in enumerate(twin.arm_joints) if int(model.jnt_bodyid[joint]) in bodies]
    return columns, KinematicChain(model, twin.arm_joints[columns], site)


@dataclass(frozen=True)
class WalkTrace(MobileEpisode):
    """One episode of a legged robot. Frames without a reference pose of the base have unknown traits of its motion."""

    robot: LegsModel
    morphology: Morphology = "legs"

    @cached_property
    def target(self) -> np.ndarray:
        """(n, joints) joint targets that were sent."""
        return self.sent[:, : self.robot.joints]

    @cached_property
    def position(self) -> np.ndarray:
        return np.asarray(self.frames["observation.state"], float)

    @cached_property
    def velocity(self) -> np.ndarray | None:
        values = self.frames.get("observation.velocity")
        return None if values is None else np.asarray(values, float)

    @cached_property
    def gyro(self) -> np.ndarray:
        return np.asarray(self.frames["observation.imu"], float)[:, :3]

    @cached_property
    def down(self) -> np.ndarray:
        """(n, 3) measured direction of gravity in the frame of the base."""
        return np.asarray(self.frames["observation.imu"], float)[:, 3:6]

    @cached_property
    def asked(self) -> np.ndarray:
        """(n, 3) commanded velocity: forward, left, turn."""
        return np.asarray(self.frames["observation.command"], float)[:, :3]

    @cached_property
    def settled(self) -> np.ndarray:
        """(n,) frames in which the command has not changed for a second."""
        changed = np.concatenate([[True], (np.diff(self.asked, axis=0) != 0).any(axis=1)])
        since = np.arange(self.rows) - np.maximum.accumulate(np.where(changed, np.arange(self.rows), 0))
        return since * self.period_s >= 1.0

    @cached_property
    def walks(self) -> np.ndarray:
        """(n,) frames in which the clock of the gait runs."""
        return np.hypot(*self._clock) > 0.5

    @property
    def _clock(self) -> np.ndarray:
        """(2, n) sine and cosine of the gait."""
        return np.asarray(self.frames["observation.command"], float)[:, 3:5].T

    @cached_property
    def _phase(self) -> np.ndarray:
        """(n, feet) share of the step period since each foot landed."""
        sine, cosine = self._clock
        return np.mod(np.arctan2(sine, cosine)[:, None] / (2 * np.pi) + self.robot.phases, 1)

    @cached_property
    def stands(self) -> np.ndarray:
        """(n, feet) feet that are surely on the ground, by the clock of the gait; all feet of a robot that stands."""
        stands = ((self._phase > STANDS[0]) & (self._phase < STANDS[1])) | ~self.walks[:, None]
        stands[:BEGUN_FRAMES] = False
        return stands

    @cached_property
    def swings(self) -> np.ndarray:
        """(n, feet) feet that are surely in the air."""
        swings = (self._phase > SWINGS[0]) & (self._phase < SWINGS[1]) & self.walks[:, None]
        swings[:BEGUN_FRAMES] = False
        return swings

    @cached_property
    def feet_m(self) -> np.ndarray:
        """(n, feet, 3) places of the feet in the frame of the base."""
        return self.robot.feet_m(self.position)

    @cached_property
    def base(self) -> np.ndarray | None:
        """(n, 7) reference pose of the base, from motion capture or the twin; None if the log has none."""
        poses = self.frames.get("observation.environment_state")
        return None if poses is None or poses.shape[1] < 7 else np.asarray(poses[:, :7], float)

    @cached_property
    def axes(self) -> np.ndarray | None:
        """(n, 3, 3) reference axes of the base in the world."""
        if self.base is None:
            return None
        w, x, y, z = self.base[:, 3:].T
        return np.stack([
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1),
        ], axis=1)  # fmt: skip

    @cached_property
    def speed_m_s(self) -> np.ndarray | None:
        """(n, 2) reference velocity of the base, forward and to the left."""
        if self.base is None or self.axes is None or self.rows < 5:
            return None
        world = np.gradient(self.base[:, :2], self.period_s, axis=0)
        heading = np.arctan2(self.axes[:, 1, 0], self.axes[:, 0, 0])
        cos, sin = np.cos(heading), np.sin(heading)
        return np.column_stack([cos * world[:, 0] + sin * world[:, 1], cos * world[:, 1] - sin * world[:, 0]])

    @property
    def _longest_delay(self) -> int:
        return MAX_JOINT_DELAY

    def _pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(self.target, self.position)]

    @cached_property
    def joint_error(self) -> np.ndarray | None:
        """(m, joints) distance of the joints from their targets, which are delayed by whole periods."""
        if self.delay is None:
            return None
        behind = max(round(self.delay.rows), 0)
        return self.position[behind:] - self.target[: self.rows - behind]

    @cached_property
    def swing_response(self) -> JointResponse | None:
        """How the joints of legs in the air follow their targets."""
        return self._response(self.swings)

    @cached_property
    def stance_response(self) -> JointResponse | None:
        """How the joints of legs on the ground follow their targets while the robot walks."""
        return self._response(self.stands & self.walks[:, None])

    def _response(self, counts: np.ndarray) -> JointResponse | None:
        if self.delay is None or self.velocity is None:
            return None
        groups = list(zip(self.robot.legs, counts.T, strict=True))
        return joint_response(
            self.target, self.position, self.velocity, delay_rows=self.delay.rows, groups=groups
        )  # fmt: skip
