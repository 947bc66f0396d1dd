"""The table of truths: every quantity that a cell file may set for a rehearsal cell, and the gap that it belongs to.

A row with a counterpart in the parameter table has the same name, unit and (unless given) plausible range, so that a
config can vary the quantities that a diagnosis finds in a cell.
"""

from dataclasses import dataclass

from twinloop.randomize.parameter import GAPS, Gap
from twinloop.randomize.table import BY_NAME
from twinloop.twin.clutter import THINGS

Range = tuple[float, float]
"""(low, high) of a uniform distribution that is drawn from in each episode; low equals high for a fixed value."""


@dataclass(frozen=True)
class Truth:
    """One row of the table.

    Attributes:
        touches: what the quantity changes.
        nominal: range at magnitude 0 of its gap, as the twin assumes.
        worst: range at magnitude 1 of its gap.
        plausible: range that a cell file may use.
        elements: each element is drawn independently.
    """

    name: str
    gap: Gap
    unit: str
    touches: str
    nominal: Range
    worst: Range
    plausible: Range
    elements: tuple[str, ...] = ()

    def at(self, magnitude: float) -> Range:
        """Interpolate linearly between nominal (magnitude 0) and worst (1)."""
        (low, high), (worst_low, worst_high) = self.nominal, self.worst
        return low + magnitude * (worst_low - low), high + magnitude * (worst_high - high)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{element}" for element in self.elements) or (self.name,)


def _row(
    name: str, worst: float | Range, *, nominal: float | Range | None = None, plausible: Range | None = None
) -> Truth:
    """Return the truth that corresponds to a row of the parameter table."""
    row = BY_NAME[name]
    ends = _range(row.nominal if nominal is None else nominal), _range(worst)
    return Truth(name, row.gap, row.unit, row.touches, *ends, plausible or row.plausible, row.elements)


def _range(value: float | Range) -> Range:
    return value if isinstance(value, tuple) else (value, value)


TRUTHS: tuple[Truth, ...] = (
    _row("friction_coefficient", 0.3),
    # Stiffer or less damped contacts chatter at the cell's time step; objects then stick that should slide.
    _row("contact_stiffness_scale", 0.2, plausible=(0.05, 1.2)),
    Truth("contact_dissipation_s_m", "contact", "s/m", "damping of the contacts of the object",
          (50.0, 50.0), (30.0, 30.0), (30.0, 500.0)),
    _row("lighting_intensity", (0.2, 0.5), nominal=(0.9, 1.1)),
    _row("encoder_noise_mrad", 1.5),
    _row("encoder_bias_mrad", 8.0),
    _row("effort_noise_nm", 0.5),
    _row("tracker_noise_mm", 4.0),
    _row("tracker_turn_noise_deg", 4.0),
    Truth("tracker_bias_mm", "sensing", "mm", "sideways offset of the tracker's frame from the robot's",
          (0.0, 0.0), (8.0, 8.0), (0.0, 200.0)),
    _row("tracker_delay_ms", 120.0),
    _row("tracker_loss_share", 0.25),
    Truth("object_mass_scale", "object", "×", "mass of all objects, as a factor",
          (1.0, 1.0), (0.4, 3.0), (0.05, 20.0)),
    _row("object_size_scale", (0.8, 1.25)),
    _row("object_com_offset_mm", (-8.0, 8.0)),
    _row("object_position_noise_cm", (-6.0, 6.0), nominal=(-2.0, 2.0)),
    _row("object_yaw_deg", (-45.0, 45.0)),
    _row("target_position_noise_cm", (-4.0, 4.0)),
    _row("gravity_tilt_deg", 1.5),
    _row("table_height_cm", (-0.8, 0.8)),
    _row("clutter_count", float(len(THINGS))),
    _row("clutter_place_cm", (-6.0, 6.0), nominal=(-6.0, 6.0)),
    Truth("human_present_share", "human", "1", "share of episodes with a person present",
          (0.0, 0.0), (0.7, 0.7), (0.0, 1.0)),
    Truth("human_shift_cm", "human", "cm", "distance that a person moves the object while the arm approaches",
          (0.0, 0.0), (3.0, 6.0), (0.0, 20.0)),
    Truth("human_hiding_share", "human", "1", "share of time in which a person hides the object from the tracker",
          (0.0, 0.0), (0.2, 0.2), (0.0, 0.9)),
    _row("servo_stiffness_scale", 0.4),
    _row("servo_damping_scale", 0.8),
    _row("motor_strength_scale", 0.5),
    _row("grip_force_scale", 0.3),
    _row("joint_friction_nm", 1.5),
    _row("backlash_mrad", 15.0),
    _row("control_noise_mrad", 4.0),
    _row("action_delay_ms", 120.0),
    _row("action_jitter_ms", 15.0),
    _row("command_loss_share", 0.1),
    _row("observation_delay_ms", 80.0),
    _row("observation_loss_share", 0.1),
)  # fmt: skip

BY_GAP: dict[Gap, tuple[Truth, ...]] = {gap: tuple(row for row in TRUTHS if row.gap == gap) for gap in GAPS}
