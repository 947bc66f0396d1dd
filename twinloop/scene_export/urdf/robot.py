"""One URDF file: the links and joints of one tree of a scene.

The frame of a URDF link lies on the axis of its joint, and the joint is at 0 there. So a link's frame is the body's
frame, moved to the anchor of the body's joint.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree

import mujoco
import numpy as np

from twinloop.scene_export.drives import JointDrive, Mimic
from twinloop.scene_export.links import VIRTUAL_INERTIA, VIRTUAL_MASS_KG, RigidLink
from twinloop.scene_export.soft import SoftThing
from twinloop.scene_export.transforms import inverse, matrix, transform
from twinloop.scene_export.urdf.shapes import Shapes, UrdfPart, add_geometry, add_origin, number, numbers

UNKNOWN_VELOCITY, UNKNOWN_EFFORT, FARTHEST_M = 100.0, 1000.0, 1000.0
"""Limits that URDF requires and the model does not have."""


def plain(name: str) -> str:
    """A name for URDF: ROS tools do not accept `/` in the names of links."""
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)


def base_of(links: list[RigidLink]) -> str:
    """Name of the link that stands for the world, where the root has a joint to it; "" where it has none."""
    return f"{links[0].name}_base" if links[0].kind in ("hinge", "slide", "ball") else ""


@dataclass
class TreeWriter:
    """Writes the links of one tree.

    Attributes:
        mimics: by the joint that follows.
        virtual: names of links between joints of one body.
        ball_joints: names of ball joints, which become three hinges.
        invented: names of joints with limits that URDF needs and the model does not have.
    """

    model: mujoco.MjModel
    shapes: Shapes
    drives: Mapping[int, JointDrive]
    mimics: Mapping[int, Mimic]
    joint_names: list[str]
    virtual: list[str] = field(default_factory=list)
    ball_joints: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)

    def tree(self, name: str, links: list[RigidLink]) -> ElementTree.Element:
        """The `robot` element. The first link is the root, or hangs on a link without mass at the world's origin."""
        robot = ElementTree.Element("robot", name=plain(name))
        anchors = {link.name: link.anchor for link in links}
        base = base_of(links)
        if base:
            anchors[base] = np.zeros(3)
            ElementTree.SubElement(robot, "link", name=plain(base))
        for link in links:
            to_link = transform(-anchors[link.name])
            self._add_link(robot, link, to_link)
            parent = link.parent or base
            if parent:
                origin = transform(-anchors[parent]) @ link.parent_to_link @ inverse(to_link)
                self._add_joint(robot, replace(link, parent=parent), origin)
        return robot

    def _add_link(self, robot: ElementTree.Element, link: RigidLink, to_link: np.ndarray) -> None:
        element = ElementTree.SubElement(robot, "link", name=plain(link.name))
        model, body = self.model, link.body
        if body < 0:
            self._add_virtual_mass(element, link.name)
            return
        if model.body_mass[body] > 0:
            pose = to_link @ transform(model.body_ipos[body], model.body_iquat[body])
            add_inertial(element, float(model.body_mass[body]), pose, np.diag(model.body_inertia[body]))
        for geom in map(int, np.flatnonzero(model.geom_bodyid == body)):
            self.add_geom(element, geom, to_link)

    def _add_virtual_mass(self, element: ElementTree.Element, name: str) -> None:
        self.virtual.append(name)
        add_inertial(element, VIRTUAL_MASS_KG, np.eye(4), VIRTUAL_INERTIA * np.eye(3))

    def add_geom(self, element: ElementTree.Element, geom: int, to_link: np.ndarray) -> None:
        model = self.model
        name, material = plain(self.shapes.name(geom)), int(model.geom_matid[geom])
        rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
        if model.geom_group[geom] < 3:
            for index, part in enumerate(self.shapes.parts(geom, collision=False)):
                add_visual(element, part, to_link, f"{_part_name(name, index)}_visual", rgba)
        if model.geom_contype[geom] or model.geom_conaffinity[geom]:
            for index, part in enumerate(self.shapes.parts(geom, collision=True)):
                collision = ElementTree.SubElement(element, "collision", name=_part_name(name, index))
                add_geometry(collision, part, to_link)

    def _add_joint(self, robot: ElementTree.Element, link: RigidLink, origin: np.ndarray) -> None:
        if link.kind == "ball":
            self._add_ball(robot, link, origin)
            return
        element = _joint(robot, link.joint_name, "fixed", link.parent, link.name, origin)
        if link.kind == "fixed":
            return
        if link.kind == "free":
            element.set("type", "floating")
            return
        ElementTree.SubElement(element, "axis", xyz=numbers(link.axis))
        model, joint = self.model, link.joint
        dof = int(model.jnt_dofadr[joint])
        limited, drive = bool(model.jnt_limited[joint]), self.drives.get(joint)
        hinge = link.kind == "hinge"
        element.set("type", "prismatic" if not hinge else "revolute" if limited else "continuous")
        effort = drive.most if drive is not None and np.isfinite(drive.most) else UNKNOWN_EFFORT
        limits = {"effort": number(effort), "velocity": number(UNKNOWN_VELOCITY)}
        if limited or not hinge:
            low, high = model.jnt_range[joint] if limited else (-FARTHEST_M, FARTHEST_M)
            limits |= {"lower": number(float(low)), "upper": number(float(high))}
        self.invented.append(link.joint_name)
        ElementTree.SubElement(element, "limit", limits)
        ElementTree.SubElement(
            element, "dynamics", damping=number(float(model.dof_damping[dof])),
            friction=number(float(model.dof_frictionloss[dof])),
        )  # fmt: skip
        if joint in self.mimics:
            mimic = self.mimics[joint]
            leader = plain(self.joint_names[mimic.leader])
            terms = {"multiplier": number(mimic.multiplier), "offset": number(mimic.offset)}
            ElementTree.SubElement(element, "mimic", {"joint": leader, **terms})

    def _add_ball(self, robot: ElementTree.Element, link: RigidLink, origin: np.ndarray) -> None:
        """Three hinges about x, y and z, with two links between them."""
        self.ball_joints.append(link.joint_name)
        parent = link.parent
        for axis, letter in enumerate("xyz"):
            child = link.name if letter == "z" else f"{link.name}_before_{'yz'[axis]}"
            if letter != "z":
                self._add_virtual_mass(ElementTree.SubElement(robot, "link", name=plain(child)), child)
            element = _joint(robot, f"{link.joint_name}_{letter}", "continuous", parent, child, origin)
            ElementTree.SubElement(element, "axis", xyz=numbers(np.eye(3)[axis]))
            parent, origin = child, np.eye(4)


