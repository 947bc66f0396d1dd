"""Rows of the environment gap for clutter. `twin/clutter.py` reads them."""

from twinloop.randomize.parameter import Parameter
from twinloop.randomize.uses import CellTruth
from twinloop.twin.clutter import THINGS

ENVIRONMENT = (
    Parameter("clutter_count", "environment", "environment", "things", "how many things stand about on the table",
              0.0, (0.0, 4.0), "engineering estimate: a desk in use, as much as finds room", (0.0, float(len(THINGS))),
              builds=("clutter",),
              truth=CellTruth(float(len(THINGS)))),
    Parameter("clutter_place_cm", "environment", "environment", "cm", "how far each of them is from its usual place",
              0.0, (-6.0, 6.0), "engineering estimate: things are put down anywhere near", (-30.0, 30.0),
              tuple(f"{name}_{axis}" for name in THINGS for axis in "xy"), needs="clutter_count",
              truth=CellTruth((-6.0, 6.0), nominal=(-6.0, 6.0))),
)  # fmt: skip
