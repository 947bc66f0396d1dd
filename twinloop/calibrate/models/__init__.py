"""What stands between a logged command and a joint's torque, as arrays over many simulations at once."""

from twinloop.calibrate.models.knob import Knob
from twinloop.calibrate.models.servo import DRIVES, ServoModel

__all__ = ["DRIVES", "Knob", "ServoModel"]
