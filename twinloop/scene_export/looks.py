"""Add cameras, lights, materials and scenery of one model to the spec of another with bodies of the same names."""

import mujoco

from twinloop.scene_export.spec.assets import add_material, add_texture
from twinloop.scene_export.spec.bodies import add_camera, add_geom, add_light
from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.spec.options import copy_record, record_fields


def add_looks(spec: mujoco.MjSpec, model: mujoco.MjModel, looks: mujoco.MjModel) -> None:
    """Add the parts of `looks` that `model` lacks. Geoms that both have get the material and colour in `looks`.

    Args:
        model: the model that `spec` was made from.
    """
    names, physics = Names(looks), Names(model)
    bodies = {body.name: body for body in spec.bodies}
    _add_materials(spec, looks, names, known=set(physics["material"]))
    known = {name: index for index, name in enumerate(physics["geom"]) if model.geom(index).name}
    for index, name in enumerate(names["geom"]):
        body = bodies.get(names["body"][looks.geom_bodyid[index]])
        if not looks.geom(index).name or body is None:
            continue
        if name in known:
            material = int(looks.geom_matid[index])
            geom = spec.geom(name)
            geom.material = names["material"][material] if material >= 0 else ""
            geom.rgba = looks.geom_rgba[index]
        elif not looks.geom_contype[index] and not looks.geom_conaffinity[index]:
            add_geom(body, looks, index, names)
    for flex in range(looks.nflex):
        material = int(looks.flex_matid[looks.flex_elemadr[flex]])
        if names["flex"][flex] in physics["flex"] and material >= 0:
            spec.flex(names["flex"][flex]).rgba = looks.mat_rgba[material]
    for index in range(looks.ncam):
        body = bodies.get(names["body"][looks.cam_bodyid[index]])
        if body is not None and names["camera"][index] not in physics["camera"]:
            add_camera(body, looks, index, names)
    for index in range(looks.nlight):
        body = bodies.get(names["body"][looks.light_bodyid[index]])
        if body is not None and names["light"][index] not in physics["light"]:
            add_light(body, looks, index, names)
    for group in record_fields(looks.vis):
        copy_record(getattr(looks.vis, group), getattr(spec.visual, group))
    spec.stat.extent, spec.stat.center = looks.stat.extent, looks.stat.center


def _add_materials(spec: mujoco.MjSpec, looks: mujoco.MjModel, names: Names, *, known: set[str]) -> None:
    files = dict(spec.assets)
    taken = {path.rpartition("/")[2].lower() for path in files}
    textures = {texture.name for texture in spec.textures}
    for index, name in enumerate(names["texture"]):
        if name not in textures:
            add_texture(spec, looks, index, name, files, taken)
    spec.assets = files
    for index, name in enumerate(names["material"]):
        if name not in known:
            add_material(spec, looks, index, name, names)
