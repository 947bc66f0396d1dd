"""Shapes: alternative shapes of a scene's object. Each episode draws one from a pool.

A shape has at most two parts, each a primitive, inside a box about the body's origin. The origin is the grasp point. A
shape of one part is cut in two if its surface has two materials. In the engine each simulation has its own type, size
and place of a geom, so one compiled twin holds every shape.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np

from twinloop.twin.objects import GEOM_TYPES, Part, SceneObject, Triple

SHAPES = ("box", "cylinder", "capsule", "ellipsoid", "hammer", "tee", "ell")
OWN = -1  # the draw's number for the shape that the scene names
PROUD_M = 0.0002  # a band around a round object protrudes by this much, so that contacts are with the band
ALONG_X = (np.cos(np.pi / 4), 0.0, np.sin(np.pi / 4), 0.0)
HALF, QUARTER = np.pi, np.pi / 2
MOST_PARTS = 2


@dataclass(frozen=True)
class Shape:
    """A shape of the object.

    Attributes:
        whole: as few parts as possible, for a surface of one material.
        cut: parts of one material each, for a surface of two materials.
        half_extents_m: of the box around the shape.
        yaw_symmetry_rad: as in SceneObject.
    """

    whole: tuple[Part, ...]
    cut: tuple[Part, ...]
    half_extents_m: Triple
    yaw_symmetry_rad: float


def shape_of(name: str, thing: SceneObject) -> Shape:
    """A shape about as large as `thing`, and narrow enough along y for the same grasp."""
    x, y, z = thing.half_extents_m
    if name == "box":
        halves = tuple(Part("box", (x, y, z / 2), (0, 0, side * z / 2)) for side in (-1, 1))
        return Shape((Part("box", (x, y, z)),), halves, (x, y, z), QUARTER if x == y else HALF)
    if name == "cylinder":
        r = min(x, y)
        halves = tuple(Part("cylinder", (r, z / 2, 0), (0, 0, side * z / 2)) for side in (-1, 1))
        return Shape((Part("cylinder", (r, z, 0)),), halves, (r, r, z), 0.0)
    if name == "capsule":
        # It lies, because upright it would fall over. It is never so short that it is a ball.
        r = min(y, z)
        straight = max(x - r, 0.6 * r)
        body = Part("capsule", (r, straight, 0), quat=ALONG_X)
        band = Part("cylinder", (r + PROUD_M, straight / 2, 0), quat=ALONG_X)
        return Shape((body,), (body, band), (r + straight, r, r), HALF)
    if name == "ellipsoid":
        # Flatter than wide, so that it does not roll away from the fingers.
        b = min(y, 1.25 * z)
        a, c = 1.3 * b, 0.8 * b
        body = Part("ellipsoid", (a, b, c))
        band = Part("ellipsoid", (a / 2, b + PROUD_M, c + PROUD_M))
        return Shape((body,), (body, band), (a, b, c), HALF)
    if name == "hammer":
        # A handle, which is gripped, and a head across its end.
        a, head = 1.6 * x, 0.35 * x
        parts = (
            Part("box", (a - head, 0.6 * y, z), (-head, 0, 0)),
            Part("box", (head, 1.3 * y, z), (a - head, 0, 0)),
        )
        return Shape(parts, parts, (a, 1.3 * y, z), HALF)
    if name == "tee":
        # Upside down: it stands on its cross-bar and is gripped by its stem.
        bar = 0.25 * z
        parts = (
            Part("box", (0.7 * x, 0.75 * y, z - bar), (0, 0, bar)),
            Part("box", (1.3 * x, y, bar), (0, 0, bar - z)),
        )
        return Shape(parts, parts, (1.3 * x, y, z), HALF)
    if name == "ell":
        # Seen from the side: a foot as long as the whole, and a shank at one end.
        foot, shank = 0.65 * z, 0.4 * x
        parts = (
            Part("box", (1.3 * x, 0.85 * y, foot), (0, 0, foot - z)),
            Part("box", (shank, 0.85 * y, z - foot), (shank - 1.3 * x, 0, foot)),
        )
        return Shape(parts, parts, (1.3 * x, 0.85 * y, z), HALF)
    raise KeyError(name)


@dataclass(frozen=True)
class Forms:
    """All shapes of one object as arrays of the engine, (1 + shapes, ...). The object's own shape is the first.

    kind, size, place, quat, radius and box describe geoms, (forms, parts, ...). `solid` is True for parts that exist.
    centre, turn and inertia are those of a body of one material with a mass of 1 kg.
    """

    cut: bool
    kind: np.ndarray
    size: np.ndarray
    place: np.ndarray
    quat: np.ndarray
    radius: np.ndarray
    box: np.ndarray
    solid: np.ndarray
    centre: np.ndarray
    turn: np.ndarray
    inertia: np.ndarray
    half_extents_m: np.ndarray
    yaw_symmetry_rad: np.ndarray

    def parts(self, form: int) -> list[int]:
        return np.flatnonzero(self.solid[form]).tolist()


@lru_cache
def forms_of(thing: SceneObject, *, cut: bool = False) -> Forms:
    if thing.pool:
        shapes = [Shape(shape.parts, shape.parts, shape.half_extents_m, shape.yaw_symmetry_rad) for shape in thing.pool]
    else:
        own = shape_of(thing.shape, thing)
        shapes = [
            Shape(own.whole, own.cut, own.half_extents_m, thing.yaw_symmetry_rad),
            *(shape_of(name, thing) for name in SHAPES),
        ]
    most = max(len(shape.whole) for shape in shapes) if thing.pool else MOST_PARTS
    weighed = [_compiled(shape.whole) for shape in shapes]
    visible = [_compiled(shape.cut) for shape in shapes] if cut else weighed
    return Forms(
        cut=cut,
        kind=_stacked([model.geom_type for model in visible], most),
        size=_stacked([model.geom_size for model in visible], most),
        place=_stacked([model.geom_pos for model in visible], most),
        quat=_stacked([model.geom_quat for model in visible], most),
        radius=_stacked([model.geom_rbound for model in visible], most),
        box=_stacked([model.geom_aabb for model in visible], most),
        solid=np.array([np.arange(most) < model.ngeom for model in visible]),
        centre=np.stack([model.body_ipos[1] for model in weighed]),
        turn=np.stack([model.body_iquat[1] for model in weighed]),
        inertia=np.stack([model.body_inertia[1] / model.body_mass[1] for model in weighed]),
        half_extents_m=np.array([shape.half_extents_m for shape in shapes]),
        yaw_symmetry_rad=np.array([shape.yaw_symmetry_rad for shape in shapes]),
    )


def _compiled(parts: tuple[Part, ...]) -> mujoco.MjModel:
    """A compiled model of the parts. Masses and bounds come from the engine and not from separate formulas."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    for part in parts:
        body.add_geom(type=GEOM_TYPES[part.kind], size=part.size, pos=part.at, quat=part.quat)
    return spec.compile()


