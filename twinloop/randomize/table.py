"""The one table of parameters.

Validation, sampling, application, the columns stored with each episode, coverage and the reference page of
the docs all come from it. A row's place fixes its dimension of the Sobol sequence: new rows go to the very
end, so that the draws of the rows before them stay as they were.
"""

from twinloop.randomize.appearance import APPEARANCE
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.physics import PHYSICS
from twinloop.randomize.visual import VISUAL

TABLE: tuple[Parameter, ...] = VISUAL + PHYSICS + APPEARANCE
BY_NAME: dict[str, Parameter] = {parameter.name: parameter for parameter in TABLE}
COLUMNS: tuple[str, ...] = tuple(column for parameter in TABLE for column in parameter.columns)
