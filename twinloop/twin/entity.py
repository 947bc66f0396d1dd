"""Entities: what a scene consists of besides robot and table. Each has a name, a pose and perhaps a joint.

The recorded environment state, its element names, labels, checks and dataset columns are derived from a scene's list of
entities. Names of entities are the names of their bodies in the model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.twin.objects import SceneObject

POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
RGBA = tuple[float, float, float, float]
Draw = Mapping[str, np.ndarray]

COLOURS: dict[str, RGBA] = {
    "red": (0.82, 0.16, 0.14, 1.0),
    "green": (0.18, 0.62, 0.28, 1.0),
    "blue": (0.16, 0.36, 0.82, 1.0),
    "yellow": (0.92, 0.78, 0.16, 1.0),
    "purple": (0.5, 0.24, 0.66, 1.0),
    "orange": (0.86, 0.34, 0.16, 1.0),
    "black": (0.12, 0.12, 0.14, 1.0),
    "white": (0.92, 0.92, 0.9, 1.0),
}


@dataclass(frozen=True)
class Thing:
    """A movable body, rigid or soft.

    Attributes:
        object: shape, size and mass.
        colour: a word of COLOURS for instructions; "" for the object's own colour.
        grain: one of many alike that are poured. Rows of the parameter table do not act on it.
    """

    name: str
    object: SceneObject
    colour: str = ""
    grain: bool = False

    @property
    def rgba(self) -> RGBA:
        return COLOURS[self.colour] if self.colour else self.object.rgba

    @property
    def words(self) -> str:
        """How an instruction refers to it."""
        return f"{self.colour} {self.object.name}".strip()

    @property
    def state_names(self) -> tuple[str, ...]:
        return POSE


@dataclass(frozen=True)
class FixtureJoint:
    """The joint of a fixture's moving part.

    Attributes:
        name: what its coordinate is called, e.g. `opening`.
        unit: `m` for a slide, `rad` for a hinge.
        limits: lowest and highest coordinate.
    """

    name: str
    unit: str
    limits: tuple[float, float]


@dataclass(frozen=True)
class Fixture:
    """A body that stands where an episode puts it: furniture, perhaps with a moving part; or a zone; or a person.

    Attributes:
        furnish: adds geoms, sites and the moving part to the fixture's body. The name of a site, or of the joint's
            moving part, begins with the name of the fixture and a dot.
        joint: the joint of the moving part, named `<fixture>.<joint>` in the model.
        person: whether it is part of a person, whose contacts with the robot are limited.
        path: (draw, seconds since the start) -> (n, 7), for a fixture that moves by itself.
        words: how an instruction refers to it.
        footprint_m: radius of the area on the table that other things must not start in.
        front_m: distance from its origin to the handle in front of it.
        solid: False for a zone, which has no contacts.
        rows: rows of the parameter table that act on fixtures of this kind only.
    """

    name: str
    furnish: Callable[[mujoco.MjSpec, mujoco.MjsBody], None]
    joint: FixtureJoint | None = None
    person: bool = False
    path: Callable[[Draw, np.ndarray], np.ndarray] | None = None
    words: str = ""
    footprint_m: float = 0.0
    front_m: float = 0.0
    solid: bool = True
    rows: tuple[str, ...] = ()

    @property
    def state_names(self) -> tuple[str, ...]:
        return (*POSE, self.joint.name) if self.joint else POSE


Entity = Thing | Fixture


def zone(
    name: str,
    *,
    radius_m: float = 0.05,
    half_extents_m: tuple[float, float] | None = None,
    rgba: RGBA = (0.2, 0.65, 0.35, 0.6),
    words: str = "the target zone",
) -> Fixture:
    """A flat area on the table without contacts: a disc, or a rectangle if `half_extents_m` is given."""

    def furnish(_spec: mujoco.MjSpec, body: mujoco.MjsBody) -> None:
        disc, box = mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_BOX
        kind, size = (disc, [radius_m, 0.0005, 0]) if half_extents_m is None else (box, [*half_extents_m, 0.0005])
        body.add_geom(name=name, type=kind, size=size, rgba=rgba, contype=0, conaffinity=0)

    return Fixture(name, furnish, words=words, solid=False)


def state_names(entities: tuple[Entity, ...]) -> tuple[str, ...]:
    """Names of the elements of the environment state, e.g. `red_cube.x`."""
    return tuple(f"{entity.name}.{part}" for entity in entities for part in entity.state_names)
