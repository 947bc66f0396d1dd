"""MjModel -> MjSpec: a compiled model as a specification again, with the values that the model has now.

A twin is compiled once and each episode then has its own masses, sizes and friction in the compiled arrays. The spec
that was compiled does not know them, so this one is made from the arrays alone.
"""

import mujoco

from twinloop.scene_export.spec.assets import add_assets
from twinloop.scene_export.spec.bodies import add_bodies
from twinloop.scene_export.spec.couplings import (
    add_actuators,
    add_contacts,
    add_equalities,
    add_fields,
    add_sensors,
    add_tendons,
)
from twinloop.scene_export.spec.flexes import add_flexes
from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.spec.options import copy_record, record_fields

SIZES = (
    "nuserdata", "nuser_body", "nuser_jnt", "nuser_geom", "nuser_site", "nuser_cam", "nuser_tendon", "nuser_actuator",
    "nuser_sensor",
)  # fmt: skip


def spec_of(model: mujoco.MjModel) -> tuple[mujoco.MjSpec, list[str]]:
    """A spec that compiles to a model with the same physics, and notes about what it lacks."""
    if (model.tex_adr < 0).any():
        model = mujoco.mj_embedAssets(model)
    names = Names(model)
    spec = mujoco.MjSpec()
    spec.modelname = "scene"
    _set_options(spec, model)
    add_assets(spec, model, names)
    add_bodies(spec, model, names)
    unknown = add_flexes(spec, model, names)
    add_contacts(spec, model, names)
    add_equalities(spec, model, names)
    add_tendons(spec, model, names)
    add_actuators(spec, model, names)
    add_sensors(spec, model, names)
    add_fields(spec, model, names)
    return spec, [*_left_out(model), *(f"flex {name}: no material gives its stiffness exactly" for name in unknown)]


def _left_out(model: mujoco.MjModel) -> list[str]:
    counts = {"skin": model.nskin, "plugin instance": model.nplugin, "tuple": model.ntuple}
    notes = [f"{count} {kind}{'s' if count > 1 else ''}: not exported" for kind, count in counts.items() if count]
    if (model.actuator_delay > 0).any():
        notes.append(
            "delayed actuators: a keyframe has no command history, so the commands before the start are 0; "
            "call mujoco.mj_initCtrlHistory for other ones"
        )
    return notes


def _set_options(spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    compiler = spec.compiler
    compiler.degree, compiler.autolimits = False, False
    # Masses and frames are those of the model; the compiler must not derive them from geoms again.
    compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE.value
    compiler.alignfree, compiler.fusestatic, compiler.discardvisual = False, False, False
    copy_record(model.opt, spec.option)
    for group in record_fields(model.vis):
        copy_record(getattr(model.vis, group), getattr(spec.visual, group))
    copy_record(model.stat, spec.stat)
    spec.memory = int(model.narena)
    for size in SIZES:
        setattr(spec, size, int(getattr(model, size)))
