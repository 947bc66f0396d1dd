"""From a model file to a spec that Twinloop can drive: servos, gripper, tool frame and mount."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from twinloop.errors import ModelError, nearest
from twinloop.twin import robot_measures
from twinloop.twin.robot_files.finger_shapes import divide_fingers
from twinloop.twin.robot_files.gripper_servo import add_gripper_servo, set_control_range, set_force_limit
from twinloop.twin.robot_files.mapping import GripperMapping, ToolFrame
from twinloop.twin.robot_files.model_source import ModelSource
from twinloop.twin.robot_files.servos import (
    ServoGains,
    compensate_gravity,
    drive_of,
    gains_for,
    gains_of,
    put_servo,
    resolve_damping_ratios,
    torque_limit_nm,
)
from twinloop.twin.robot_parts.grippers import GRIPPERS, ShippedGripper

ADDED_SITE = "twinloop_tool"
FLANGE, PRISTINE = "twinloop_flange", "twinloop_pristine"
DEFAULTS = {
    "joint": (
        "actfrclimited actfrcrange actgravcomp align armature axis damping frictionloss limited margin pos range ref "
        "solimp_friction solimp_limit solref_friction solref_limit springdamper springref stiffness type"
    ),
    "geom": (
        "conaffinity condim contype density friction gap group margin mass material pos priority quat rgba size solimp "
        "solmix solref type"
    ),
    "site": "group material pos quat rgba size type",
}
"""Attributes that default classes give to elements."""
ONE_TURN = 2 * np.pi


@dataclass(frozen=True)
class Preparation:
    """The changes of a model before it is compiled. See `MjcfRobot` for the attributes."""

    source: ModelSource
    arm_joints: tuple[str, ...]
    gripper: GripperMapping
    tool_frame: str | ToolFrame
    mount_yaw_deg: float = 0.0
    torque_nm: tuple[float, ...] | None = None
    stiffness_nm_rad: tuple[float, ...] | None = None
    damping_nms_rad: tuple[float, ...] | None = None
    gravity_compensation: bool = False
    remove: tuple[str, ...] = ()
    fixed_joints: tuple[str, ...] = ()

    @property
    def tool_site(self) -> str:
        if self.gripper.attach:
            return GRIPPERS[self.gripper.attach].tool_site
        return self.tool_frame if isinstance(self.tool_frame, str) else ADDED_SITE

    def spec(self) -> mujoco.MjSpec:
        spec = self.source.spec()
        strip_scene(spec)
        resolve_damping_ratios(spec)
        self._remove(spec)
        self._fix(spec)
        self._turn(spec)
        self._free_base(spec)
        replaced = [self._drive(spec, index) for index in range(len(self.arm_joints))]
        if self.gripper.attach:
            self._attach(spec)
        else:
            for name in self.gripper.fingers:
                touch_with_what_is_seen(spec.body(name))
            divide_fingers(spec, self.gripper.fingers, self.source)
            if not self.gripper.actuator:
                add_gripper_servo(spec, self.gripper, self.source, arm_joints=self.arm_joints)
            else:
                self._prepare_gripper(spec)
            if isinstance(self.tool_frame, ToolFrame):
                self._add_tool_site(spec, self.tool_frame)
        if any(replaced) or self.gravity_compensation:
            compensate_gravity(spec)
        return spec

    def _remove(self, spec: mujoco.MjSpec) -> None:
        for name in self.remove:
            body = spec.body(name)
            if body is None:
                known = [other.name for other in spec.bodies if other.name]
                raise ModelError(f"{self.source.path}: remove: no body named {name!r}; {nearest(name, known)}")
            spec.delete(body)

    def _fix(self, spec: mujoco.MjSpec) -> None:
        """Take joints out of the model. Their bodies stay where the file has them."""
        for name in self.fixed_joints:
            joint = spec.joint(name)
            if joint is None:
                known = [other.name for other in spec.joints if other.name]
                raise ModelError(f"{self.source.path}: fixed_joints: no joint named {name!r}; {nearest(name, known)}")
            tendons = [tendon for tendon in spec.tendons if name in _joints_on(tendon)]
            gone = {name, *(tendon.name for tendon in tendons)}
            for element in [*(actuator for actuator in spec.actuators if actuator.target in gone), *tendons, joint]:
                spec.delete(element)

    def _turn(self, spec: mujoco.MjSpec) -> None:
        """Rotate the robot's base about the vertical axis through the origin."""
        half = np.deg2rad(self.mount_yaw_deg) / 2
        if not half:
            return
        turn = np.array([np.cos(half), 0, 0, np.sin(half)])
        for body in spec.worldbody.bodies:
            position, quat = np.zeros(3), np.zeros(4)
            mujoco.mju_rotVecQuat(position, np.array(body.pos), turn)
            mujoco.mju_mulQuat(quat, turn, np.array(body.quat))
            body.pos, body.quat = position, quat

    def _free_base(self, spec: mujoco.MjSpec) -> None:
        """Take the contacts from the base and the first link: they stand on the table."""
        joint = spec.joint(self.arm_joints[0])
        body = joint.parent if joint is not None else None
        while body is not None and body.name != "world":
            for part in _rigid_parts(body):
                for geom in part.geoms:
                    geom.contype = geom.conaffinity = 0
            body = body.parent

    def _drive(self, spec: mujoco.MjSpec, index: int) -> bool:
        """Make one arm joint position-controlled. Return whether its drive was replaced or added."""
        joint = self.arm_joints[index]
        if spec.joint(joint) is None:
            known = [other.name for other in spec.joints if other.name]
            raise ModelError(f"{self.source.path}: no joint named {joint!r}; {nearest(joint, known)}")
        limit_turns(spec.joint(joint))
        kind, actuator = drive_of(spec, joint)
        torque = torque_limit_nm(spec, joint) if self.torque_nm is None else self.torque_nm[index]
        given = self.stiffness_nm_rad is not None or self.damping_nms_rad is not None or self.torque_nm is not None
        if kind == "position" and not given:
            return False
        if actuator is not None and kind in ("position", "rescaled"):
            gains = gains_of(actuator, torque)
        elif torque is not None:
            gains = gains_for(torque)
        else:
            raise ModelError(
                f"{self.source.path}: joint {joint!r} has no position servo and no torque limit to make one from; give "
                "`torque_limits_nm`, one number for each arm joint"
            )
        put_servo(spec, joint, self._given(gains, index))
        return kind not in ("position", "rescaled")

    def _given(self, gains: ServoGains, index: int) -> ServoGains:
        """The gains, with those that the mapping gives."""
        if self.stiffness_nm_rad is not None:
            gains = replace(gains, stiffness_nm_rad=self.stiffness_nm_rad[index])
        if self.damping_nms_rad is not None:
            gains = replace(gains, damping_nms_rad=self.damping_nms_rad[index])
        return gains

    def _prepare_gripper(self, spec: mujoco.MjSpec) -> None:
        for actuator in spec.actuators:
            if actuator.name == self.gripper.actuator:
                actuator.gainprm = actuator.gainprm * self.gripper.gain_scale
                actuator.biasprm = actuator.biasprm * self.gripper.gain_scale
                set_force_limit(spec, actuator, self.gripper.force)
                set_control_range(spec, actuator)

    def _attach(self, spec: mujoco.MjSpec) -> None:
        shipped, place = GRIPPERS[self.gripper.attach], self.gripper.at
        name = place if isinstance(place, str) else place.body
        site, body = spec.site(name), spec.body(name)
        if isinstance(place, ToolFrame) and body is not None:
            flange = body.add_body(name=FLANGE, pos=place.offset, quat=place.quat or (1, 0, 0, 0))
        elif isinstance(place, str) and site is not None:
            placed = spec.copy().compile().site(name)  # the file may give its rotation in several ways
            flange = site.parent.add_body(name=FLANGE, pos=placed.pos, quat=placed.quat)
        elif isinstance(place, str) and body is not None:
            flange = body.add_body(name=FLANGE)
        else:
            known = [other.name for other in (*spec.sites, *spec.bodies) if other.name]
            raise ModelError(f"{self.source.path}: gripper.at: no site or body named {name!r}; {nearest(name, known)}")
        _free_names(spec, shipped)
        flange.childclass = _pristine_class(spec)
        shipped.add(spec, flange)

    def _add_tool_site(self, spec: mujoco.MjSpec, frame: ToolFrame) -> None:
        body = spec.body(frame.body)
        if body is None:
            known = ", ".join(other.name for other in spec.bodies if other.name)
            raise ModelError(f"{self.source.path}: tool_frame: no body named {frame.body!r}. Valid names: {known}")
        quat = frame.quat or self._tool_quat(spec.copy(), frame)
        body.add_site(name=ADDED_SITE, pos=frame.offset, quat=quat)

    def _tool_quat(self, spec: mujoco.MjSpec, frame: ToolFrame) -> np.ndarray:
        """Orientation of the tool frame: y along the line between the fingers, z from the body's origin to the tool."""
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        hand = model.body(frame.body).id
        fingers = [model.body(name).id for name in self.gripper.fingers]
        to_hand = data.xmat[hand].reshape(3, 3).T
        offset = np.array(frame.offset)
        point = data.xpos[hand] + to_hand.T @ offset
        pads = robot_measures.pads(model, (fingers[0], fingers[1]), point, data)
        ends = data.geom_xpos[list(pads)] if len(pads) == 2 else data.xpos[fingers]
        y = to_hand @ (ends[1] - ends[0])
        z = offset - y * (offset @ y) / max(y @ y, 1e-12)
        if np.linalg.norm(y) < 1e-4 or np.linalg.norm(z) < 1e-4:
            raise ModelError(
                f"{self.source.path}: tool_frame: its rotation cannot be derived from fingers and offset; give `quat`: "
                "z out of the hand, fingers along y"
            )
        y, z = y / np.linalg.norm(y), z / np.linalg.norm(z)
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, np.column_stack([np.cross(y, z), y, z]).ravel())
        return quat


