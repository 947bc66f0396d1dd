"""Geoms and contacts of a cell's rigid object and of the finger pads."""

from typing import Any

import mujoco
import numpy as np

from twinloop.twin.objects import GEOM_TYPES, SceneObject
from twinloop.twin.shapes import forms_of

PARTS = ("object", "object_part")
PAD_IMPEDANCE = 0.95


def add_object(spec: mujoco.MjSpec, thing: SceneObject, *, rolls: bool, simple: bool) -> None:
    body = spec.worldbody.add_body(name="object", pos=[0.46, -0.13, thing.half_extents_m[2]])
    body.simple = simple
    body.add_freejoint(name="object")
    body.add_geom(
        name="object", type=GEOM_TYPES[thing.shape], size=thing.geom_size, mass=thing.mass_kg, rgba=thing.rgba,
        **_touching(rolls),
    )  # fmt: skip


def _touching(rolls: bool) -> dict[str, Any]:
    """Contact options of the object's geoms."""
    return {
        "contype": 2, "conaffinity": 1, "condim": 6 if rolls else 4, "friction": [0.8, 0.005, 0.0002],
        # Priority: the object's friction and softness apply to all of its contacts, so one row of the parameter
        # table sets the contact and not the larger of two values.
        "priority": 1,
        # Stiff enough that 40 N per finger penetrate by a third of a millimetre, and by 2 mm when they first close.
        "solref": [0.01, 1], "solimp": [0.95, 0.99, 0.001, 0.5, 2],
    }  # fmt: skip


def add_parts(spec: mujoco.MjSpec, thing: SceneObject, *, rolls: bool, cut: bool) -> None:
    """Add the object as two parts. A part that the drawn shape does not need is switched off."""
    forms = forms_of(thing, cut=cut)
    body = spec.worldbody.add_body(name="object", pos=[0.46, -0.13, thing.half_extents_m[2]])
    body.simple = False
    body.add_freejoint(name="object")
    body.explicitinertial = True
    body.mass, body.ipos, body.iquat = thing.mass_kg, forms.centre[0], forms.turn[0]
    body.inertia = thing.mass_kg * forms.inertia[0]
    for part, name in enumerate(PARTS):
        body.add_geom(
            name=name, type=mujoco.mjtGeom(int(forms.kind[0, part])), size=forms.size[0, part],
            pos=forms.place[0, part], quat=forms.quat[0, part], mass=0, rgba=thing.rgba, **_touching(rolls),
        )  # fmt: skip


def free_parts(model: mujoco.MjModel, geoms: np.ndarray, solid: np.ndarray) -> None:
    """Let the parts of the object be moved and switched off after compilation.

    The compiler marks geoms in their body's own frame, whose place the engine then ignores; the mark is removed here. A
    geom that is compiled without contacts can never collide, so parts that the object's own shape lacks are switched
    off only now.
    """
    model.geom_contype[geoms[~solid]] = model.geom_conaffinity[geoms[~solid]] = 0
    model.geom_sameframe[geoms] = 0
    model.body_sameframe[model.geom_bodyid[geoms]] = 0


def soften(finger: mujoco.MjsBody) -> None:
    """Give the finger pads their own softness.

    Their priority is the object's, so the engine mixes the two. Friction is the larger of the two values, which is the
    object's. Softness is mixed by weight and is practically the pad's. The pad is linear: its stiffness is the same at
    any depth.
    """
    for geom in finger.geoms:
        if geom.contype or geom.conaffinity:
            geom.priority, geom.solmix, geom.friction = 1, 1e9, [0.0, 0.0, 0.0]
            geom.solref, geom.solimp = [0.01, 1], [PAD_IMPEDANCE, PAD_IMPEDANCE, 0.001, 0.5, 2]
