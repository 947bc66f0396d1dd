"""Parts of a model that USD cannot express."""

import mujoco
import numpy as np

from twinloop.scene_export.files import left_out
from twinloop.scene_export.links import RigidLink, virtual_link_note


def format_notes(model: mujoco.MjModel, links: list[RigidLink], averaged: list[str]) -> list[str]:
    notes = [
        "contacts: the engine's soft contacts (solref, solimp, margin) and torsional and rolling friction are left out",
        "lights: the engine's lights have no unit; a colour of 1 becomes an intensity of 1000",
    ]
    notes += virtual_link_note([link.name for link in links if link.body < 0])
    if any(link.joint >= 0 and model.dof_damping[model.jnt_dofadr[link.joint]] for link in links):
        notes.append("joint damping and springs: they are part of the drive, so the drive's largest force limits them")
    if model.neq and (model.eq_type == mujoco.mjtEq.mjEQ_JOINT.value).any():
        notes.append("coupled joints: written as PhysX mimic joints, which Isaac Sim reads and others may ignore")
    partial = np.flatnonzero((model.body_gravcomp != 0) & (model.body_gravcomp != 1))
    if partial.size:
        notes.append("gravity compensation: only 0 and 1 can be written; other shares are left out")
    counts = {
        "sites": model.nsite, "sensors": model.nsensor, "tendons": model.ntendon, "contact pairs": model.npair,
    }  # fmt: skip
    notes += left_out(counts)
    if averaged:
        notes.append(f"textures replaced by their mean colour: {', '.join(averaged)}")
    return notes