def _part_name(name: str, index: int) -> str:
    """Name of one of several parts of a geom."""
    return f"{name}_{index + 1}" if index else name


def _joint(
    robot: ElementTree.Element, name: str, kind: str, parent: str, child: str, origin: np.ndarray
) -> ElementTree.Element:
    element = ElementTree.SubElement(robot, "joint", name=plain(name), type=kind)
    add_origin(element, origin)
    ElementTree.SubElement(element, "parent", link=plain(parent))
    ElementTree.SubElement(element, "child", link=plain(child))
    return element


def add_inertial(element: ElementTree.Element, mass_kg: float, pose: np.ndarray, inertia: np.ndarray) -> None:
    inertial = ElementTree.SubElement(element, "inertial")
    add_origin(inertial, pose)
    ElementTree.SubElement(inertial, "mass", value=number(mass_kg))
    entries = {f"i{'xyz'[i]}{'xyz'[j]}": repr(float(inertia[i, j])) for i in range(3) for j in range(i, 3)}
    ElementTree.SubElement(inertial, "inertia", entries)


def add_visual(element: ElementTree.Element, part: UrdfPart, to_link: np.ndarray, name: str, rgba: np.ndarray) -> None:
    visual = ElementTree.SubElement(element, "visual", name=name)
    add_geometry(visual, part, to_link)
    material = ElementTree.SubElement(visual, "material", name=f"{name}_colour")
    ElementTree.SubElement(material, "color", rgba=numbers(np.round(np.asarray(rgba, float), 6)))


def soft_tree(thing: SoftThing, shapes: Shapes) -> ElementTree.Element:
    """A soft thing as one rigid link."""
    name = plain(thing.name)
    robot = ElementTree.Element("robot", name=name)
    link = ElementTree.SubElement(robot, "link", name=name)
    if thing.mass_kg > 0:
        axes = matrix(thing.principal_quat)
        add_inertial(link, thing.mass_kg, np.eye(4), axes @ np.diag(thing.inertia) @ axes.T)
    part = shapes.surface_part(thing.name, thing.surface, np.eye(4))
    add_visual(link, part, np.eye(4), f"{name}_visual", thing.rgba)
    if thing.solid:
        add_geometry(ElementTree.SubElement(link, "collision", name=name), part, np.eye(4))
    return robot
