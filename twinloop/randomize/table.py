"""The one table of parameters.

Validation, sampling, application, the columns stored with each episode, coverage and the reference page of
the docs all come from it. New rows go at the end of their group's module; a row's place fixes its dimension
of the Sobol sequence, so the draws of the rows before it stay as they were.
"""

from twinloop.randomize.parameter import Parameter
from twinloop.randomize.physics import PHYSICS
from twinloop.randomize.visual import VISUAL

TABLE: tuple[Parameter, ...] = VISUAL + PHYSICS
BY_NAME: dict[str, Parameter] = {parameter.name: parameter for parameter in TABLE}
COLUMNS: tuple[str, ...] = tuple(column for parameter in TABLE for column in parameter.columns)