def _pristine_class(spec: mujoco.MjSpec) -> str:
    """Add a default class with the engine's own values. Parts that are added would take over those of the model."""
    added, empty = spec.add_default(PRISTINE, spec.default), mujoco.MjSpec()  # which owns its defaults
    for kind, names in DEFAULTS.items():
        for name in names.split():
            setattr(getattr(added, kind), name, getattr(getattr(empty.default, kind), name))
    return PRISTINE


def _free_names(spec: mujoco.MjSpec, shipped: ShippedGripper) -> None:
    """Rename elements of a model that have the names of parts of the gripper.

    Parts of a robot do not touch each other, so exclusions of contacts between renamed ones are not needed.
    """
    alone = mujoco.MjSpec()
    shipped.add(alone, alone.worldbody)
    for kind in ("bodies", "joints", "geoms", "sites", "meshes", "actuators", "tendons", "equalities", "sensors"):
        taken = {element.name for element in getattr(alone, kind) if element.name} - {"world"}
        for element in [candidate for candidate in getattr(spec, kind) if candidate.name in taken]:
            old, element.name = element.name, f"{element.name}_of_model"
            if kind == "bodies":
                for exclusion in [
                    exclusion for exclusion in spec.excludes if old in (exclusion.bodyname1, exclusion.bodyname2)
                ]:
                    spec.delete(exclusion)


