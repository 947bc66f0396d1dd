"""Apply a draw to the stage: materials, lights and cameras. Every value is computed from the twin's nominal value,
not from the previous episode, so a reused stage does not drift."""

import mujoco
import numpy as np

from twinloop.observe.camera import FOV_DEG, CameraConfig
from twinloop.observe.daylight import Daylight, daylight
from twinloop.observe.image_settings import Values, image_settings
from twinloop.observe.materials import material
from twinloop.observe.occluders import place_occluder
from twinloop.observe.stage import CENTRE_M, LIGHTS, SHININESS, SPECULAR, SURFACES, Stage
from twinloop.randomize.imaging import ImageSettings
from twinloop.twin.shapes import drawn_form, half_extents_m, product_of, row_columns
from twinloop.twin.soft import HIDDEN
from twinloop.twin.table import origin_shift_m, tilt_quats
from twinloop.twin.twin import Twin

KEY_AZIMUTH_DEG, KEY_ELEVATION_DEG = -60.0, 52.0
NEXT_LIGHT_DEG = 137.5  # the golden angle spreads any number of lights evenly
SHARES = ((1.0,), (0.68, 0.32), (0.56, 0.24, 0.2), (0.46, 0.2, 0.18, 0.16))
AMBIENT, DIFFUSE = 0.38, 0.68
SOFTEST = 0.75  # share of the direct light that the softest lamp turns into ambient light
WARM, COOL = np.array([1.0, 0.78, 0.52]), np.array([0.78, 0.9, 1.0])


def dress(stage: Stage, values: Values) -> None:
    """Write the visual values of a draw into the stage's model, except for the pixels of textures."""
    model, twin, settings = stage.model, stage.twin, image_settings(values)
    for number in range(len(twin.things)):
        _set_thing(stage, values, number)
    _set_table(stage, values)
    _set_lights(stage, settings)
    for name, camera in stage.cameras.items():
        _set_camera(stage, model.camera(name).id, camera, settings)
        if camera.mount == "fixed" and "occluders" in twin.surroundings:
            place_occluder(model, name, camera_in_mount(camera, settings), twin, values, settings)
    shade = settings.room_shade
    for name in ("floor", "wall"):
        model.mat_rgba[stage.materials[name], :3] = min(shade, 1.0)
        # Colours are limited to 1; a brighter surface gets some emission instead.
        model.mat_emission[stage.materials[name]] = max(shade - 1, 0.0) * 0.5
    model.mat_reflectance[stage.materials["table"]] = settings.table_mirror
    model.mat_reflectance[stage.materials["floor"]] = settings.floor_mirror
    # The engine reflects in flat faces only; round ones get highlights.
    things = list(stage.thing_materials)
    model.mat_reflectance[things] = 0.5 * settings.gloss
    model.mat_specular[things] = SPECULAR + settings.gloss
    model.mat_shininess[things] = SHININESS + 0.7 * settings.gloss
    _set_colours(stage, values, round(settings.material))


def _set_thing(stage: Stage, values: Values, number: int) -> None:
    """Write size and shape of a thing."""
    model, index = stage.model, stage.twin.things[number]
    drawn, geoms = thing_values(stage.twin, values, number), stage.geoms[number]
    scale, forms, nominal = drawn["object_size_scale"], index.forms, stage.twin.model
    if forms is None:
        model.geom_size[geoms] = nominal.geom_size[index.geoms] * scale
        model.geom_rbound[geoms] = nominal.geom_rbound[index.geoms] * scale
        return
    form = int(drawn_form(index.object, {column: np.array(value) for column, value in drawn.items()}))
    model.geom_type[geoms], model.geom_quat[geoms] = forms.kind[form], forms.quat[form]
    model.geom_size[geoms], model.geom_pos[geoms] = scale * forms.size[form], scale * forms.place[form]
    model.geom_rbound[geoms] = scale * forms.radius[form]
    model.geom_group[geoms] = np.where(forms.solid[form], 0, HIDDEN)


