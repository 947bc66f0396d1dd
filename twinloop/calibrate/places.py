"""Places: numbers of a compiled model that are set from a constant of a log or from a fit variable."""

from dataclasses import dataclass

import mujoco

from twinloop.calibrate.bench_file import ParameterFile, PlaceFile, Refusal
from twinloop.errors import nearest
from twinloop.simulate.drives import FitVariable

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


def fit_variable(file: ParameterFile, name: str) -> FitVariable:
    """The fit variable of a number of the model."""
    return FitVariable(
        name=name,
        unit=file.unit,
        value=(file.low + file.high) / 2 if file.value is None else file.value,
        low=file.low,
        high=file.high,
        reveals=file.reveals,
        log=file.log,
        row=file.row,
        row_scale=file.row_scale,
    )


def places_of(file: PlaceFile, model: mujoco.MjModel, refuse: Refusal) -> tuple[Place, ...]:
    """The places of one entry of a bench file."""
    kind = file.field.partition("_")[0]
    if not hasattr(model, file.field) or kind not in KINDS:
        expected = "a field of bodies, geoms, contact pairs, joints, dofs or actuators was expected"
        raise refuse("field", f"is {file.field!r}; {expected}")
    check_name(model, {"dof": "joint", "jnt": "joint"}.get(kind, kind), file.of, "of", refuse)
    shape = getattr(model, file.field).shape
    if len(shape) == 1:
        if file.element is not None:
            raise refuse("element", f"is {file.element!r}; {file.field} is one number, not several")
        return (Place(file.field, file.of, None, file.scale),)
    elements = file.element if isinstance(file.element, tuple) else (file.element or 0,)
    if max(elements) >= shape[1]:
        raise refuse("element", f"is {file.element!r}; numbers from 0 to {shape[1] - 1} were expected")
    return tuple(Place(file.field, file.of, element, file.scale) for element in elements)


def check_name(model: mujoco.MjModel, kind: str, name: str, key: str, refuse: Refusal) -> None:
    """Refuse a name that no element of this kind in the model has. The error suggests existing ones."""
    counts = {"body": model.nbody, "geom": model.ngeom, "pair": model.npair, "joint": model.njnt, "actuator": model.nu}
    names = [getattr(model, kind)(index).name for index in range(counts[kind])]
    if name not in names:
        raise refuse(key, f"names {kind} {name!r}, which the model does not have; {nearest(name, names)}")
