"""Grip: where the fingers of a gripper are at an opening."""

import copy

import mujoco
import numpy as np

from twinloop.twin import robot_measures
from twinloop.twin.gripper_opening import between_fingers_m, distance_m
from twinloop.twin.robot_files.gripper_servo import SERVO
from twinloop.twin.robot_files.inspection.fingers import (
    TIP_M,
    ToolPose,
    contact_geoms,
    farthest_m,
    outward_axis,
    tip_point,
    tool_pose,
    wrist_axis,
)
from twinloop.twin.robot_files.mjcf import MjcfRobot

SEARCH_STEPS = 6
MIN_STROKE_M = 0.002
FIXED_M = 0.002  # a finger tip that moves less does not move
PAD_M = 0.008  # half of the length of a pad
STRIKES_J, QUICK_S = 0.09, 0.4
"""Largest energy of the closing fingers, and the time in which fingers close that need not be slowed down."""
FASTEST_M_S, CALM_M_S = 0.8, 0.3
"""Speed at which tips that approach each other sink into things, and that at which they are closed instead."""
STEP_S, CLOSES_S = 0.004, 0.3
SMALL_M, SMALL_WEDGE_RAD = 0.022, 0.5
"""Width of small things, and the angle that a single jaw may have with them."""
WEDGE_RAD, SINGLE_WEDGE_RAD = 0.3, 0.1
"""Angle between the jaws at which things with little friction do not slip out yet: of two that turn, and of one."""


