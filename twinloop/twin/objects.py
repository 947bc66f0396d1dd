"""The objects that a scene can name. Each is a primitive that a parallel gripper can pick."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import mujoco
import numpy as np

from twinloop.errors import UsageError, nearest

if TYPE_CHECKING:
    from twinloop.twin.meshes.mesh_body import MeshBody

GEOM_TYPES = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "ellipsoid": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
}


Triple = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True)
class Part:
    """A primitive of a compound object. Sizes are in metres, in MuJoCo's convention for its kind."""

    kind: str
    size: Triple
    at: Triple = (0.0, 0.0, 0.0)
    quat: Quaternion = (1.0, 0.0, 0.0, 0.0)
    rgba: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Frame:
    """A named place on an object, e.g. its handle. For a grip, z is the approach and y the closing direction."""

    name: str
    at: Triple
    quat: Quaternion = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class SceneObject:
    """An object. The gripper closes along its y axis.

    Attributes:
        half_extents_m: along x, y, z, at rest.
        yaw_symmetry_rad: rotation about the vertical after which the grasp is equivalent; 0 if any rotation is.
        young_kpa: Young's modulus of a soft object, which is a box; 0 for a rigid object.
        cloth: a soft object is a thin sheet across its y axis instead of a block.
        parts: primitives of a compound object, of one density; `shape` and `half_extents_m` then describe the box or
            cylinder around it.
        frames: named places on it.
        mesh: a user's mesh; `shape` and `half_extents_m` then describe the box around it.
        pool: products of which each episode draws one (row `product_mix`). The first stands for all of them here.
    """

    name: str
    shape: Literal["box", "cylinder", "capsule", "ellipsoid", "sphere"]
    half_extents_m: tuple[float, float, float]
    yaw_symmetry_rad: float
    mass_kg: float = 0.15
    rgba: tuple[float, float, float, float] = (0.86, 0.34, 0.16, 1.0)
    young_kpa: float = 0.0
    cloth: bool = False
    parts: tuple[Part, ...] = ()
    frames: tuple[Frame, ...] = ()
    mesh: "MeshBody | None" = None
    pool: tuple["SceneObject", ...] = ()

    @property
    def volume_m3(self) -> float:
        """Volume of the parts, counting overlaps twice as the engine does."""
        return sum(_volume_m3(part) for part in self.parts)

    @property
    def geom_size(self) -> tuple[float, float, float]:
        """Size of the MuJoCo geom of this shape."""
        x, _, z = self.half_extents_m
        if self.shape == "cylinder":
            return (x, z, 0)
        if self.shape == "capsule":
            return (x, z - x, 0)
        if self.shape == "sphere":
            return (x, 0, 0)
        return self.half_extents_m

    def narrowed(self, widest_m: float) -> "SceneObject":
        """The object, scaled down where the side on which a gripper closes is wider. Compounds and soft ones stay."""
        width_m = 2 * min(self.half_extents_m[:2])
        if width_m <= widest_m or self.parts or self.frames or self.soft:
            return self
        return self.scaled(widest_m / width_m)

    def scaled(self, scale: float) -> "SceneObject":
        """The object, of the same density, with all lengths scaled. Meshes and soft objects cannot be scaled."""
        assert self.mesh is None
        assert not self.soft
        parts = (replace(part, size=_times(scale, part.size), at=_times(scale, part.at)) for part in self.parts)
        return replace(
            self,
            half_extents_m=_times(scale, self.half_extents_m),
            mass_kg=scale**3 * self.mass_kg,
            parts=tuple(parts),
            frames=tuple(replace(frame, at=_times(scale, frame.at)) for frame in self.frames),
            pool=tuple(product.scaled(scale) for product in self.pool),
        )

    @property
    def words(self) -> str:
        """The name of a product in an instruction: its family, without the number of the variant."""
        return self.name.rstrip("0123456789").strip("_").replace("_", " ")

    @property
    def soft(self) -> bool:
        return self.young_kpa > 0

    @property
    def rolls(self) -> bool:
        """True for round objects, which need rolling friction to come to rest."""
        return self.shape != "box"


def _times(scale: float, triple: Triple) -> Triple:
    x, y, z = triple
    return scale * x, scale * y, scale * z


def _volume_m3(part: Part) -> float:
    a, b, c = part.size
    return {
        "box": 8 * a * b * c,
        "cylinder": 2 * np.pi * a * a * b,
        "capsule": np.pi * a * a * (2 * b + 4 / 3 * a),
        "ellipsoid": 4 / 3 * np.pi * a * b * c,
    }[part.kind]


QUARTER, HALF = np.pi / 2, np.pi


class Kinds(dict[str, SceneObject]):
    """Kinds of things by name. A task file that asks for another name gets the valid ones."""

    def __missing__(self, name: str) -> SceneObject:
        raise UsageError(f"no kind of thing is named {name!r}; {nearest(name, self)}")


OBJECTS = Kinds(
    (thing.name, thing)
    for thing in (
        SceneObject("cube", "box", (0.02, 0.02, 0.02), QUARTER),
        SceneObject("block", "box", (0.03, 0.018, 0.02), HALF, rgba=(0.2, 0.45, 0.75, 1.0)),
        SceneObject("tower", "box", (0.02, 0.02, 0.035), QUARTER, mass_kg=0.2, rgba=(0.3, 0.6, 0.35, 1.0)),
        SceneObject("can", "cylinder", (0.024, 0.024, 0.032), 0.0, mass_kg=0.2, rgba=(0.75, 0.2, 0.25, 1.0)),
        SceneObject("puck", "cylinder", (0.03, 0.03, 0.014), 0.0, mass_kg=0.1, rgba=(0.15, 0.15, 0.18, 1.0)),
        SceneObject("bottle", "cylinder", (0.02, 0.02, 0.065), 0.0, mass_kg=0.12, rgba=(0.2, 0.55, 0.5, 1.0)),
        SceneObject(
            "tag",
            "box",
            (0.02, 0.03, 0.05),
            HALF,
            mass_kg=0.08,
            rgba=(0.85, 0.6, 0.2, 1.0),
            parts=(
                Part("box", (0.02, 0.03, 0.008), (0.0, 0.0, -0.042)),
                Part("box", (0.006, 0.005, 0.03), (0.0, 0.025, -0.004)),
                Part("box", (0.006, 0.005, 0.03), (0.0, -0.025, -0.004)),
                Part("box", (0.006, 0.03, 0.012), (0.0, 0.0, 0.038)),
            ),
            frames=(Frame("eye", (0.0, 0.0, 0.0)),),
        ),
        SceneObject(
            "sponge", "box", (0.03, 0.022, 0.02), HALF, mass_kg=0.05, rgba=(0.9, 0.76, 0.2, 1.0), young_kpa=100
        ),
    )
)
