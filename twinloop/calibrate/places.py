"""Places: numbers of a compiled model that are set from a constant of a log or from a fit variable."""

from dataclasses import dataclass

import mujoco

from twinloop.calibrate.models import Knob
from twinloop.config.section import Section
from twinloop.errors import nearest

KINDS = ("body", "geom", "pair", "dof", "jnt", "actuator")


@dataclass(frozen=True)
class Place:
    """One number of a compiled model.

    Attributes:
        field: field of `MjModel`, such as `geom_friction`.
        of: name of the body, geom, contact pair, joint or actuator.
        element: which element of its row; None if the field is one number.
        scale: factor between the value and the number that is written.
    """

    field: str
    of: str
    element: int | None
    scale: float = 1.0


def read_parameter(section: Section, name: str, model: mujoco.MjModel) -> tuple[Knob, tuple[Place, ...]]:
    """Read a fit variable that is a number of the model, and its places.

    Example: `{field: geom_friction, of: cube, element: 0, value: 0.5, low: 0.05, high: 2}`.
    """
    low, high = section.number("low", 0.0, low=-1e9, high=1e9), section.number("high", 0.0, low=-1e9, high=1e9)
    if not low < high:
        raise section.error("low", f"and high are {low:g} and {high:g}; bounds are needed, the smaller one first")
    knob = Knob(
        name=name,
        unit=section.text("unit", "1"),
        value=section.number("value", (low + high) / 2, low=low, high=high),
        low=low,
        high=high,
        reveals=section.text("reveals", "motion that this number changes"),
        log=section.flag("log", False),
        row=section.text("row", ""),
        row_scale=section.number("row_scale", 1.0, low=-1e9, high=1e9),
    )
    if knob.log and knob.low <= 0:
        raise section.error("low", f"is {knob.low:g}; a number searched by its logarithm must stay above 0")
    places = _read_place(section, model)
    section.finish()
    return knob, places


def read_places(section: Section, name: str, model: mujoco.MjModel) -> tuple[Place, ...]:
    """Read the places of one constant: one entry or a list of entries."""
    given = section.raw(name)
    items = given if isinstance(given, list) else [given]
    places = []
    for index, item in enumerate(items):
        entry = section.item(name, index, item) if isinstance(given, list) else section.section(name)
        places += _read_place(entry, model)
        entry.finish()
    return tuple(places)


def _read_place(section: Section, model: mujoco.MjModel) -> tuple[Place, ...]:
    """Read the places of one entry. `element` is a number, or a list of numbers that all get the value."""
    field = section.text("field", "")
    kind = field.partition("_")[0]
    if not hasattr(model, field) or kind not in ("body", "geom", "pair", "dof", "jnt", "actuator"):
        said = f"is {field!r}; a field of bodies, geoms, contact pairs, joints, dofs or actuators was expected"
        raise section.error("field", said)
    of = section.text("of", "")
    named(section, "of", model, {"dof": "joint", "jnt": "joint"}.get(kind, kind), of)
    shape, scale = getattr(model, field).shape, section.number("scale", 1.0, low=-1e9, high=1e9)
    given = section.raw("element")
    if len(shape) == 1:
        if given is not None:
            raise section.error("element", f"is {given!r}; {field} is one number, not several")
        return (Place(field, of, None, scale),)
    elements = given if isinstance(given, list) else [0 if given is None else given]
    for element in elements:
        if isinstance(element, bool) or not isinstance(element, int) or not 0 <= element < shape[1]:
            raise section.error("element", f"is {given!r}; numbers from 0 to {shape[1] - 1} were expected")
    return tuple(Place(field, of, element, scale) for element in elements)


def named(section: Section, key: str, model: mujoco.MjModel, kind: str, name: str) -> int:
    """The id of a named element of the model. The error for an unknown name suggests existing ones."""
    counts = {"body": model.nbody, "geom": model.ngeom, "pair": model.npair, "joint": model.njnt, "actuator": model.nu}
    names = [getattr(model, kind)(index).name for index in range(counts[kind])]
    if name not in names:
        raise section.error(key, f"names {kind} {name!r}, which the model does not have; {nearest(name, names)}")
    return names.index(name)
