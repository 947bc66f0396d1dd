"""The objects that a rehearsal cell can use. Each episode uses one of them."""

from dataclasses import dataclass, replace

from twinloop.config.fields import number, word
from twinloop.twin.objects import OBJECTS, Frame, Part, SceneObject, Triple

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

    @property
    def object(self) -> SceneObject:
        return replace(scaled(OBJECTS[self.kind], size=self.size_scale), mass_kg=self.mass_kg)


def scaled(kind: SceneObject, *, size: float = 1.0, mass: float = 1.0) -> SceneObject:
    """Return the object in another size, with another mass."""

    def times(triple: Triple) -> Triple:
        x, y, z = triple
        return x * size, y * size, z * size

    def part(one: Part) -> Part:
        return replace(one, size=times(one.size), at=times(one.at))

    def frame(one: Frame) -> Frame:
        return replace(one, at=times(one.at))

    return replace(
        kind,
        half_extents_m=times(kind.half_extents_m),
        mass_kg=kind.mass_kg * mass,
        parts=tuple(map(part, kind.parts)),
        frames=tuple(map(frame, kind.frames)),
    )


NOMINAL = (CellObject("cube"),)


def pool_at(magnitude: float) -> tuple[CellObject, ...]:
    """Return the pool at a magnitude: only a cube at 0, and more of the other kinds with increasing magnitude."""
    others = [kind for kind in OBJECTS if kind != "cube"]
    return NOMINAL + tuple(map(CellObject, others[: round(magnitude * len(others))]))