def thing_values(twin: Twin, values: Values, number: int) -> dict[str, float]:
    """The drawn shape and size of a thing."""
    columns = {column: np.array([value]) for column, value in values.items()}
    own = row_columns(columns, "" if number == 0 else twin.things[number].name, 1)
    return {column: float(value[0]) for column, value in own.items()}


def drawn_half_extents_m(twin: Twin, values: Values) -> np.ndarray:
    """(things, 3) half extents of the box around each thing."""
    extents = []
    for number, index in enumerate(twin.things):
        drawn = {column: np.array([value]) for column, value in thing_values(twin, values, number).items()}
        extents.append(half_extents_m(index.object, drawn)[0])
    return np.array(extents)


def _set_table(stage: Stage, values: Values) -> None:
    model, table = stage.model, stage.table_body
    quats = tilt_quats(np.array([[values["table_tilt_deg.x"], values["table_tilt_deg.y"]]]))
    model.body_quat[table] = quats[0]
    model.body_pos[table] = origin_shift_m(quats)[0] + [0, 0, values["table_height_cm"] / 100]


def paint_textures(stage: Stage, values: Values) -> None:
    """Write the pixels of the drawn textures into the model."""
    model, index = stage.model, round(image_settings(values).material)
    for name, (size, plain_rgb, _, cube) in SURFACES.items():
        pixels = material(index, name, size, plain_rgb)
        start = model.tex_adr[stage.textures[name]]
        sides = 6 if cube else 1
        model.tex_data[start : start + sides * pixels.size] = np.tile(pixels.ravel(), sides)


def _set_colours(stage: Stage, values: Values, index: int) -> None:
    """Write the colours of things."""
    for number, (thing, own) in enumerate(zip(stage.twin.things, stage.thing_materials, strict=True)):
        # A thing whose colour has a name in instructions keeps it. Another has the colours of a drawn material.
        keeps = index == 0 or bool(thing.thing.colour)
        rgba = _own_rgba(stage.twin, values, number) if keeps else (1.0, 1.0, 1.0, 1.0)
        if thing.soft is not None and not keeps:
            # A flex has no texture, so it takes the mean colour of the material.
            size, plain_rgb, _, _ = SURFACES["object"]
            rgba = (*(material(index, "object", size, plain_rgb).reshape(-1, 3).mean(axis=0) / 255), 1.0)
        stage.model.mat_rgba[own] = rgba


def _own_rgba(twin: Twin, values: Values, number: int) -> tuple[float, float, float, float]:
    """The colour of a thing without a drawn material; that of a pool is the product's."""
    thing = twin.things[number].thing
    if not thing.object.pool:
        return thing.rgba
    mix = np.array([thing_values(twin, values, number)["product_mix"]])
    return thing.object.pool[int(product_of(thing.object, mix)[0])].rgba


def _set_lights(stage: Stage, settings: ImageSettings) -> None:
    model, count = stage.model, int(np.clip(round(settings.lamps), 1, LIGHTS))
    softness = SOFTEST * settings.softness
    intensity, colour = settings.brightness, _colour(settings.warmth)
    # The light that a soft lamp takes from its beam becomes ambient light, with some loss. Ambient light belongs to the
    # head light, because a lamp's own ambient light is missing in its shadow, which would then be black.
    model.vis.headlight.ambient[:] = (AMBIENT + 0.6 * DIFFUSE * softness) * intensity * colour
    for number, light in enumerate(stage.lights):
        towards = towards_light(number, settings)
        model.light_dir[light] = -towards
        model.light_pos[light] = np.array(CENTRE_M) + 1.5 * towards
        model.light_active[light] = number < count
        share = SHARES[count - 1][number] if number < count else 0.0
        model.light_diffuse[light] = DIFFUSE * (1 - softness) * intensity * share * colour
        model.light_specular[light] = 0.3 * (1 - softness) * intensity * share
    day = _daylight(settings)
    model.vis.headlight.ambient[:] += day.sky_rgb
    model.light_active[stage.sun] = day.beam_rgb.any()
    model.light_dir[stage.sun] = -day.towards
    model.light_pos[stage.sun] = np.array(CENTRE_M) + 1.5 * day.towards
    model.light_diffuse[stage.sun] = day.beam_rgb
    model.light_specular[stage.sun] = 0.4 * day.beam_rgb
    # Only one shadow is rendered: that of the brighter light.
    sunny = day.beam_rgb.mean() > model.light_diffuse[stage.lights[0]].mean()
    model.light_castshadow[stage.lights[0]], model.light_castshadow[stage.sun] = not sunny, sunny


