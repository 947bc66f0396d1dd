"""Prim names and values of USD."""

import re

import numpy as np
from pxr import Gf, Usd, UsdGeom

WORLD = "/World"


class PrimPaths:
    """Unique prim paths. A prim name has letters, digits and underscores only."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, parent: str, name: str) -> str:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "prim"
        if plain[0].isdigit():
            plain = f"_{plain}"
        candidate, number = f"{parent}/{plain}", 2
        while candidate in self._taken:
            candidate, number = f"{parent}/{plain}_{number}", number + 1
        self._taken.add(candidate)
        return candidate


def vector(values: np.ndarray) -> Gf.Vec3f:
    return Gf.Vec3f(*(float(value) for value in values[:3]))


def quat(values: np.ndarray) -> Gf.Quatf:
    w, x, y, z = (float(value) for value in values)
    return Gf.Quatf(w, x, y, z)


def place(prim: Usd.Prim, position: np.ndarray, orientation: np.ndarray, scale: np.ndarray | None = None) -> None:
    """Set the pose of a prim in its parent, in double precision."""
    xform = UsdGeom.Xformable(prim)
    double = UsdGeom.XformOp.PrecisionDouble
    xform.AddTranslateOp(double).Set(Gf.Vec3d(*(float(value) for value in position)))
    w, x, y, z = (float(value) for value in orientation)
    xform.AddOrientOp(double).Set(Gf.Quatd(w, x, y, z))
    if scale is not None:
        xform.AddScaleOp(double).Set(Gf.Vec3d(*(float(value) for value in scale)))
