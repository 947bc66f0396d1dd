"""Rows of the environment gap that need furniture of their own: clutter. `twin/clutter.py` reads them."""

from twinloop.randomize.parameter import Parameter
from twinloop.twin.clutter import THINGS

ENVIRONMENT = (
    Parameter("clutter_count", "environment", "environment", "things", "how many things stand about on the table",
              0.0, (0.0, 4.0), "a desk that is used", (0.0, float(len(THINGS)))),
    Parameter("clutter_place_cm", "environment", "environment", "cm", "how far each of them is from its usual place",
              0.0, (-6.0, 6.0), "a desk that is used", (-30.0, 30.0),
              tuple(f"{name}_{axis}" for name in THINGS for axis in "xy")),
)  # fmt: skip
