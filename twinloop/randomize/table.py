"""The parameter table.

Validation, sampling, application, the columns stored with each episode, coverage and the reference page of the docs are
all derived from it. The position of a built-in row is its dimension of the Sobol sequence. So new modules and new rows
go at the end, and the draws of every config that does not name them stay the same.

Packages add rows by entry points of `twinloop.parameters`. These rows come last. Each has its own sequence
(`randomize/draw.py`), so that installing one package never changes the draws of another.
"""

from twinloop.plugins import instance_of, load_plugins
from twinloop.randomize.actuation import ACTUATION
from twinloop.randomize.appearance import APPEARANCE
from twinloop.randomize.bystander import BYSTANDER
from twinloop.randomize.disturbance import DISTURBANCE
from twinloop.randomize.environment import ENVIRONMENT
from twinloop.randomize.human import HUMAN
from twinloop.randomize.latency import LATENCY
from twinloop.randomize.legs import LEG_ROWS
from twinloop.randomize.matter import MATTER
from twinloop.randomize.optics import OPTICS
from twinloop.randomize.parameter import Morphology, Parameter
from twinloop.randomize.physics import PHYSICS
from twinloop.randomize.scene import SCENE
from twinloop.randomize.sensing import JOINT_SENSING, SENSING
from twinloop.randomize.servo import SERVO
from twinloop.randomize.surroundings import SURROUNDINGS
from twinloop.randomize.touch import TOUCH
from twinloop.randomize.visual import VISUAL
from twinloop.randomize.wheels import WHEEL_ROWS

BUILTIN: tuple[Parameter, ...] = (
    *VISUAL, *PHYSICS, *ACTUATION, *LATENCY, *SENSING, *HUMAN, *ENVIRONMENT, *APPEARANCE,
    *MATTER, *TOUCH, *SURROUNDINGS, *BYSTANDER, *OPTICS, *DISTURBANCE, *SCENE, *SERVO, *LEG_ROWS,
    *WHEEL_ROWS, *JOINT_SENSING,
)  # fmt: skip
PLUGINS: tuple[Parameter, ...] = tuple(
    load_plugins(
        "twinloop.parameters",
        instance_of(Parameter),
        "a twinloop.Parameter",
        builtin=[parameter.name for parameter in BUILTIN],
    ).values()
)
TABLE: tuple[Parameter, ...] = (*BUILTIN, *PLUGINS)


class RowsByName(dict[str, Parameter]):
    """Rows by name. A row that acts on things or joints, or has elements, is also known by its name with that of one of
    them: `object_mass_kg.mug`, `servo_coulomb_nm.elbow_flex`, `tracker_bias_mm.x`."""

    def __missing__(self, name: str) -> Parameter:
        row, dot, part = name.partition(".")
        if dot and row in self and (self[row].of_thing or self[row].of_joint or part in self[row].elements):
            return self[row]
        raise KeyError(name)


BY_NAME = RowsByName({parameter.name: parameter for parameter in TABLE})
COLUMNS: tuple[str, ...] = tuple(column for parameter in TABLE for column in parameter.columns)
APPLIED: tuple[Parameter, ...] = tuple(sorted(TABLE, key=lambda parameter: not parameter.early))
"""In the order in which they are applied to a simulation."""

ROBOTS: dict[Morphology, str] = {"arm": "arms", "legs": "legged robots", "wheels": "robots on wheels"}


def rows_of_other_robots(kind: Morphology) -> dict[str, str]:
    """Row -> why it has no effect on a robot of this kind."""
    return {
        row.name: f"applies to {' and '.join(ROBOTS[robot] for robot in row.robots)}; remove it"
        for row in TABLE
        if kind not in row.robots
    }
