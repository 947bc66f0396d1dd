"""The gripper of a user's robot: openings and controls, given by the mapping or measured on the model."""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin import robot_measures
from twinloop.twin.robot import Gripper
from twinloop.twin.robot_files.mapping import GripperMapping

MIN_STROKE = 1e-4  # metres or radians; a smaller change is no movement
MIN_GAP_CHANGE_M = 1e-3


def named(path: Path, model: mujoco.MjModel, kind: str, name: str) -> int:
    """Index of the element with this name."""
    try:
        return getattr(model, kind)(name).id
    except KeyError as error:
        hint = "; or give tool_frame as {body: ..., offset: [x, y, z]}" if kind == "site" else ""
        raise ModelError(f"{path}: no {kind} named {name!r}. {error.args[0]}{hint}") from None


@dataclass(frozen=True)
class UserGripper:
    """A gripper in the model file at `path`, with the arm at `home_rad`."""

    path: Path
    mapping: GripperMapping
    home_rad: tuple[float, ...]

    def record(self, model: mujoco.MjModel, arm_joints: list[int], site: int) -> Gripper:
        """The gripper, with openings and controls measured on the model if the mapping does not give them."""
        given = self.mapping
        joints = [named(self.path, model, "joint", name) for name in given.joints]
        unit = self._gripper_unit(model, joints)
        actuator = named(self.path, model, "actuator", given.actuator)
        if not model.actuator_ctrllimited[actuator]:
            raise ModelError(f"{self.path}: actuator {given.actuator!r} has no control range; set its ctrlrange")
        first, second = (named(self.path, model, "body", name) for name in given.fingers)
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        pads = robot_measures.pads(model, (first, second), data.site_xpos[site], data)
        if len(pads) < 2:
            raise ModelError(f"{self.path}: a body of fingers {list(given.fingers)} has no geom that touches things")
        low, high = robot_measures.gripper_ends(
            model,
            joints=joints,
            actuator=actuator,
            pads=(pads[0], pads[1]),
            arm_joints=arm_joints,
            home_rad=self.home_rad,
        )
        moved = np.subtract(high.positions, low.positions)
        if np.abs(moved).max() < MIN_STROKE or abs(high.opening - low.opening) < MIN_STROKE:
            detail = ", ".join(f"{name} by {by:.3g} {unit}" for name, by in zip(given.joints, moved, strict=True))
            raise ModelError(
                f"{self.path}: actuator {given.actuator!r} does not change the opening: over its control range it "
                f"moves {detail}, and the opening is their sum. Of joints that mirror each other name one"
            )
        opens, closes = (high, low) if high.gap_m > low.gap_m else (low, high)
        if given.open is not None and given.closed is not None:
            return self._given_gripper(low, high, given.open, given.closed, unit)
        if abs(high.gap_m - low.gap_m) < MIN_GAP_CHANGE_M:
            raise ModelError(
                f"{self.path}: the finger pads are {1000 * low.gap_m:.1f} mm apart at both ends of the control range "
                f"of {given.actuator!r}; give `open` and `closed`, or name other fingers"
            )
        return Gripper(
            joints=given.joints,
            actuator=given.actuator,
            finger_bodies=(given.fingers[0], given.fingers[1]),
            open=opens.opening,
            closed=closes.opening,
            open_control=opens.control,
            closed_control=closes.control,
            unit=unit,
        )

    def _given_gripper(
        self, low: robot_measures.GripperEnd, high: robot_measures.GripperEnd, open_: float, closed: float, unit: str
    ) -> Gripper:
        """The gripper with the mapping's openings; their controls are interpolated between the two measured ends."""
        slope = (high.control - low.control) / (high.opening - low.opening)
        controls = [
            float(np.clip(low.control + slope * (opening - low.opening), low.control, high.control))
            for opening in (open_, closed)
        ]
        if controls[0] == controls[1]:
            raise ModelError(
                f"{self.path}: open {open_:g} and closed {closed:g} {unit} cannot be reached: the gripper settles at "
                f"{low.opening:.4g} and {high.opening:.4g} {unit} at the ends of its control range"
            )
        wider = (high.gap_m - low.gap_m) * (controls[0] - controls[1])
        if wider < 0 and abs(high.gap_m - low.gap_m) > MIN_GAP_CHANGE_M:
            gaps = sorted((1000 * low.gap_m, 1000 * high.gap_m))
            raise ModelError(
                f"{self.path}: open {open_:g} and closed {closed:g} {unit} are the wrong way round: the finger pads "
                f"are {gaps[0]:.0f} mm apart at `open` and {gaps[1]:.0f} mm at `closed`. Swap the two numbers"
            )
        return Gripper(
            joints=self.mapping.joints,
            actuator=self.mapping.actuator,
            finger_bodies=(self.mapping.fingers[0], self.mapping.fingers[1]),
            open=open_,
            closed=closed,
            open_control=controls[0],
            closed_control=controls[1],
            unit=unit,
        )

    def _gripper_unit(self, model: mujoco.MjModel, joints: list[int]) -> str:
        units = {mujoco.mjtJoint.mjJNT_HINGE.value: "rad", mujoco.mjtJoint.mjJNT_SLIDE.value: "m"}
        joint_units = {units.get(int(model.jnt_type[joint]), "") for joint in joints}
        if len(joint_units) > 1 or "" in joint_units:
            raise ModelError(f"{self.path}: gripper joints {list(self.mapping.joints)} must all slide or all turn")
        return joint_units.pop()
