"""The pool: the objects of a rehearsal cell, each with its own mass and size."""

from dataclasses import dataclass, replace

from twinloop.config.fields import number, word
from twinloop.twin.objects import OBJECTS, SceneObject

MAX_OBJECTS = 50
RIGID_PA = 6e5
"""Stiffness of rigid objects. Stiffer contacts chatter at the cell's time step."""


@dataclass(frozen=True)
class CellObject:
    """One object of the pool: its kind (as named in the conditions), true mass, and size relative to the kind."""

    kind: str = word(words=tuple(OBJECTS), absent="cube", help="kind of the object")
    mass_kg: float = number(None, low=0.001, high=5.0, unit="kg", help="mass", otherwise="that of the kind")
    size_scale: float = number(1.0, low=0.3, high=2.0, help="size relative to the kind")

    def __post_init__(self) -> None:
        if self.mass_kg is None:
            object.__setattr__(self, "mass_kg", OBJECTS[self.kind].mass_kg)

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


NOMINAL = (CellObject("cube"),)


def pool_at(magnitude: float) -> tuple[CellObject, ...]:
    """Return the pool at a magnitude: only a cube at 0, and more of the other kinds with increasing magnitude."""
    others = [kind for kind in OBJECTS if kind != "cube"]
    return NOMINAL + tuple(map(CellObject, others[: round(magnitude * len(others))]))
