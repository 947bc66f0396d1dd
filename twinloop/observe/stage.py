"""Stage: the model that is rendered: the bodies of the cell with a room, lights, materials and cameras.

It is separate from the model that is simulated, so rendering can neither slow down nor change a trajectory. Its joints,
and so its state, are those of the twin.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.observe.camera import CameraConfig
from twinloop.observe.occluders import add_occluders
from twinloop.twin.compose import Features, compiled, compose
from twinloop.twin.soft import PREFIX as SOFT
from twinloop.twin.solid import free_parts
from twinloop.twin.twin import Twin

FLOOR_M = -0.75
WALL_M = 4.0
CENTRE_M = (0.4, 0.0, 0.0)  # the point that lights are aimed at
NEAR_M, FAR_M = 0.01, 30.0
LIGHTS = 4
SPECULAR, SHININESS = 0.2, 0.3
SHADOW_PIXELS = 512
"""The engine's default of 4096 costs a software renderer a factor of seven."""

DEFAULT_RGBA = [0.5, 0.5, 0.5, 1]

# surface -> (texture pixels, plain colour, repeats, whether it is a cube texture that wraps all sides)
SURFACES: dict[str, tuple[int, tuple[float, float, float], float, bool]] = {
    "floor": (128, (0.5, 0.5, 0.52), 6, False),
    "wall": (128, (0.78, 0.78, 0.76), 3, False),
    "table": (128, (0.72, 0.6, 0.46), 2, False),
    "object": (64, (1, 1, 1), 1, True),
}


@dataclass(frozen=True)
class Stage:
    """The compiled stage, with indices of the parts that a draw changes.

    Attributes:
        geoms, thing_materials: geoms and material of each thing of the twin.
    """

    model: mujoco.MjModel
    twin: Twin
    cameras: Mapping[str, CameraConfig]
    textures: Mapping[str, int]
    materials: Mapping[str, int]
    lights: tuple[int, ...]
    table_body: int
    geoms: tuple[np.ndarray, ...]
    thing_materials: tuple[int, ...]
    sun: int


def build_stage(twin: Twin, cameras: Mapping[str, CameraConfig]) -> Stage:
    forms = next((index.forms for index in twin.things if index.forms is not None), None)
    features = Features(
        clutter=bool(len(twin.clutter_mocaps)), surroundings=twin.surroundings, shapes=forms is not None,
        two_materials=forms is not None and forms.cut,
    )  # fmt: skip
    spec = compose(twin.robot, twin.task, features=features)
    _add_materials(spec, twin)
    _add_room(spec)
    _add_lights(spec)
    if "occluders" in twin.surroundings:
        add_occluders(spec, cameras)
    tool = spec.site(f"robot/{twin.robot.tool_site}")
    for name, camera in cameras.items():
        # The camera's pose in its mount is set for every draw.
        (spec.worldbody if camera.mount == "fixed" else tool.parent).add_camera(name=name)
    _set_quality(spec, cameras)
    model = compiled(spec, twin.robot, twin.task)
    # Geom ids differ from the twin's, because some geoms of the room come first.
    geoms = tuple(
        np.array([model.geom(twin.model.geom(geom).name).id for geom in index.geoms]) for index in twin.things
    )
    for index, parts in zip(twin.things, geoms, strict=True):
        if index.forms is not None:
            free_parts(model, parts, index.forms.solid[0])
    return Stage(
        model=model,
        twin=twin,
        cameras=dict(cameras),
        textures={name: model.texture(name).id for name in SURFACES},
        materials={name: model.material(name).id for name in SURFACES if name != "object"},
        # A robot's model may have its own lights, so these are looked up by name.
        lights=tuple(model.light(f"light{number}").id for number in range(LIGHTS)),
        table_body=model.body("table").id,
        geoms=geoms,
        thing_materials=tuple(model.material(material_of(index.name)).id for index in twin.things),
        sun=model.light("sun").id,
    )


