"""The one table of parameters.

Validation, sampling, application, the columns stored with each episode, coverage and the reference page of
the docs all come from it. A row's place fixes its dimension of the sequence that is drawn from, so new modules and
new rows go at the end: then the draws of every config that does not name them stay as they were.
"""

from twinloop.randomize.actuation import ACTUATION
from twinloop.randomize.appearance import APPEARANCE
from twinloop.randomize.bystander import BYSTANDER
from twinloop.randomize.disturbance import DISTURBANCE
from twinloop.randomize.environment import ENVIRONMENT
from twinloop.randomize.human import HUMAN
from twinloop.randomize.latency import LATENCY
from twinloop.randomize.matter import MATTER
from twinloop.randomize.optics import OPTICS
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.physics import PHYSICS
from twinloop.randomize.sensing import SENSING
from twinloop.randomize.surroundings import SURROUNDINGS
from twinloop.randomize.touch import TOUCH
from twinloop.randomize.visual import VISUAL

TABLE: tuple[Parameter, ...] = (
    *VISUAL, *PHYSICS, *ACTUATION, *LATENCY, *SENSING, *HUMAN, *ENVIRONMENT, *APPEARANCE,
    *MATTER, *TOUCH, *SURROUNDINGS, *BYSTANDER, *OPTICS, *DISTURBANCE,
)  # fmt: skip
BY_NAME: dict[str, Parameter] = {parameter.name: parameter for parameter in TABLE}
COLUMNS: tuple[str, ...] = tuple(column for parameter in TABLE for column in parameter.columns)
APPLIED: tuple[Parameter, ...] = tuple(sorted(TABLE, key=lambda parameter: not parameter.early))
"""In the order in which they are applied to a simulation."""
