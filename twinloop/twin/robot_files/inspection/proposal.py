"""The proposed mapping of a model file."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from twinloop.config.record import write_record
from twinloop.errors import ModelError
from twinloop.twin.robot_files.inspection.arm_load import load_of
from twinloop.twin.robot_files.inspection.fingers import (
    ToolPose,
    count_fingers,
    find_fingers,
    fitting_site,
)
from twinloop.twin.robot_files.inspection.flange import find_flange
from twinloop.twin.robot_files.inspection.grip import MIN_STROKE_M, Grip
from twinloop.twin.robot_files.inspection.grip_force import with_firm_grip
from twinloop.twin.robot_files.inspection.gripper_drive import drive_of_gripper
from twinloop.twin.robot_files.inspection.hold_trial import DEFAULT_GRIPPER, UnusableGripper, check_grip
from twinloop.twin.robot_files.inspection.roles import roles_of
from twinloop.twin.robot_files.inspection.servo_check import check_servos
from twinloop.twin.robot_files.inspection.work_ring import find_place
from twinloop.twin.robot_files.inspection.workspace import MountFinder
from twinloop.twin.robot_files.mapping import GripperMapping, ToolFrame, WorkArea
from twinloop.twin.robot_files.mjcf import MjcfRobot
from twinloop.twin.robot_files.model_source import ModelSource, in_radians
from twinloop.twin.robot_files.prepare import strip_scene, touch_with_what_is_seen
from twinloop.twin.robot_files.servos import drive_of, torque_limit_nm

MOST_SAG_RAD = 0.005
OBJECT_M, OBJECT_WIDTH_M = 0.05, 0.042
FITTED = 0.8  # width of things that fit, as a share of the opening
NARROWEST_M = 0.02
"""Opening below which a hand is replaced: things that fit are smaller than the errors with which an arm moves."""
ROOM_M = 0.04  # by which fingers that close slowly open wider than things
WIDE_M, OPEN_M = 0.11, 0.09  # a jaw that opens wider is not opened fully


@dataclass(frozen=True)
class JointReport:
    """One joint of the model, for display."""

    name: str
    role: str
    kind: str
    range: tuple[float, float] | None
    drive: str
    torque_nm: float | None


@dataclass(frozen=True)
class Proposal:
    """The mapping that `inspect-robot` proposes.

    Attributes:
        mapping: the value of `scene.robot`; keys at their defaults are left out.
        joints: all joints that move.
        missing: what the model lacks, and what the mapping does about it.
        notes: what else to know.
    """

    mapping: dict[str, Any]
    joints: tuple[JointReport, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def propose(
    source: ModelSource, *, arm: str = "", gripper: str = "", written: dict[str, Any] | None = None
) -> Proposal:
    """Inspect a model file and propose a mapping.

    Args:
        arm: the first body of the arm, for models with several.
        gripper: attach this shipped gripper and ignore the model's own.
        written: how the model is named in the mapping: `mjcf` or `urdf`, `root`, `packages`.
    """
    source.check()
    try:
        return _Inspection(source, arm, gripper, written or {}).proposal()
    except UnusableGripper as error:
        why = str(error).removeprefix(f"{source.path}: ")
    instead = _Inspection(source, arm, DEFAULT_GRIPPER, written or {})
    instead.missing.append(
        f"the gripper of the model is left out: {why}. {DEFAULT_GRIPPER} is attached instead (choose with --gripper)"
    )
    return instead.proposal()


class _Inspection:
    def __init__(self, source: ModelSource, arm: str, gripper: str, written: dict[str, Any]):
        self.source, self.written = source, written
        self.missing: list[str] = []
        self.notes: list[str] = list(source.notes)
        self.spec = source.spec()
        if not source.is_urdf and in_radians(mujoco.MjSpec.from_file(str(source.path))):
            self.notes.append("the file does not say that its angles are radians; in degrees its joints would not move")
        self.keys = [(key.name, np.array(key.qpos)) for key in self.spec.keys]
        self.key_model = self._compile(source.spec())
        strip_scene(self.spec)
        self.model = self._compile(self.spec.copy())
        self.roles = roles_of(self.model, str(source.path), arm=arm)
        self.replaced = self._without_gripper() if gripper else ()
        if self.roles.others:
            self.notes.append(f"left out: {', '.join(self.roles.others)} (choose an arm with --arm BODY)")
        held = [self.model.joint(joint).name for joint in self.roles.held]
        if held:
            self.notes.append(f"held still: {', '.join(held)} (they carry the arm)")
        named = (*self.roles.arm, *self.roles.gripper, *self.roles.held)
        unnamed = [joint for joint in named if not self.model.joint(joint).name]
        if unnamed:
            raise ModelError(f"{source.path}: {len(unnamed)} joints of the arm have no name; name them in the file")
        self.arm_names = tuple(self.model.joint(joint).name for joint in self.roles.arm)
        self.attached = gripper
        if not self.roles.gripper and not gripper:
            self.attached = DEFAULT_GRIPPER
            self.missing.append(f"no gripper: {DEFAULT_GRIPPER} is attached (choose with --gripper)")

    def _without_gripper(self) -> tuple[str, ...]:
        """Leave the fingers of the model's own gripper out. Return the names of their bodies."""
        roles, old = self.roles, self.model
        moving = {int(old.jnt_bodyid[joint]) for joint in roles.gripper}
        first = [body for body in sorted(moving) if not moving & set(_bodies_above(old, body))]
        names = tuple(old.body(body).name for body in first)
        if not names or not all(names):
            return ()
        for name in names:
            self.spec.delete(self.spec.body(name))
        self.model = self._compile(self.spec.copy())
        arm, held = (tuple(self.model.joint(old.joint(one).name).id for one in ids) for ids in (roles.arm, roles.held))
        self.roles = replace(roles, arm=arm, held=held, gripper=(), hand=self.model.body(old.body(roles.hand).name).id)
        return names

    def _compile(self, spec: mujoco.MjSpec) -> mujoco.MjModel:
        try:
            return spec.compile()
        except (ValueError, mujoco.FatalError) as error:
            raise ModelError(f"{self.source.path}: MuJoCo cannot compile it: {error}") from None

    def proposal(self) -> Proposal:
        start = self._start_posture()
        mapping = MjcfRobot(
            **self._named_model(),
            arm_joints=self.arm_names,
            gripper=GripperMapping(attach=self.attached, at=self._flange()) if self.attached else self._gripper(start),
            home=tuple(map(float, start)),
            torque_limits_nm=self._torques(),
            remove=(*self.roles.others, *self.replaced),
            fixed_joints=tuple(self.model.joint(joint).name for joint in self.roles.held),
            folder=Path(),
        )
        if not self.attached:
            mapping = self._with_tool(mapping)
            note = check_grip(mapping, hand=count_fingers(self.model, self.roles.hand, self.roles.gripper) > 2)
            self.notes += [note] if note else []
        mapping = self._with_mount(mapping)
        return Proposal(self._concise(mapping), self._joints(), tuple(self.missing), tuple(self.notes))

    def _named_model(self) -> dict[str, Any]:
        return self.written or {("urdf" if self.source.is_urdf else "mjcf"): str(self.source.path)}

    def _start_posture(self) -> np.ndarray:
        """The posture of a keyframe named home, or of the first one; else the middle of the ranges."""
        qpos = self.key_model.jnt_qposadr[[self.key_model.joint(name).id for name in self.arm_names]]
        for _, values in sorted(self.keys, key=lambda key: key[0] != "home"):
            if len(values) == self.key_model.nq:
                return values[qpos]
        joints = list(self.roles.arm)
        limited = self.model.jnt_limited[joints].astype(bool)
        middle = self.model.jnt_range[joints].mean(axis=1)
        wide = np.ptp(self.model.jnt_range[joints], axis=1) > 2 * np.pi
        # Slightly off zero: a stretched arm is singular.
        return np.where(limited & ~wide, middle, 0.0) + 0.05

    def _torques(self) -> tuple[float, ...] | None:
        """Torque limits for joints that have none, or too small ones; None if the model has all it needs."""
        kinds = [drive_of(self.spec, name)[0] for name in self.arm_names]
        torques = [torque_limit_nm(self.spec, name) for name in self.arm_names]
        for kind in sorted(set(kinds) - {"position"}):
            names = ", ".join(name for name, other in zip(self.arm_names, kinds, strict=True) if other == kind)
            self.missing.append(_DRIVES[kind].format(names=names))
        load = load_of(self.model, list(self.roles.arm))
        least, proposed = load.least_nm, load.proposed_nm
        given = [torque for torque in torques if torque is not None]
        # Placeholders, such as one number for all joints, are common in URDF files.
        weak = any(torque is not None and torque < need for torque, need in zip(torques, least, strict=True))
        if len(given) == len(torques) and not weak:
            if "position" in kinds or not load.placeholders(given):
                return None
            self.missing.append(
                f"the torque limits of the file, up to {max(given):g} N·m, are many times what the arm needs: they are "
                "estimated from gravity, inertia and damping; check them"
            )
            return tuple(round(min(float(guess), torque), 2) for torque, guess in zip(given, proposed, strict=True))
        why = "the torque limits of the file are too small for the arm" if weak else "no torque limits"
        self.missing.append(f"{why}: they are estimated from gravity, inertia and damping; check them")
        return tuple(
            round(max(float(guess), torque or 0.0), 2) if torque is None or weak else torque
            for torque, guess in zip(torques, proposed, strict=True)
        )

    def _flange(self) -> str | ToolFrame:
        place, note = find_flange(self.model, list(self.roles.arm))
        self.notes.append(note)
        return place

    def _gripper(self, start: np.ndarray) -> GripperMapping:
        fingers = self._fingers(start)
        hand = self.spec.body(self.model.body(self.roles.hand).name)
        below = [] if hand is None else hand.find_all(mujoco.mjtObj.mjOBJ_BODY)
        # The hand itself is the finger beside a single jaw.
        for bodies in (below, [hand]):
            changed = [body for body in bodies if fingers is None and touch_with_what_is_seen(body)]
            if changed:
                self.model = self._compile(self.spec.copy())
                fingers = self._fingers(start)
                seen = "the fingers have no collision shapes: they touch with the shapes that are seen"
                self.missing += [] if seen in self.missing else [seen]
        if fingers is None:
            raise UnusableGripper(f"{self.source.path}: it has not two bodies with contacts")
        drive = drive_of_gripper(self.model, self.roles, fingers)
        if not drive.actuator:
            self.missing.append(
                f"the gripper has no single position actuator: a position servo drives {', '.join(drive.joints)}"
            )
        names = tuple(self.model.body(finger).name for finger in fingers)
        if not all(names):
            raise ModelError(f"{self.source.path}: a finger's body has no name; name it in the file")
        return GripperMapping(joints=drive.joints, mirrored=drive.mirrored, actuator=drive.actuator, fingers=names)

    def _fingers(self, start: np.ndarray) -> tuple[int, int] | None:
        data = mujoco.MjData(self.model)
        data.qpos[self.model.jnt_qposadr[list(self.roles.arm)]] = start
        mujoco.mj_kinematics(self.model, data)
        return find_fingers(self.model, data, self.roles.hand, self.roles.gripper)

    def _with_tool(self, mapping: MjcfRobot) -> MjcfRobot:
        """Add the tool frame, and a larger gain for a gripper that is weak."""
        hand_name = self.model.body(self.roles.hand).name
        if not hand_name:
            raise ModelError(f"{self.source.path}: the hand's body has no name; name it in the file")
        unplaced = ToolFrame(body=hand_name, offset=(0.0, 0.0, 0.0), quat=(1.0, 0.0, 0.0, 0.0))
        model, grip = self._grip(replace(mapping, tool_frame=unplaced), hand_name)
        if grip.stroke_m < MIN_STROKE_M and mapping.gripper.actuator:
            self.notes.append(f"actuator {mapping.gripper.actuator!r} does not move the fingers; a servo replaces it")
            mapping = replace(mapping, gripper=replace(mapping.gripper, actuator=""))
            model, grip = self._grip(replace(mapping, tool_frame=unplaced), hand_name)
        if grip.stroke_m < MIN_STROKE_M and (len(mapping.gripper.joints) > 1 or mapping.gripper.mirrored):
            # The axes of the joints may be such that equal angles move the fingers the same way.
            joints, mirrored = mapping.gripper.joints, mapping.gripper.mirrored
            exchanged = replace(mapping.gripper, joints=(*joints[:1], *mirrored), mirrored=joints[1:], actuator="")
            mapping = replace(mapping, gripper=exchanged)
            model, grip = self._grip(replace(mapping, tool_frame=unplaced), hand_name)
        if grip.stroke_m < MIN_STROKE_M:
            raise UnusableGripper(
                f"{self.source.path}: the tips of {list(mapping.gripper.fingers)} move apart by "
                f"{1000 * grip.stroke_m:.1f} mm only"
            )
        hand = model.body(hand_name).id
        grasping = grip.with_gap(min(OBJECT_M, 0.6 * grip.stroke_m))
        opened = grip.with_gap(OPEN_M) if grip.stroke_m > WIDE_M else grip.opened
        tool = grip.tool(grasping)
        mapping = replace(mapping, widest_grip_m=self._widest_grip_m(grip, tool, opened))
        site = fitting_site(model, grip.opened, hand, tool)
        frame = site or ToolFrame(
            body=hand_name,
            offset=tuple(round(float(x), 4) for x in tool.offset_m),
            quat=tuple(round(float(x), 5) for x in tool.quat),
        )
        if not site:
            self.missing.append(
                "no site between the finger tips with z out of the hand and y along the fingers: one is added"
            )
        gripper, note = with_firm_grip(mapping.gripper, grip, grasping)
        self.notes += [note] if note else []
        tips_m = grip.closed_tips_m(tool, grasping)
        mapping = replace(mapping, closed_tips_m=tips_m if any(tips_m) else None)
        speed = grip.closing_speed(gripper.gain_scale)
        if speed is not None:
            self.notes.append("the fingers are heavy (armature of their joints) or fast; the expert closes them slowly")
            gripper = replace(gripper, closing_speed=speed)
            opened = grip.with_gap(min((mapping.widest_grip_m or OBJECT_WIDTH_M) + ROOM_M, grip.gap_m(opened)))
        gripper = replace(gripper, open=round(grip.opening(opened), 4), closed=round(grip.opening(grip.closed), 4))
        return replace(mapping, tool_frame=frame, gripper=gripper)

    def _widest_grip_m(self, grip: Grip, tool: ToolPose, opened: mujoco.MjData) -> float | None:
        """Width of things that fit between the fingers and do not slip out of a wedge; None if those of tasks do."""
        widest_m = None
        width_m, parallel_m = grip.width_m(tool, opened), grip.parallel_m(tool)
        if grip.stroke_m < NARROWEST_M:
            raise UnusableGripper(
                f"{self.source.path}: it opens by {1000 * grip.stroke_m:.0f} mm only, and the scripted expert needs "
                f"{1000 * NARROWEST_M:.0f} mm"
            )
        if width_m < OBJECT_WIDTH_M:
            self.notes.append(f"the fingers open {1000 * width_m:.0f} mm only; things of tasks are made to fit")
            widest_m = round(max(FITTED * width_m, 0.002), 3)
        if parallel_m < min(OBJECT_WIDTH_M, FITTED * width_m):
            self.notes.append(
                f"the jaws are a wedge for things above {1000 * parallel_m:.0f} mm; things of tasks are made to fit"
            )
            widest_m = round(max(parallel_m, 0.002), 3)
        return widest_m

    def _grip(self, mapping: MjcfRobot, hand: str) -> tuple[mujoco.MjModel, Grip]:
        model = self._compile(mapping.build())
        joints = tuple(model.joint(self.model.joint(joint).name).id for joint in self.roles.gripper)
        return model, Grip(model, mapping, model.body(hand).id, joints)

    def _with_mount(self, mapping: MjcfRobot) -> MjcfRobot:
        model = self._compile(mapping.build())
        joints = [model.joint(name).id for name in self.arm_names]
        site = model.site(mapping.preparation.tool_site).id
        mount, area = find_place(MountFinder(model, joints, site, np.array(mapping.home)))
        if area is not None:
            self.notes.append("the arm does not reach the places of tasks: they are moved into `area`, around the arm")
            mapping = replace(mapping, area=WorkArea(area.centre_m, area.nearest_m, area.farthest_m))
        if mount.overlaps:
            self.notes.append("shapes of the links overlap in postures of the work; they are not tested")
        if mount.home_rad is None:
            axes = len(self.arm_names)
            few = f" It has {axes} axes; {5} or more are usual." if axes < 5 else ""
            raise ModelError(
                f"{self.source.path}: no posture was found in which the tool points down above the table, which tasks "
                f"need.{few} Name another arm with --arm BODY, another gripper with --gripper, or write the mapping by "
                "hand with `home` and `mount_m` (docs/robots.md)"
            )
        if mount.reachable < 1 and area is None:
            self.notes.append(f"the tool reaches {mount.reachable:.0%} of the poses of picking and placing")
        home = tuple(round(float(angle), 4) for angle in mount.home_rad)
        mapping = replace(mapping, home=home, mount_m=mount.position_m, mount_yaw_deg=mount.yaw_deg)
        servos = check_servos(model, joints, mount.home_rad)
        self.notes += servos.notes
        mapping = replace(
            mapping, servo_stiffness_nm_rad=servos.stiffness_nm_rad, servo_damping_nms_rad=servos.damping_nms_rad
        )
        if servos.sag_rad > MOST_SAG_RAD:
            self.notes.append(f"the servos sag by {1000 * servos.sag_rad:.0f} mrad at home; gravity is compensated")
            mapping = replace(mapping, gravity_compensation=True)
        return mapping

    def _concise(self, mapping: MjcfRobot) -> dict[str, Any]:
        """The mapping without keys at their defaults."""
        plain = write_record(MjcfRobot(mjcf="x", arm_joints=("x",), gripper=GripperMapping(), home=(0.0,)))
        written = {
            key: value
            for key, value in write_record(mapping).items()
            if value not in (plain.get(key), "", {}) or key == "home"
        }
        defaults = write_record(GripperMapping())
        gripper = write_record(mapping.gripper).items()
        written["gripper"] = {key: value for key, value in gripper if value not in (defaults.get(key), "")}
        if self.attached:
            written.pop("tool_frame", None)
        first = ("mjcf", "urdf", "root", "packages")
        return {key: written[key] for key in (*first, *written) if key in written}

    def _joints(self) -> tuple[JointReport, ...]:
        reports = []
        for role, joints in (("arm", self.roles.arm), ("gripper", self.roles.gripper)):
            for joint in joints:
                name = self.model.joint(joint).name
                limited = bool(self.model.jnt_limited[joint])
                ends = tuple(float(end) for end in self.model.jnt_range[joint])
                slides = self.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE.value
                reports.append(
                    JointReport(
                        name,
                        role,
                        "slide" if slides else "hinge",
                        (ends[0], ends[1]) if limited else None,
                        drive_of(self.spec, name)[0],
                        torque_limit_nm(self.spec, name),
                    )
                )
        return tuple(reports)


def _bodies_above(model: mujoco.MjModel, body: int) -> list[int]:
    above = []
    while body:
        body = int(model.body_parentid[body])
        above.append(body)
    return above


_DRIVES = {
    "none": "no actuators for {names}: position servos are added, and gravity is compensated",
    "torque": "{names} take a torque: position servos replace their drives, and gravity is compensated",
    "velocity": "{names} take a velocity: position servos replace their drives, and gravity is compensated",
    "other": "{names} have drives of another kind: position servos replace them, and gravity is compensated",
    "rescaled": "{names} have servos with another scale or offset: the same stiffness is used with an angle as control",
}
