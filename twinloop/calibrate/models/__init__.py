"""Servo models: from a logged command to joint torque, as arrays over many simulations."""

from twinloop.calibrate.models.fit_variable import FitVariable
from twinloop.calibrate.models.servo import DRIVES, ServoModel

__all__ = ["DRIVES", "FitVariable", "ServoModel"]