def strip_scene(spec: mujoco.MjSpec) -> None:
    """Name all actuators, and remove what belongs to a scene and not to a robot: floor, cameras, lights,
    keyframes, objects.

    A robot with a free base stands still.

    Geoms with contacts touch the table and objects but not each other, as those of the shipped robots: in many files
    the shapes of neighbouring links overlap.
    """
    for geom in spec.geoms:
        geom.contype, geom.conaffinity = int(bool(geom.contype or geom.conaffinity)), 0
    for actuator in spec.actuators:
        if not actuator.name:  # Twinloop finds actuators by name
            actuator.name = f"{actuator.target}_actuator"
    for element in (*spec.worldbody.geoms, *spec.worldbody.cameras, *spec.lights, *spec.keys):
        spec.delete(element)
    for body in spec.worldbody.bodies:
        joints = body.find_all(mujoco.mjtObj.mjOBJ_JOINT)
        free = [joint for joint in joints if joint.type == mujoco.mjtJoint.mjJNT_FREE]
        if len(free) == len(joints):
            spec.delete(body)
            continue
        for joint in free:
            spec.delete(joint)


def touch_with_what_is_seen(body: mujoco.MjsBody | None) -> bool:
    """Let the shapes of a body that has only visual ones touch things. Return whether it has some."""
    if body is None or not body.geoms or any(geom.contype or geom.conaffinity for geom in body.geoms):
        return False
    for geom in body.geoms:
        geom.contype = 1
    return True


def _rigid_parts(body: mujoco.MjsBody) -> Iterator[mujoco.MjsBody]:
    """The body and those that are fixed to it."""
    yield body
    for child in body.bodies:
        if not child.joints:
            yield from _rigid_parts(child)


def _joints_on(tendon: mujoco.MjsTendon) -> set[str]:
    """Names of the joints that a tendon couples."""
    return {wrap.target.name for wrap in tendon.path if wrap.type == mujoco.mjtWrap.mjWRAP_JOINT}


def limit_turns(joint: mujoco.MjsJoint) -> None:
    """Give a joint without limits one turn to each side: commands and kinematics need a range."""
    unlimited = joint.limited == mujoco.mjtLimited.mjLIMITED_FALSE
    if unlimited or not joint.range[0] < joint.range[1]:
        joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        joint.range = (-ONE_TURN, ONE_TURN)