def _stacked(arrays: list[np.ndarray], most: int) -> np.ndarray:
    """(forms, parts, ...). A missing part repeats the first one and is switched off."""
    return np.stack([np.concatenate([values, np.repeat(values[:1], most - len(values), 0)]) for values in arrays])


def form_of(draw_shape: np.ndarray) -> np.ndarray:
    """(n,) index into Forms for the draw's `object_shape`."""
    return np.round(draw_shape).astype(int) + 1


def product_of(thing: SceneObject, mix: np.ndarray) -> np.ndarray:
    """(n,) index into the pool of a thing for the draw's `product_mix`."""
    return np.minimum((mix * len(thing.pool)).astype(int), len(thing.pool) - 1)


def drawn_form(thing: SceneObject, drawn: Mapping[str, np.ndarray]) -> np.ndarray:
    """(n,) index into Forms for the columns of `row_columns`."""
    return product_of(thing, drawn["product_mix"]) if thing.pool else form_of(drawn["object_shape"])


def row_columns(draw: Mapping[str, np.ndarray], thing: str, count: int) -> dict[str, np.ndarray]:
    """The columns that determine the extents of a thing; `thing` is "" for the first thing of a task."""
    nominal = {"object_shape": -1.0, "object_size_scale": 1.0, "product_mix": 0.0}
    if not thing:
        return {column: draw[column] for column in nominal}
    return {column: draw.get(f"{column}.{thing}", np.full(count, value)) for column, value in nominal.items()}


def half_extents_m(thing: SceneObject, draw: Mapping[str, np.ndarray]) -> np.ndarray:
    """(n, 3) half extents of the box around the drawn object."""
    if thing.pool:
        return (
            forms_of(thing).half_extents_m[product_of(thing, draw["product_mix"])] * draw["object_size_scale"][:, None]
        )
    shape = draw["object_shape"]
    own = thing.soft or not (shape != OWN).any()
    extents = np.array(thing.half_extents_m) if own else forms_of(thing).half_extents_m[form_of(shape)]
    return extents * draw["object_size_scale"][:, None]


def name_of(thing: SceneObject, draw_shape: float) -> str:
    """Name of the drawn shape in an instruction."""
    return thing.name if round(draw_shape) == OWN else SHAPES[round(draw_shape)]