class Grip:
    """The gripper of a prepared model at several openings.

    The gap is measured between points of the finger tips, because a jaw's geoms touch those of the hand at its hinge.
    """

    def __init__(self, model: mujoco.MjModel, mapping: MjcfRobot, hand: int, gripper: tuple[int, ...]):
        self._model, self._hand = model, hand
        self._joints = [model.joint(name).id for name in mapping.gripper.joints]
        self._turning = gripper
        self._arm = [model.joint(name).id for name in mapping.arm_joints]
        self._actuator = model.actuator(mapping.gripper.actuator or SERVO).id
        self._home = mapping.home
        self._fingers = (model.body(mapping.gripper.fingers[0]).id, model.body(mapping.gripper.fingers[1]).id)
        low, high = (float(end) for end in model.actuator_ctrlrange[self._actuator])
        ends = {control: self.at(control) for control in (low, high)}
        # An open jaw may point to the side; then the closed one shows the direction.
        directions = [outward_axis(model, data, hand, gripper) for data in ends.values()]
        self.outward = max(directions, key=lambda axis: abs(float(axis @ wrist_axis(model, ends[low], hand))))
        # Fingers that turn reach farthest when they are closed.
        longest = max(ends.values(), key=self._length_m)
        self._tips = [tip_point(model, longest, finger, self.outward) for finger in self._fingers]
        self.closed_control, self.open_control = sorted(ends, key=lambda control: self._apart_m(ends[control]))
        self.closed, self.opened = ends[self.closed_control], ends[self.open_control]
        self._stop_where_tips_meet()

    @property
    def stroke_m(self) -> float:
        """How much farther apart the tips are when open than when closed."""
        return self.gap_m(self.opened)

    def at(self, control: float) -> mujoco.MjData:
        return robot_measures.settled(
            self._model, self._actuator, control, joints=self._joints, arm_joints=self._arm, home_rad=self._home
        )

    def _stop_where_tips_meet(self) -> None:
        """Take the control at which the tips meet as the closed one, if the fingers would pass each other."""
        if self._offset_m(self.closed) @ self._offset_m(self.opened) >= 0:
            return
        past, before = self.closed_control, self.open_control
        for _ in range(SEARCH_STEPS):
            control = (past + before) / 2
            data = self.at(control)
            met = self._offset_m(data) @ self._offset_m(self.opened) < 0
            past, before = (control, before) if met else (past, control)
        self.closed_control = before
        self.closed = self.at(before)

    def opening(self, data: mujoco.MjData) -> float:
        """Sum of the joint positions, as the mapping counts it."""
        return float(data.qpos[self._model.jnt_qposadr[self._joints]].sum())

    def gap_m(self, data: mujoco.MjData) -> float:
        return self._apart_m(data) - self._apart_m(self.closed)

    def tips(self, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
        """The tips of the two fingers in the world."""
        first, second = (
            data.xpos[finger] + data.xmat[finger].reshape(3, 3) @ tip
            for finger, tip in zip(self._fingers, self._tips, strict=True)
        )
        return first, second

    def tool(self, grasping: mujoco.MjData) -> ToolPose:
        first, second = self.tips(grasping)
        return tool_pose(grasping, (first, second), self._hand, self.outward, second - first)

    def with_gap(self, gap_m: float) -> mujoco.MjData:
        """The state with this gap between the tips, or the open one if that is narrower."""
        if self.stroke_m <= gap_m:
            return self.opened
        narrow, wide, data = self.closed_control, self.open_control, self.opened
        for _ in range(SEARCH_STEPS):
            control = (narrow + wide) / 2
            data = self.at(control)
            narrow, wide = (narrow, control) if self.gap_m(data) > gap_m else (control, wide)
        return data

    def width_m(self, tool: ToolPose, opened: mujoco.MjData) -> float:
        """Distance between the pads of the open gripper."""
        to_world = opened.xmat[self._hand].reshape(3, 3)
        point = opened.xpos[self._hand] + to_world @ tool.offset_m
        closing = to_world @ tool.rotation[:, 1]
        between_m = between_fingers_m(self._model, opened, self._fingers, point, closing) or 0.0
        # Jaws that open wide swing back behind the tool's frame, where nothing is beside it.
        return between_m if between_m > 0 else self.gap_m(opened)

    def closed_tips_m(self, tool: ToolPose, grasping: mujoco.MjData) -> tuple[float, float, float]:
        """Where the tips of the closed fingers are in the tool's frame: beside it at a jaw that does not move, farther
        out for fingers on a linkage.

        Args:
            grasping: the state in which the tool's frame is between the tips.
        """
        to_world = self.opened.xmat[self._hand].reshape(3, 3)
        point = self.opened.xpos[self._hand] + to_world @ tool.offset_m
        axes = to_world @ tool.rotation
        out_m = float(
            np.mean(self.tips(self.closed), axis=0) @ axes[:, 2] - np.mean(self.tips(grasping), axis=0) @ axes[:, 2]
        )
        moved = [
            np.linalg.norm(opened - closed)
            for opened, closed in zip(self.tips(self.opened), self.tips(self.closed), strict=True)
        ]
        aside_m = 0.0
        if min(moved) < FIXED_M < max(moved):
            finger = int(np.argmin(moved))
            side = np.sign((self.tips(grasping)[finger] - point) @ axes[:, 1])
            # Towards its tip a jaw may be nearer to the thing than beside the tool's frame.
            out_to_tip_m = max(float((self.tips(grasping)[finger] - point) @ axes[:, 2]) - TIP_M, 0.0)
            distances_m = [
                distance_m(
                    self._model, self.opened, (self._fingers[finger],), point + along_m * axes[:, 2], side * axes[:, 1]
                )
                for along_m in np.linspace(0, out_to_tip_m, 5)
            ]
            aside_m = side * min((distance for distance in distances_m if distance >= 0), default=0.0)
        return 0.0, round(float(aside_m), 4), round(out_m, 4) if abs(out_m) > FIXED_M else 0.0

    def force_n(self, grasping: mujoco.MjData) -> float:
        """Force with which the closing fingers press on an object between them."""
        return min(self.unlimited_force_n(grasping), self.most_force_n)

    def unlimited_force_n(self, grasping: mujoco.MjData) -> float:
        """The same without the limits of the actuator and of its joints."""
        model = copy.copy(self._model)
        model.actuator_forcelimited[self._actuator] = 0
        data = mujoco.MjData(model)
        data.qpos[:] = grasping.qpos
        data.ctrl[self._actuator] = self.closed_control
        activation = int(model.actuator_actadr[self._actuator])
        if activation >= 0:
            data.act[activation] = self.closed_control
        mujoco.mj_forward(model, data)
        return self._travel * abs(float(data.actuator_force[self._actuator]))

    @property
    def most_force_n(self) -> float:
        """Force at the finger tips that the limits of the actuator and of its joint allow."""
        return self._travel * self.force_limit

    def limit_for(self, force_n: float) -> float:
        """The limit of the actuator with which the fingers press with this force."""
        return force_n / self._travel

    @property
    def _travel(self) -> float:
        """Movement of the actuator for one metre of the gap between the tips, which is the ratio of forces too."""
        lengths = []
        for state in (self.opened, self.closed):
            data = mujoco.MjData(self._model)
            data.qpos[:] = state.qpos
            mujoco.mj_forward(self._model, data)
            lengths.append(float(data.actuator_length[self._actuator]))
        return abs(lengths[0] - lengths[1]) / self.stroke_m

    @property
    def force_limit(self) -> float:
        """Force or torque that the limits of the actuator and of its joint allow the actuator; infinite without one."""
        model, actuator, limits = self._model, self._actuator, [np.inf]
        if model.actuator_forcelimited[actuator]:
            limits.append(float(np.abs(model.actuator_forcerange[actuator]).max()))
        joint = int(model.actuator_trnid[actuator, 0])
        if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT.value and model.jnt_actfrclimited[joint]:
            gear = abs(float(model.actuator_gear[actuator, 0]))
            limits.append(float(np.abs(model.jnt_actfrcrange[joint]).max()) / gear)
        return min(limits)

    def parallel_m(self, tool: ToolPose) -> float:
        """The gap at which jaws that turn are at a small angle to each other; infinite for parallel ones.

        A single jaw may be at a larger angle with small things: tiny ones are harder to grip than these in a wedge.
        """
        if len(self._turning) != 1:
            return self._gap_within_m(tool, WEDGE_RAD)
        return max(self._gap_within_m(tool, SINGLE_WEDGE_RAD), min(SMALL_M, self._gap_within_m(tool, SMALL_WEDGE_RAD)))

    def _gap_within_m(self, tool: ToolPose, most_rad: float) -> float:
        """The largest gap at which the angle between the pads is smaller; infinite if it always is."""
        if self.wedge_rad(tool, self.opened) < most_rad:
            return np.inf
        narrow, wide = self.closed_control, self.open_control
        for _ in range(SEARCH_STEPS):
            control = (narrow + wide) / 2
            inside = self.wedge_rad(tool, self.at(control)) < most_rad
            narrow, wide = (control, wide) if inside else (narrow, control)
        return self.gap_m(self.at(narrow))

    def closing_speed(self, gain_scale: float) -> float | None:
        """Speed of the opening at which the fingers strike things softly; None if they may be as fast as they can.

        Large gears and placeholders of inertia make fingers heavy. Light ones with strong servos are too fast.
        """
        model, opening = self._model, self.opening(self.opened) - self.opening(self.closed)
        data, full, moved = mujoco.MjData(model), np.zeros((model.nv, model.nv)), np.zeros(model.nv)
        data.qpos[:] = self.closed.qpos
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, full)
        mujoco.mj_differentiatePos(model, moved, 1.0, self.closed.qpos, self.opened.qpos)
        moved[model.jnt_dofadr[self._arm]] = 0.0
        # The energy is proportional to the square of the speed.
        speed = np.sqrt(2 * STRIKES_J / max(float(moved @ full @ moved), 1e-12)) * abs(opening)
        if speed * QUICK_S <= abs(opening):
            return float(f"{speed:.3g}")
        if self.free_speed_m_s(gain_scale) > FASTEST_M_S:
            return float(f"{CALM_M_S / self.stroke_m * abs(opening):.3g}")
        return None

    def free_speed_m_s(self, gain_scale: float) -> float:
        """Largest speed at which the tips of the open fingers approach each other, with nothing between them.

        Args:
            gain_scale: factor on the gains of the actuator.
        """
        model = copy.copy(self._model)
        model.opt.timestep, model.opt.gravity[:] = STEP_S, 0
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        model.actuator_gainprm[self._actuator] *= gain_scale
        model.actuator_biasprm[self._actuator] *= gain_scale
        model.dof_armature[model.jnt_dofadr[self._arm]] = robot_measures.FROZEN_KGM2
        data = mujoco.MjData(model)
        data.qpos[:] = self.opened.qpos
        activation = int(model.actuator_actadr[self._actuator])
        if activation >= 0:
            data.act[activation] = self.open_control
        data.ctrl[self._actuator] = self.closed_control
        gaps = [self.stroke_m]
        for _ in range(round(CLOSES_S / STEP_S)):
            mujoco.mj_step(model, data)
            gaps.append(self.gap_m(data))
        return float(-np.diff(gaps).min() / STEP_S)

    def wedge_rad(self, tool: ToolPose, data: mujoco.MjData) -> float:
        """The angle between the pads beside the tool's frame; positive if they are farther apart at the tips.

        With a single jaw it is at least the angle of either pad to the direction out of the hand. A pad on the other
        side that stands out at its tip does not make up for a jaw that presses things out of the hand.
        """
        to_world = data.xmat[self._hand].reshape(3, 3)
        _, closing, outward = (to_world @ tool.rotation).T
        first, second = self.tips(data)
        middle = data.xpos[self._hand] + to_world @ tool.offset_m
        # A single jaw closes past the tool's frame, so that the rays must start between the tips.
        middle = middle + closing * (((first + second) / 2 - middle) @ closing)
        points = [middle + along_m * outward for along_m in (-PAD_M, PAD_M)]
        way = np.sign((second - first) @ closing) * closing
        widths = [
            [distance_m(self._model, data, (finger,), point, sign * way) for point in points]
            for finger, sign in zip(self._fingers, (-1.0, 1.0), strict=True)
        ]
        if np.min(widths) < 0:
            # Jaws that are wide open swing away from the tool's frame.
            return self._turned_rad(data)
        spreads_m = [outer - inner for inner, outer in widths]
        widest_m = max(sum(spreads_m), *spreads_m) if len(self._turning) == 1 else sum(spreads_m)
        return float(np.arctan(widest_m / (2 * PAD_M)))

    def _turned_rad(self, data: mujoco.MjData) -> float:
        """The angle by which the fingers have turned against each other since they were closed."""
        between = [
            state.xmat[self._fingers[0]].reshape(3, 3).T @ state.xmat[self._fingers[1]].reshape(3, 3)
            for state in (self.closed, data)
        ]
        return float(np.arccos(np.clip((np.trace(between[0].T @ between[1]) - 1) / 2, -1, 1)))

    def _apart_m(self, data: mujoco.MjData) -> float:
        return float(np.linalg.norm(self._offset_m(data)))

    def _offset_m(self, data: mujoco.MjData) -> np.ndarray:
        """(3,) from the tip of the first finger to that of the second, across the direction out of the hand."""
        first, second = self.tips(data)
        return second - first - self.outward * ((second - first) @ self.outward)

    def _length_m(self, data: mujoco.MjData) -> float:
        return sum(
            farthest_m(self._model, data, contact_geoms(self._model, finger), data.xpos[self._hand], self.outward)
            for finger in self._fingers
        )
