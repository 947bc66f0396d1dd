"""Candidate motions for an excitation: within the limits of a robot, from home and back, nothing touched.

Each motion is a Fourier series of every joint (slow and fast reversals under changing load), then jumps between
postures as fast as the limits allow (delay, torque and speed limits). Its size is reduced until the tool stays in the
workspace, the links above the table, and the arm away from itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.deploy.robot import Limits
from twinloop.twin.self_collision import SelfCollision
from twinloop.twin.twin import Twin

HARMONICS = 6
SLOWEST_HZ = 0.15
RAMP_S = 0.8
HOLD_S = (0.35, 0.9)
FOURIER_SHARE = 0.6
"""Share of the time that the Fourier series takes; the rest are jumps."""
WITHIN = 0.9
"""Share of each limit that a motion may use. The safety filter then passes it on unchanged."""
SIZES = (1.0, 0.75, 0.55, 0.4, 0.3, 0.2, 0.12)
"""Sizes that are tried, the largest first."""
CLEARANCE_M = 0.02
LARGEST_RAD = 1.2
CHECKED_EVERY = 3


@dataclass(frozen=True)
class Reach:
    """Constraints of a motion: limits of the joints, and postures that are free.

    Attributes:
        home_rad: where every motion begins and ends.
        limits: of the robot, of the arm's joints first.
    """

    twin: Twin
    home_rad: np.ndarray
    limits: Limits

    def obstacle(self, positions: np.ndarray) -> str:
        """The obstacle that a (frames, joints) motion would hit, or the limit that it would leave; "" if none."""
        twin, data = self.twin, mujoco.MjData(self.twin.model)
        low, high = self.limits.workspace_m.T
        collision = SelfCollision(twin.model, twin.arm_joints, self.home_rad)
        links = [body for body in range(twin.model.nbody) if twin.model.body(body).name.startswith("robot/")][2:]
        for row in positions[::CHECKED_EVERY]:
            data.qpos[twin.arm_qpos] = row
            mujoco.mj_kinematics(twin.model, data)
            tool = data.site_xpos[twin.tool_site]
            if ((tool < low) | (tool > high)).any():
                return f"the tool would leave the workspace at ({', '.join(f'{x:.2f}' for x in tool)}) m"
            if data.xpos[links, 2].min() < CLEARANCE_M:
                return "a link would touch the table"
            pair = collision.colliding(row)
            if pair is not None:
                return f"{pair[0]} and {pair[1]} would collide"
        return ""


def candidate_motions(
    reach: Reach, *, seconds: float, rate_hz: float, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """An endless sequence of free (frames, joints) motions. An item is empty if not even the smallest size is free."""
    while True:
        shape = _shape(reach, seconds, rate_hz, rng)
        for size in SIZES:
            motion = _limited(reach, size * shape, rate_hz)
            if not reach.obstacle(motion):
                yield motion
                break
        else:
            yield np.zeros((0, len(reach.home_rad)))


def _shape(reach: Reach, seconds: float, rate_hz: float, rng: np.random.Generator) -> np.ndarray:
    """(frames, joints) offsets from home at full size, before limits of speed and acceleration."""
    joints = len(reach.home_rad)
    frames, first = round(seconds * rate_hz), round(FOURIER_SHARE * seconds * rate_hz)
    low, high = reach.limits.position[:joints].T
    room = np.minimum(np.minimum(reach.home_rad - low, high - reach.home_rad) * WITHIN, LARGEST_RAD)
    room = np.maximum(room, 0.0)
    time_s = np.arange(first) / rate_hz
    base_hz = max(SLOWEST_HZ, 1 / (FOURIER_SHARE * seconds))
    order = np.arange(1, HARMONICS + 1)
    phase = rng.uniform(0, 2 * np.pi, (HARMONICS, joints))
    weight = rng.dirichlet(np.ones(HARMONICS), joints).T
    waves = np.sin(2 * np.pi * base_hz * order[None, :, None] * time_s[:, None, None] + phase[None])
    series = np.einsum("thj,hj->tj", waves, weight)
    series *= room / np.maximum(np.abs(series).max(axis=0), 1e-9)
    ramp = np.minimum(np.minimum(time_s, time_s[-1] - time_s) / RAMP_S, 1)[:, None]
    offsets = np.zeros((frames, joints))
    offsets[:first] = series * ramp
    frame, stop = first, frames - round(RAMP_S * rate_hz)
    while frame < stop:
        held = max(1, round(rng.uniform(*HOLD_S) * rate_hz))
        offsets[frame : min(frame + held, stop)] = rng.uniform(-1, 1, joints) * room
        frame += held
    return offsets


def _limited(reach: Reach, offsets: np.ndarray, rate_hz: float) -> np.ndarray:
    """The motion that follows these offsets from home as fast as the limits of speed and acceleration allow."""
    joints, period_s = len(reach.home_rad), 1 / rate_hz
    top = WITHIN * reach.limits.velocity[:joints]
    acceleration = WITHIN * reach.limits.acceleration[:joints]
    low, high = reach.limits.position[:joints].T
    position, speed = reach.home_rad.copy(), np.zeros(joints)
    rows = [position]
    for goal in reach.home_rad + offsets[1:]:
        off = np.clip(goal, low, high) - position
        # The fastest speed from which the joint can still stop at its goal.
        wanted = np.sign(off) * np.minimum(np.minimum(np.sqrt(acceleration * np.abs(off)), top), np.abs(off) / period_s)
        speed = speed + np.clip(wanted - speed, -acceleration * period_s, acceleration * period_s)
        position = position + speed * period_s
        rows.append(position)
    return np.array(rows)