def towards_brightest(stage: Stage, settings: ImageSettings) -> np.ndarray:
    """World unit vector from the cell towards the light that casts the shadow. Call after `dress`."""
    sunny = stage.model.light_castshadow[stage.sun]
    return _daylight(settings).towards if sunny else towards_light(0, settings)


def _daylight(settings: ImageSettings) -> Daylight:
    return daylight(settings.sun_hour, settings.sun_heading_deg, settings.sun_strength)


def towards_light(number: int, settings: ImageSettings) -> np.ndarray:
    """World unit vector from the cell towards a light; number 0 is the brightest."""
    azimuth = np.deg2rad(KEY_AZIMUTH_DEG + settings.lamp_turn_deg + number * NEXT_LIGHT_DEG)
    # Not below the table's edge, and not straight above, where the arm hides the shadow.
    elevation = np.deg2rad(np.clip(KEY_ELEVATION_DEG + settings.lamp_raise_deg, 12, 88))
    flat = np.cos(elevation)
    return np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)])


def _colour(warmth: float) -> np.ndarray:
    tint = WARM if warmth > 0 else COOL
    mixed = 1 - abs(warmth) + abs(warmth) * tint
    return mixed / mixed.mean()


def camera_in_mount(camera: CameraConfig, settings: ImageSettings) -> np.ndarray:
    """(4, 4) drawn pose of the camera: from its frame (x right, y down, z forward) to the frame of its mount."""
    pitch, yaw, roll = np.deg2rad(settings.camera_turn_deg)
    pose = np.eye(4)
    pose[:3, :3] = camera.axes @ _turn(0, pitch) @ _turn(1, yaw) @ _turn(2, roll)
    pose[:3, 3] = np.array(camera.position_m) + np.array(settings.camera_shift_m)
    return pose


def _set_camera(stage: Stage, number: int, camera: CameraConfig, settings: ImageSettings) -> None:
    model = stage.model
    pose = camera_in_mount(camera, settings)
    # The engine's cameras look along -z with y up: x is the same, y and z are reversed.
    position, axes = pose[:3, 3], pose[:3, :3] * np.array([1, -1, -1])
    if camera.mount == "wrist":
        site = stage.twin.tool_site
        tool_to_body = np.zeros(9)
        mujoco.mju_quat2Mat(tool_to_body, model.site_quat[site])
        tool_to_body = tool_to_body.reshape(3, 3)
        position, axes = model.site_pos[site] + tool_to_body @ position, tool_to_body @ axes
    model.cam_pos[number] = position
    mujoco.mju_mat2Quat(model.cam_quat[number], np.ascontiguousarray(axes).ravel())
    model.cam_fovy[number] = fov_deg(camera, settings)


def fov_deg(camera: CameraConfig, settings: ImageSettings) -> float:
    return float(np.clip(camera.fov_deg + settings.fov_shift_deg, *FOV_DEG))


def _turn(axis: int, angle_rad: float) -> np.ndarray:
    cos, sin = np.cos(angle_rad), np.sin(angle_rad)
    matrix = np.eye(3)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix[first, first] = matrix[second, second] = cos
    matrix[first, second], matrix[second, first] = -sin, sin
    return matrix
