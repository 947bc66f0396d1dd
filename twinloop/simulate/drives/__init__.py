"""Servo models: from a logged command to joint torque, as arrays over many simulations."""

from twinloop.randomize.fit_variable import FitVariable
from twinloop.simulate.drives.servo import DRIVES, ServoModel

__all__ = ["DRIVES", "FitVariable", "ServoModel"]