def _add_materials(spec: mujoco.MjSpec, twin: Twin) -> None:
    for name, (size, plain_rgb, repeats, cube) in SURFACES.items():
        kind = mujoco.mjtTexture.mjTEXTURE_CUBE if cube else mujoco.mjtTexture.mjTEXTURE_2D
        spec.add_texture(
            name=name, type=kind, builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT, width=size, height=size, rgb1=plain_rgb
        )
        if name == "object":
            continue
        material = spec.add_material(name=name, texrepeat=[repeats, repeats], specular=SPECULAR, shininess=SHININESS)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB.value] = name
    # The engine uses the material's colour only for geoms with this default colour.
    table = spec.geom("table")
    table.material, table.rgba = "table", DEFAULT_RGBA
    for index in twin.things:
        own = material_of(index.name)
        material = spec.add_material(name=own, specular=SPECULAR, shininess=SHININESS, rgba=index.thing.rgba)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB.value] = "object"
        mesh = index.object.mesh
        if mesh is not None and mesh.has_materials and not index.thing.colour:
            continue  # it keeps the looks of its file
        for geom in spec.body(index.name).geoms:
            # A part with a colour of its own keeps it.
            if np.allclose(geom.rgba, index.thing.rgba):
                geom.material, geom.rgba = own, DEFAULT_RGBA
        if index.soft is not None:
            flex = spec.flex(SOFT + index.name)
            flex.material, flex.rgba = own, DEFAULT_RGBA


def material_of(thing: str) -> str:
    """Name of the material of a thing. All things share the texture of the surface `object`."""
    return f"thing/{thing}"


def _add_room(spec: mujoco.MjSpec) -> None:
    plane, without_contacts = mujoco.mjtGeom.mjGEOM_PLANE, {"contype": 0, "conaffinity": 0}
    spec.worldbody.add_geom(
        name="floor", type=plane, size=[WALL_M, WALL_M, 0.1], pos=[0, 0, FLOOR_M], material="floor", **without_contacts
    )
    for name, x, y in (("front", 1, 0), ("back", -1, 0), ("left", 0, 1), ("right", 0, -1)):
        # The plane's normal (its z) points into the room, and its y is up.
        spec.worldbody.add_geom(
            name=f"{name}_wall", type=plane, size=[WALL_M, 2, 0.1], pos=[x * WALL_M, y * WALL_M, FLOOR_M + 2],
            xyaxes=[y, -x, 0, 0, 0, 1],
            material="wall", **without_contacts,
        )  # fmt: skip
    depth = -FLOOR_M / 2 - 0.02
    spec.body("table").add_geom(
        name="table_base", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.38, 0.52, depth], pos=[0.35, 0, -0.04 - depth],
        rgba=[0.32, 0.33, 0.35, 1], **without_contacts,
    )  # fmt: skip


def _add_lights(spec: mujoco.MjSpec) -> None:
    for number in range(LIGHTS):
        # A shadow costs a rendering pass, so only the brightest light casts one.
        spec.worldbody.add_light(
            name=f"light{number}",
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            castshadow=number == 0,
            ambient=[0, 0, 0],
        )
    directional = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    spec.worldbody.add_light(name="sun", type=directional, castshadow=False, active=False, ambient=[0, 0, 0])


def _set_quality(spec: mujoco.MjSpec, cameras: Mapping[str, CameraConfig]) -> None:
    visual = spec.visual
    visual.quality.shadowsize, visual.quality.offsamples = SHADOW_PIXELS, 0
    # A light with a shadow processes every vertex in three passes. Rendering is 1.5 times as fast with 16 sides instead
    # of 28 for round geoms, and one piece for flat ones. Nothing is lost, because the lights are far away.
    visual.quality.numslices, visual.quality.numstacks, visual.quality.numquads = 16, 10, 1
    visual.global_.offwidth = max((camera.width for camera in cameras.values()), default=128)
    visual.global_.offheight = max((camera.height for camera in cameras.values()), default=128)
    visual.headlight.diffuse, visual.headlight.specular = [0, 0, 0], [0, 0, 0]
    spec.stat.extent, spec.stat.center = 1.0, CENTRE_M
    visual.map.znear, visual.map.zfar = NEAR_M, FAR_M
    # Half the width of the area of the shadow map. It covers only the table, so that its pixels are small.
    visual.map.shadowclip = 0.68
