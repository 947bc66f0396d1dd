"""The pool: the objects of a rehearsal cell, each with its own mass and size."""

from dataclasses import dataclass, replace

from twinloop.config.section import Section
from twinloop.errors import nearest
from twinloop.twin.objects import OBJECTS, SceneObject

MAX_OBJECTS = 50
RIGID_PA = 6e5
"""Stiffness of rigid objects. Stiffer contacts chatter at the cell's time step."""


@dataclass(frozen=True)
class CellObject:
    """One object of the pool: its kind (as named in the conditions), true mass, and size relative to the kind."""

    kind: str
    mass_kg: float
    size_scale: float = 1.0

    def solid(self, *, mass_scale: float, size_scale: float) -> SceneObject:
        """Return the scaled object as one rigid body. A soft object is compliant through `stiffness_pa` only."""
        thing, size = OBJECTS[self.kind], self.size_scale * size_scale
        x, y, z = thing.half_extents_m
        mass_kg = self.mass_kg * mass_scale
        return replace(thing, half_extents_m=(x * size, y * size, z * size), mass_kg=mass_kg, young_kpa=0.0)

    @property
    def stiffness_pa(self) -> float:
        """The pressure at the object's centre when it is squeezed flat."""
        thing = OBJECTS[self.kind]
        return 1000 * thing.young_kpa if thing.soft else RIGID_PA


def plain(kind: str) -> CellObject:
    return CellObject(kind, OBJECTS[kind].mass_kg)


NOMINAL = (plain("cube"),)


def pool_at(magnitude: float) -> tuple[CellObject, ...]:
    """Return the pool at a magnitude: only a cube at 0, and more of the other kinds with increasing magnitude."""
    others = [kind for kind in OBJECTS if kind != "cube"]
    return NOMINAL + tuple(map(plain, others[: round(magnitude * len(others))]))


def read_pool(section: Section) -> tuple[CellObject, ...]:
    value = section.raw("pool")
    if not isinstance(value, list) or not 0 < len(value) <= MAX_OBJECTS:
        raise section.error("pool", f"is {value!r}; a list of 1 to {MAX_OBJECTS} objects was expected")
    return tuple(_item(section, index, each) for index, each in enumerate(value))


def _item(section: Section, index: int, value: object) -> CellObject:
    inner = section.item("pool", index, {"kind": value} if isinstance(value, str) else value)
    kind = inner.text("kind", "cube")
    if kind not in OBJECTS:
        raise inner.error("kind", f"is {kind!r}; {nearest(kind, OBJECTS)}")
    item = CellObject(
        kind=kind,
        mass_kg=inner.number("mass_kg", OBJECTS[kind].mass_kg, low=0.001, high=5.0),
        size_scale=inner.number("size_scale", 1.0, low=0.3, high=2.0),
    )
    inner.finish()
    return item
