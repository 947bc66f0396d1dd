"""Rows of the servo law: every quantity of the drive model in `simulate/drives` that calibration can fit.

Each quantity is declared once, as a `FitVariable` and as a row `servo_<name>`. A row may be given for one joint
(`elbow_flex.servo_coulomb_nm`) or for all driven joints (`servo_coulomb_nm`). Its nominal value is that of the robot's
drive: what a patch or the config says, else what the robot declares, else what the actuators of its model have. The
nominal in this table is the start of a fit on a bench that says nothing else. Rows have an effect on any robot: a
config that names one is simulated with the servo law in place of the engine's position actuators.
"""

from dataclasses import dataclass

from twinloop.randomize.fit_variable import FitVariable
from twinloop.randomize.parameter import Gap, Parameter
from twinloop.randomize.uses import Picture

PREFIX = "servo_"

STEPS = "quick reversals of the goal, or steps"
SLOW = "slow motions that reverse often, across the working range"
STICK = "creeping starts from rest, and slow reversals"
HEAVY = "the same slow motions with different loads, lifted and lowered"
RESTS = "rest under gravity in several poses, approached from both sides"

NOTHING_HELD = -10.0
"""Value of `held_rad` for jaws that close on nothing."""

BAM = "Duclusaud et al., Extended Friction Models for Servo Actuators, ICRA 2025"
STS3215 = "Feetech STS3215 data sheet"
SO101_FITS = "fits to SO-101 teleoperation (benchmarks/reality.py)"
XL330_FITS = "fits to an XL330 pendulum (benchmarks/reality.py)"


@dataclass(frozen=True)
class Quantity:
    """A quantity of a servo: how it is fitted, and its row of the table."""

    fit: FitVariable
    row: Parameter


def _quantity(
    name: str, unit: str, touches: str, value: float, bounds: tuple[float, float], reveals: str, *,
    sensible: tuple[float, float], source: str, plausible: tuple[float, float], gap: Gap = "actuation",
    log: bool = False, shared: str = "", scale: float = 1.0, needs: str = "", look: str = "",
) -> Quantity:  # fmt: skip
    """Declare a quantity. `shared`, `scale`: the row that is the same for all joints, and the factor to its unit."""
    fit = FitVariable(name, unit, value, *bounds, reveals, log=log, row=shared, row_scale=scale)
    # Diagnosis has rows of all joints for the same, relative to the robot's own values.
    row = Parameter(
        PREFIX + name, "actuation", gap, unit, touches, value, sensible, source, plausible, of_joint=True,
        realistic=False, reach=0.0, needs=needs, picture=Picture(look, scene="robot: so101"),
    )  # fmt: skip
    return Quantity(fit, row)


_FRICTION = (
    _quantity("coulomb_nm", "N·m", "dry friction of a joint's gears, the same at every speed and load", 0.02,
              (0.0, 1.0), SLOW, sensible=(0.0, 0.2), source=SO101_FITS, plausible=(0.0, 50.0),
              shared="joint_friction_nm"),
    _quantity("viscous_nms_rad", "N·m·s/rad", "friction of a joint that grows with its speed", 0.005, (0.0, 2.0),
              "fast motion with the motor off, or at several speeds", sensible=(0.0, 0.5), source=XL330_FITS,
              plausible=(0.0, 500.0), shared="joint_damping_nms_rad"),
    _quantity("stribeck_nm", "N·m", "further dry friction near standstill", 0.0, (0.0, 0.5), STICK,
              sensible=(0.0, 0.3), source=SO101_FITS, plausible=(0.0, 50.0)),
    _quantity("stribeck_speed_rad_s", "rad/s", "speed at which friction near standstill has faded", 0.3, (0.05, 5.0),
              STICK, sensible=(0.05, 1.0), source=BAM, plausible=(1e-3, 50.0), log=True,
              needs=f"{PREFIX}stribeck_nm"),
    _quantity("load_motor", "1", "friction per N·m of motor torque", 0.0, (0.0, 0.9), HEAVY, sensible=(0.0, 0.3),
              source=BAM, plausible=(0.0, 0.95)),
    _quantity("load_outside", "1", "friction per N·m of load from outside", 0.0, (0.0, 0.9), HEAVY,
              sensible=(0.0, 0.5), source=BAM, plausible=(0.0, 0.95)),
    _quantity("stribeck_load_motor", "1", "further friction near standstill per N·m of motor torque", 0.0, (0.0, 1.0),
              HEAVY, sensible=(0.0, 0.3), source=BAM, plausible=(0.0, 2.0)),
    _quantity("stribeck_load_outside", "1", "further friction near standstill per N·m of load from outside", 0.0,
              (0.0, 1.0), HEAVY, sensible=(0.0, 0.5), source=BAM, plausible=(0.0, 2.0)),
)  # fmt: skip

