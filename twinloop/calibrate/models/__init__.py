"""Servo models: from a logged command to joint torque, as arrays over many simulations."""

from twinloop.calibrate.models.knob import Knob
from twinloop.calibrate.models.servo import DRIVES, ServoModel

__all__ = ["DRIVES", "Knob", "ServoModel"]
