"""Small URDF robots for tests: six axes, built from the UR5e's published figures, with boxes for geometry."""

import struct
from pathlib import Path

import numpy as np

from twinloop.twin.robots.ur5e_2f85 import LINKS

BOX = '<geometry><box size="0.05 0.05 0.05"/></geometry>'
FINGERS = """
  <link name="{side}_finger">
    <inertial><mass value="0.05"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 {pad} 0.06"/><geometry><box size="0.02 0.01 0.04"/></geometry></collision>
  </link>
  <joint name="{side}_finger" type="prismatic">
    <parent link="wrist_3"/><child link="{side}_finger"/><origin xyz="0 0 0.03"/><axis xyz="0 {sign} 0"/>
    <limit lower="0" upper="0.04" effort="40" velocity="0.1"/>{mimic}
  </joint>"""
MIMIC = '<mimic joint="left_finger" multiplier="1" offset="0"/>'


def urdf_arm(*, fingers: bool, mesh: str = "", scale: str = "1 1 1", effort: bool = True, length: float = 1.0) -> str:
    """A URDF of the arm.

    Args:
        mesh: path of a mesh for the collision shape of the forearm.
        effort: whether joints have effort and velocity limits.
        length: of the links, as a share of the UR5e's.
    """
    parts = ['<robot name="arm">', f'<link name="base"><collision>{BOX}</collision></link>']
    parent = "base"
    for link in LINKS:
        (low, high), com = link.range_rad, [length * number for number in link.com_m]
        x, y, z = (length * number for number in link.offset_m)
        turn = np.pi if parent == "base" else 0.0
        shape = (
            f'<geometry><mesh filename="{mesh}" scale="{scale}"/></geometry>'
            if mesh and link.name == "forearm"
            else BOX
        )
        xx, yy, zz = link.inertia[:3]
        limit = f'effort="{link.torque_nm}" velocity="3.14"' if effort else ""
        parts.append(f"""
  <link name="{link.name}">
    <inertial><origin xyz="{com[0]} {com[1]} {com[2]}"/><mass value="{link.mass_kg}"/>
      <inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 -0.02"/>{shape}</collision>
  </link>
  <joint name="{link.joint}" type="revolute">
    <parent link="{parent}"/><child link="{link.name}"/>
    <origin xyz="{x} {y} {z}" rpy="{np.deg2rad(link.roll_deg)} 0 {turn}"/><axis xyz="0 0 1"/>
    <limit lower="{low}" upper="{high}" {limit}/>
  </joint>""")
        parent = link.name
    for side, sign in (("left", 1), ("right", -1)) if fingers else ():
        parts.append(FINGERS.format(side=side, sign=sign, pad=0.006 * sign, mimic=MIMIC if side == "right" else ""))
    if not fingers:
        parts.append(
            '<link name="tool0"/>'
            '<joint name="flange" type="fixed"><parent link="wrist_3"/><child link="tool0"/></joint>'
        )
    return "\n".join([*parts, "</robot>"])


def stl_box(path: Path, size: float) -> None:
    """Write a closed cube as a binary STL."""
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], float) * size - size / 2
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    content = b"\0" * 80 + struct.pack("<I", len(faces))
    for face in faces:
        content += struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