_COMMON = (
    _quantity("armature_kgm2", "kg·m²", "inertia of a joint's motor and gears at the joint", 0.002, (1e-5, 0.2),
              "fast accelerations: steps, quick sines, a free swing", sensible=(0.002, 0.05), source=SO101_FITS,
              plausible=(1e-6, 20.0), log=True),
    _quantity("delay_ms", "ms", "dead time between a command and a joint's servo", 0.0, (0.0, 250.0), STEPS,
              sensible=(0.0, 60.0), source=SO101_FITS, plausible=(0.0, 500.0), gap="latency",
              shared="action_delay_ms"),
    _quantity("lag_ms", "ms", "time constant with which a servo smooths its commands", 0.0, (0.0, 250.0), STEPS,
              sensible=(0.0, 80.0), source=SO101_FITS, plausible=(0.0, 1000.0), gap="latency"),
    _quantity("backlash_rad", "rad", "play of a joint's gear", 0.0, (0.0, 0.1), "slow reversals under changing load",
              sensible=(0.0, 0.02), source=STS3215, plausible=(0.0, 0.5), shared="backlash_mrad", scale=1000.0),
    _quantity("encoder_bias_rad", "rad", "how far a joint's encoder reads too high", 0.0, (-0.2, 0.2), RESTS,
              sensible=(-0.05, 0.05), source=SO101_FITS, plausible=(-0.5, 0.5), gap="sensing",
              shared="encoder_bias_mrad", scale=1000.0, look="tracking"),
)  # fmt: skip

_POSITION = (
    _quantity("stiffness_nm_rad", "N·m/rad", "torque of a servo per rad of error", 15.0, (0.3, 300.0),
              "rest in poses with different gravity load", sensible=(8.0, 30.0), source=SO101_FITS,
              plausible=(0.01, 1e6), log=True),
    _quantity("braking_nms_rad", "N·m·s/rad", "torque that a servo loses per rad/s", 1.0, (0.01, 30.0),
              "fast motion, steps", sensible=(0.3, 3.0), source=SO101_FITS, plausible=(0.0, 1e5), log=True),
    _quantity("torque_limit_nm", "N·m", "largest torque of a servo", 3.0, (0.05, 10.0),
              "steps larger than the servo can follow, or a stall", sensible=(1.5, 3.0), source=STS3215,
              plausible=(0.01, 1e5), log=True),
    _quantity("no_load_speed_rad_s", "rad/s", "speed at which a servo has no torque left", 6.0, (0.5, 60.0),
              "steps so large that the servo reaches its top speed", sensible=(2.0, 8.0), source=STS3215,
              plausible=(0.05, 1e6), log=True),
    _quantity("deadband_rad", "rad", "error within which a servo gives no torque", 0.0, (0.0, 0.1),
              "many small steps, and rest after them", sensible=(0.0, 0.03), source=STS3215, plausible=(0.0, 0.5)),
)  # fmt: skip

_VOLTAGE = (
    _quantity("torque_constant_nm_a", "N·m/A", "torque of a motor per ampere, at the joint", 0.5, (0.02, 5.0),
              "holding a load, and fast free motion", sensible=(0.3, 0.8), source=XL330_FITS, plausible=(1e-3, 100.0),
              log=True),
    _quantity("resistance_ohm", "Ω", "resistance of a motor's winding", 4.0, (0.3, 60.0),
              "holding a load: the error that a known torque needs", sensible=(2.0, 8.0), source=XL330_FITS,
              plausible=(0.01, 1000.0), log=True),
    _quantity("duty_limit", "1", "largest duty cycle of a servo", 1.0, (0.2, 1.0),
              "steps larger than the servo can follow", sensible=(0.5, 1.0), source="Dynamixel XL330 manual",
              plausible=(0.01, 1.0)),
    _quantity("sag", "1", "how far the supply drops at full duty", 0.0, (0.0, 2.0),
              "heavy loads held at several gains, up to full duty", sensible=(0.0, 1.0), source=XL330_FITS,
              plausible=(0.0, 10.0)),
)  # fmt: skip

FRICTION = tuple(quantity.fit for quantity in _FRICTION)
POSITION = tuple(quantity.fit for quantity in _POSITION)
VOLTAGE = tuple(quantity.fit for quantity in _VOLTAGE)
HELD = FitVariable("held_rad", "rad", NOTHING_HELD, NOTHING_HELD, 10.0, "closing on objects of every kind")
"""Where jaws of a log close on something. It says something about the objects of that log and nothing about the
drive, so it has no row and no patch sets it in a twin."""
_armature, _delay, _lag, _backlash, _bias = (quantity.fit for quantity in _COMMON)
COMMON = (*FRICTION, _armature, _delay, _lag, _backlash, HELD, _bias)

REPLACED = {quantity.fit.row: quantity.fit.name for quantity in (*_FRICTION, *_COMMON) if quantity.fit.row} | {
    "servo_stiffness_scale": "stiffness_nm_rad",
    "servo_damping_scale": "braking_nms_rad",
    "motor_strength_scale": "torque_limit_nm",
}
"""Row of all joints -> the quantity of each joint that says the same, only better. A patch that has fitted it for every
joint replaces the row."""

SERVO = tuple(quantity.row for quantity in (*_FRICTION, *_COMMON, *_POSITION, *_VOLTAGE))
"""The rows, at the end of the parameter table."""
