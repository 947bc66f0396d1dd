"""From the text of a URDF to a spec, and inertias that the engine does not accept."""

from collections.abc import Mapping
from xml.etree import ElementTree

import mujoco
import numpy as np

GUESSED_RADIUS_M = 0.05
GUESSED_KG_M3, GUESSED_KG = 300.0, (0.01, 5.0)
"""Mass of the bounding box of a link without mass, and its bounds."""
SMALLEST_SHARE = 1e-6  # of the smallest principal moment, as a share of the largest one


def spec_of(text: str, assets: Mapping[str, bytes]) -> mujoco.MjSpec:
    """The spec of a URDF.

    The engine computes the volume of every mesh and refuses flat ones. Where a link has a mass of its own, the volume
    is of no use, and the surface is taken instead.
    """
    spec = mujoco.MjSpec.from_string(text, assets=dict(assets))
    needed = {geom.meshname for body in spec.bodies if not body.explicitinertial for geom in body.geoms}
    for mesh in spec.meshes:
        if mesh.name not in needed:
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    return spec


def guess_inertia(link: ElementTree.Element, shape: ElementTree.Element, extents_m: np.ndarray) -> None:
    """Give a link without mass that of a box: the volume of a mesh that is not closed says nothing."""
    kg = float(np.clip(GUESSED_KG_M3 * extents_m.prod(), *GUESSED_KG))
    inertial = ElementTree.SubElement(link, "inertial")
    origin = shape.find("origin")
    ElementTree.SubElement(inertial, "origin", xyz="0 0 0" if origin is None else origin.get("xyz", "0 0 0"))
    ElementTree.SubElement(inertial, "mass", value=repr(kg))
    square = extents_m**2 + 1e-6
    moments = kg / 12 * (square.sum() - square)
    inertia = ElementTree.SubElement(inertial, "inertia", ixy="0", ixz="0", iyz="0")
    for key, moment in zip(("ixx", "iyy", "izz"), moments, strict=True):
        inertia.set(key, repr(float(moment)))


def mend_inertias(tree: ElementTree.Element, notes: list[str]) -> None:
    """Replace inertias that no body can have by that of a small sphere with the mass of the link."""
    for link in tree.findall("link"):
        inertia = link.find("inertial/inertia")
        mass = link.find("inertial/mass")
        if inertia is None or mass is None:
            continue
        try:
            xx, yy, zz, xy, xz, yz = (
                float(inertia.get(key, "0")) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
            )
            moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            kg = float(mass.get("value", "0"))
        except (ValueError, np.linalg.LinAlgError):
            continue  # the engine names the number that is none
        if not np.isfinite(moments).all() or moments[0] > SMALLEST_SHARE * moments[-1]:
            continue
        sphere = max(0.4 * kg * GUESSED_RADIUS_M**2, 1e-7)
        for key in ("ixx", "iyy", "izz"):
            inertia.set(key, repr(sphere))
        for key in ("ixy", "ixz", "iyz"):
            inertia.set(key, "0")
        if moments[-1] > 0:  # zeros stand for no figures; the engine takes small ones
            notes.append(f"link {link.get('name', '')!r} has an inertia that no body can have; one is guessed")
