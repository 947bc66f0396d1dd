"""The pool: the objects that lie about in a cell, each an individual with its own mass and size."""

from dataclasses import dataclass, replace

from twinloop.config.section import Section
from twinloop.errors import nearest
from twinloop.twin.objects import OBJECTS, SceneObject

MAX_OBJECTS = 50
RIGID_PA = 6e5
"""Of things one would call hard. Harder ones chatter at the cell's time step."""


@dataclass(frozen=True)
class CellObject:
    """kind: what a lab would call it. mass_kg, size_scale: what it is."""

    kind: str
    mass_kg: float
    size_scale: float = 1.0

    def solid(self, *, mass_scale: float, size_scale: float) -> SceneObject:
        """Also a sponge is one body here: what it yields is the affair of the pressure in it, `stiffness_pa`."""
        thing, size = OBJECTS[self.kind], self.size_scale * size_scale
        x, y, z = thing.half_extents_m
        mass_kg = self.mass_kg * mass_scale
        return replace(thing, half_extents_m=(x * size, y * size, z * size), mass_kg=mass_kg, young_kpa=0.0)

    @property
    def stiffness_pa(self) -> float:
        """The pressure at its centre when it is squeezed flat."""
        thing = OBJECTS[self.kind]
        return 1000 * thing.young_kpa if thing.soft else RIGID_PA


def plain(kind: str) -> CellObject:
    return CellObject(kind, OBJECTS[kind].mass_kg)


NOMINAL = (plain("cube"),)


def pool_at(magnitude: float) -> tuple[CellObject, ...]:
    """A cube alone at 0, then more and more other kinds beside it."""
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
