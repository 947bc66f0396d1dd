"""Geoms and contacts of rigid things and of the finger pads."""

from typing import Any

import mujoco
import numpy as np

from twinloop.twin.entity import Thing
from twinloop.twin.meshes.mesh_body import add_mesh_geoms
from twinloop.twin.objects import GEOM_TYPES, SceneObject
from twinloop.twin.shapes import forms_of

PAD_IMPEDANCE, PAD_SLIP_RATIO = 0.8, 3.0
"""Impedance of soft pads, and how much harder than sinking in their contacts resist slip.

Two errors of the engine's contacts grow with their softness. A held thing drifts outwards while the arm turns, because
the engine leaves out the centripetal part of contact accelerations: this error is proportional to the time constant,
which is shorter at a lower impedance. It also creeps under its weight, more at a lower impedance, less at a higher
ratio.
With 0.95 and 1 a can moved by 8 mm between the pads in a second of lifting; now by less than 3 mm.
"""
MEETS_ROBOT, MEETS_THINGS = 1, 4
"""Bits of `conaffinity`: things always meet the robot, and each other if there are several."""


def part_names(name: str, count: int) -> tuple[str, ...]:
    """Names of the geoms of a thing whose parts change from episode to episode."""
    return (name, f"{name}.part", *(f"{name}.part{number}" for number in range(2, count)))[:count]


def add_thing(spec: mujoco.MjSpec, thing: Thing, *, rolls: bool, simple: bool, several: bool) -> None:
    """Add a rigid thing.

    Args:
        rolls: give its contacts rolling friction.
        simple: its centre of mass stays in the middle, which is cheaper.
        several: there are other things, which it can touch.
    """
    body = _body(spec, thing)
    kind = thing.object
    body.simple = simple and not kind.parts and kind.mesh is None
    touching = _touching(rolls, several)
    if kind.mesh is not None:
        _set_inertia(body, kind)
        painted = thing.rgba if thing.colour else None
        add_mesh_geoms(spec, body, thing.name, kind.mesh, painted=painted, **touching)
    elif not kind.parts:
        body.add_geom(
            name=thing.name, type=GEOM_TYPES[kind.shape], size=kind.geom_size, mass=kind.mass_kg, rgba=thing.rgba,
            **touching,
        )  # fmt: skip
    density = kind.mass_kg / kind.volume_m3 if kind.parts else 0.0
    for number, part in enumerate(kind.parts):
        body.add_geom(
            name=thing.name if number == 0 else f"{thing.name}.{number}", type=GEOM_TYPES[part.kind], size=part.size,
            pos=part.at, quat=part.quat, density=density, rgba=part.rgba or thing.rgba, **touching,
        )  # fmt: skip
    _add_frames(body, thing)


def _set_inertia(body: mujoco.MjsBody, kind: SceneObject) -> None:
    """Give a body the mass properties of its mesh, because its convex parts may overlap."""
    mesh = kind.mesh
    assert mesh is not None
    inertia = kind.mass_kg * mesh.inertia_m2
    body.explicitinertial = True
    body.mass, body.ipos = kind.mass_kg, mesh.centre_m
    body.fullinertia = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def _add_frames(body: mujoco.MjsBody, thing: Thing) -> None:
    for frame in thing.object.frames:
        body.add_site(name=f"{thing.name}.{frame.name}", pos=frame.at, quat=frame.quat)


def _body(spec: mujoco.MjSpec, thing: Thing) -> mujoco.MjsBody:
    body = spec.worldbody.add_body(name=thing.name, pos=[0.46, -0.13, thing.object.half_extents_m[2]])
    body.add_freejoint(name=thing.name)
    return body


def _touching(rolls: bool, several: bool) -> dict[str, Any]:
    """Contact options of a thing's geoms."""
    return {
        "contype": 2 | (MEETS_THINGS if several else 0), "conaffinity": MEETS_ROBOT | (MEETS_THINGS if several else 0),
        "condim": 6 if rolls else 4, "friction": [0.8, 0.005, 0.0002],
        # Priority: the object's friction and softness apply to all of its contacts, so one row of the parameter
        # table sets the contact and not the larger of two values.
        "priority": 1,
        # Stiff enough that 40 N per finger penetrate by a third of a millimetre, and by 2 mm when they first close.
        "solref": [0.01, 1], "solimp": [0.95, 0.99, 0.001, 0.5, 2],
    }  # fmt: skip


def add_parts(spec: mujoco.MjSpec, thing: Thing, *, rolls: bool, cut: bool, several: bool) -> None:
    """Add a thing of several parts. A part that the drawn shape does not need is switched off."""
    forms, mass_kg = forms_of(thing.object, cut=cut), thing.object.mass_kg
    body = _body(spec, thing)
    body.simple = False
    body.explicitinertial = True
    body.mass, body.ipos, body.iquat = mass_kg, forms.centre[0], forms.turn[0]
    body.inertia = mass_kg * forms.inertia[0]
    for part, name in enumerate(part_names(thing.name, forms.solid.shape[1])):
        body.add_geom(
            name=name, type=mujoco.mjtGeom(int(forms.kind[0, part])), size=forms.size[0, part],
            pos=forms.place[0, part], quat=forms.quat[0, part], mass=0, rgba=thing.rgba, **_touching(rolls, several),
        )  # fmt: skip
    _add_frames(body, thing)


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
