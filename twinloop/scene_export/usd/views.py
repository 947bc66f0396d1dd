"""Cameras and lights of USD."""

import mujoco
import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdLux

from twinloop.scene_export.transforms import product, rotation_to
from twinloop.scene_export.usd.paths import WORLD, PrimPaths, place

APERTURE_MM = 20.955  # default height of a camera's film
INTENSITY = 1000.0
"""Intensity of a USD light for a colour of 1 in the engine, whose lights have no unit."""

X_TO_FORWARD = np.array([np.sqrt(0.5), 0, -np.sqrt(0.5), 0])  # turns -z to x: USD's lights shine along -z


def add_camera(stage: Usd.Stage, path: str, model: mujoco.MjModel, index: int) -> None:
    """Add a camera below the prim of its body. Both look along -z with y up."""
    camera = UsdGeom.Camera.Define(stage, path)
    width, height = (int(pixels) for pixels in model.cam_resolution[index])
    aspect = width / height if width > 1 and height > 1 else 4 / 3
    camera.CreateVerticalApertureAttr(APERTURE_MM)
    camera.CreateHorizontalApertureAttr(APERTURE_MM * aspect)
    half_rad = np.deg2rad(float(model.cam_fovy[index])) / 2
    camera.CreateFocalLengthAttr(float(APERTURE_MM / 2 / np.tan(half_rad)))
    extent = float(model.stat.extent)
    camera.CreateClippingRangeAttr(Gf.Vec2f(float(model.vis.map.znear) * extent, float(model.vis.map.zfar) * extent))
    place(camera.GetPrim(), model.cam_pos[index], model.cam_quat[index])


def add_light(stage: Usd.Stage, path: str, model: mujoco.MjModel, index: int) -> None:
    """Add a light below the prim of its body."""
    kind = mujoco.mjtLightType(int(model.light_type[index]))
    light = UsdLux.DistantLight if kind == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL else UsdLux.SphereLight
    light = light.Define(stage, path)
    if isinstance(light, UsdLux.SphereLight):
        light.CreateRadiusAttr(max(float(model.light_bulbradius[index]), 0.01))
        if kind == mujoco.mjtLightType.mjLIGHT_SPOT:
            UsdLux.ShapingAPI.Apply(light.GetPrim()).CreateShapingConeAngleAttr(float(model.light_cutoff[index]))
    _shine(light, model.light_diffuse[index])
    direction = model.light_dir[index]
    place(light.GetPrim(), model.light_pos[index], product(rotation_to(direction), X_TO_FORWARD))
    if not model.light_active[index]:
        UsdGeom.Imageable(light.GetPrim()).CreateVisibilityAttr(UsdGeom.Tokens.invisible)


def add_ambient(stage: Usd.Stage, paths: PrimPaths, model: mujoco.MjModel) -> None:
    """Add a dome for the ambient light of the engine's head light."""
    if model.vis.headlight.active and np.any(model.vis.headlight.ambient):
        dome = UsdLux.DomeLight.Define(stage, paths.new(WORLD, "ambient"))
        _shine(dome, np.array(model.vis.headlight.ambient))


def _shine(light: "UsdLux.DistantLight | UsdLux.SphereLight | UsdLux.DomeLight", rgb: np.ndarray) -> None:
    brightest = float(np.max(rgb))
    light.CreateIntensityAttr(INTENSITY * brightest)
    colour = np.asarray(rgb) / brightest if brightest > 0 else np.ones(3)
    light.CreateColorAttr(Gf.Vec3f(*(float(value) for value in colour)))


def forward_of(orientation: Gf.Quatd) -> np.ndarray:
    """Direction along which a USD light with this orientation shines."""
    return np.array(Gf.Rotation(orientation).TransformDir(Gf.Vec3d(0, 0, -1)))
