"""The rigid object of a cell and the pads that grip it, as the engine has them."""

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
    """How the object meets what it touches."""
    return {
        "contype": 2, "conaffinity": 1, "condim": 6 if rolls else 4, "friction": [0.8, 0.005, 0.0002],
        # Priority: the object's friction and softness decide every contact it is in, so one row of the
        # parameter table sets the contact and not the larger of two values.
        "priority": 1,
        # Stiff enough that 40 N a finger sink in by a third of a millimetre, and by 2 when they first close.
        "solref": [0.01, 1], "solimp": [0.95, 0.99, 0.001, 0.5, 2],
    }  # fmt: skip


def add_parts(spec: mujoco.MjSpec, thing: SceneObject, *, rolls: bool, cut: bool) -> None:
    """The object as two parts, of which a shape may need one only: the rest is off until it is drawn."""
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
    """The compiler notes which geoms sit in their body's own frame and skips their place; these are moved later. And
    what it did not compile to collide never can: a part that the object's own shape lacks is switched off only now."""
    model.geom_contype[geoms[~solid]] = model.geom_conaffinity[geoms[~solid]] = 0
    model.geom_sameframe[geoms] = 0
    model.body_sameframe[model.geom_bodyid[geoms]] = 0


def soften(finger: mujoco.MjsBody) -> None:
    """Pads of their own softness. Priority as the object's, so that the two are mixed: friction is the larger one,
    which stays the object's, softness goes by weight, and is the pad's. Linear: one stiffness at any depth."""
    for geom in finger.geoms:
        if geom.contype or geom.conaffinity:
            geom.priority, geom.solmix, geom.friction = 1, 1e9, [0.0, 0.0, 0.0]
            geom.solref, geom.solimp = [0.01, 1], [PAD_IMPEDANCE, PAD_IMPEDANCE, 0.001, 0.5, 2]
