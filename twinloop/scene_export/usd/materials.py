"""Materials of USD: surfaces to look at (UsdPreviewSurface) and friction for the physics."""

import mujoco
import numpy as np
from pxr import Gf, Sdf, Usd, UsdPhysics, UsdShade

from twinloop.scene_export.spec.assets import CUBE, FOLDER, file_name, png, texture_pixels
from twinloop.scene_export.usd.paths import WORLD, PrimPaths

LOOKS, FRICTIONS = f"{WORLD}/Looks", f"{WORLD}/PhysicsMaterials"
RGB = mujoco.mjtTextureRole.mjTEXROLE_RGB.value
SRGB = 2.2


class Materials:
    """Makes materials once and binds them.

    Attributes:
        files: textures of meshes.
        averaged: names of textures that are replaced by their mean colour.
    """

    def __init__(self, stage: Usd.Stage, model: mujoco.MjModel, paths: PrimPaths):
        self._stage, self._model, self._paths = stage, model, paths
        self._surfaces: dict[tuple[object, ...], UsdShade.Material] = {}
        self._frictions: dict[float, UsdShade.Material] = {}
        self._taken: set[str] = set()
        self.files: dict[str, bytes] = {}
        self.averaged: set[str] = set()

    def has_image(self, material: int) -> bool:
        """True if a material has a flat texture that is not of one colour."""
        texture = int(self._model.mat_texid[material, RGB])
        if texture < 0 or int(self._model.tex_type[texture]) in CUBE:
            return False
        pixels = texture_pixels(self._model, texture)
        return bool((pixels != pixels[0, 0]).any())

    def colour_of(self, rgba: np.ndarray, material: int, *, textured: bool) -> np.ndarray:
        """RGBA of a geom in the encoding of a screen."""
        if material < 0:
            return np.array(rgba, float)
        colour = np.array(self._model.mat_rgba[material], float)
        texture = int(self._model.mat_texid[material, RGB])
        if texture >= 0 and not textured:
            pixels = texture_pixels(self._model, texture)
            colour[:3] *= pixels.reshape(-1, pixels.shape[2]).mean(axis=0)[:3] / 255
            if (pixels != pixels[0, 0]).any():
                self.averaged.add(self._model.texture(texture).name or f"texture{texture}")
        return colour

    def bind_surface(self, prim: Usd.Prim, rgba: np.ndarray, material: int, *, textured: bool) -> None:
        """Bind a surface. `textured`: the prim has texture coordinates."""
        texture = int(self._model.mat_texid[material, RGB]) if material >= 0 else -1
        if texture >= 0 and int(self._model.tex_type[texture]) in CUBE:
            textured = False
        textured = textured and texture >= 0
        colour = self.colour_of(rgba, material, textured=textured)
        key = (*np.round(colour, 6), material, textured)
        if key not in self._surfaces:
            self._surfaces[key] = self._surface(colour, material, texture if textured else -1)
        UsdShade.MaterialBindingAPI.Apply(prim).Bind(self._surfaces[key])

    def _surface(self, colour: np.ndarray, material: int, texture: int) -> UsdShade.Material:
        model = self._model
        name = model.material(material).name if material >= 0 else ""
        path = self._paths.new(LOOKS, name or f"colour{len(self._surfaces)}")
        surface = UsdShade.Material.Define(self._stage, path)
        shader = UsdShade.Shader.Define(self._stage, f"{path}/surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        linear = Gf.Vec3f(*(float(value) for value in np.clip(colour[:3], 0, 1) ** SRGB))
        inputs: dict[str, tuple[Sdf.ValueTypeName, object]] = {
            "diffuseColor": (Sdf.ValueTypeNames.Color3f, linear),
            "opacity": (Sdf.ValueTypeNames.Float, float(colour[3])),
            "roughness": (Sdf.ValueTypeNames.Float, 0.5),
            "metallic": (Sdf.ValueTypeNames.Float, 0.0),
        }
        if material >= 0:
            rough, metal = float(model.mat_roughness[material]), float(model.mat_metallic[material])
            # -1 means that the material has none of its own.
            rough = rough if rough >= 0 else 1 - float(model.mat_shininess[material])
            inputs["roughness"] = (Sdf.ValueTypeNames.Float, min(max(rough, 0.0), 1.0))
            inputs["metallic"] = (Sdf.ValueTypeNames.Float, max(metal, 0.0))
            glow = float(model.mat_emission[material]) * np.array(linear)
            inputs["emissiveColor"] = (Sdf.ValueTypeNames.Color3f, Gf.Vec3f(*(float(value) for value in glow)))
        for key, (kind, value) in inputs.items():
            shader.CreateInput(key, kind).Set(value)
        if texture >= 0:
            self._connect_texture(shader, path, texture, colour)
        surface.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        return surface

    def _connect_texture(self, shader: UsdShade.Shader, path: str, texture: int, colour: np.ndarray) -> None:
        name = file_name(self._model.texture(texture).name or f"texture{texture}", "png", self._taken)
        self.files[f"{FOLDER}/{name}"] = png(texture_pixels(self._model, texture))
        reader = UsdShade.Shader.Define(self._stage, f"{path}/coordinates")
        reader.CreateIdAttr("UsdPrimvarReader_float2")
        reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("st")
        sampler = UsdShade.Shader.Define(self._stage, f"{path}/texture")
        sampler.CreateIdAttr("UsdUVTexture")
        sampler.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(f"./{FOLDER}/{name}")
        sampler.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set("sRGB")
        tint = Gf.Vec4f(*(float(value) for value in colour))
        sampler.CreateInput("scale", Sdf.ValueTypeNames.Float4).Set(tint)
        for side in ("wrapS", "wrapT"):
            sampler.CreateInput(side, Sdf.ValueTypeNames.Token).Set("repeat")
        coordinates = reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
        sampler.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(coordinates)
        pixels = sampler.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)
        shader.GetInput("diffuseColor").ConnectToSource(pixels)

    def bind_friction(self, prim: Usd.Prim, friction: float) -> None:
        key = round(friction, 9)
        if key not in self._frictions:
            path = self._paths.new(FRICTIONS, f"friction_{key:g}")
            material = UsdShade.Material.Define(self._stage, path)
            physics = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
            physics.CreateStaticFrictionAttr(friction)
            physics.CreateDynamicFrictionAttr(friction)
            physics.CreateRestitutionAttr(0.0)
            self._frictions[key] = material
        binding = UsdShade.MaterialBindingAPI.Apply(prim)
        binding.Bind(self._frictions[key], UsdShade.Tokens.weakerThanDescendants, "physics")
