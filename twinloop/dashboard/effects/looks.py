"""Looks: which picture a row gets. Said once, for each section and gap; what does not fit there is in one table below.

A new row needs no entry: of the looks of its section the first that shows a difference is taken, and if none does, the
measure that the row changes most.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from twinloop.dashboard.effects.measures import DONE, SAID, Measure, said_by_others
from twinloop.dashboard.effects.strips import STRIPS, Strip
from twinloop.randomize.parameter import Gap, Group, Parameter
from twinloop.randomize.table import TABLE
from twinloop.run.effect import RowEffect


@dataclass(frozen=True)
class Sentences:
    """Shows the instruction of each value of a row."""


LOOKS: dict[str, Strip | Measure | Sentences] = {**STRIPS, **DONE, **SAID, "instruction": Sentences()}

PREFERRED: dict[tuple[Group, Gap], tuple[str, ...]] = {
    ("visual", "visual"): ("cell",),
    ("visual", "sensing"): ("pixels", "depth"),
    ("physics", "environment"): ("start",),
    ("environment", "environment"): ("start", "cell"),
    ("human", "human"): ("goal", "person"),
    ("physics", "object"): ("object",),
    ("physics", "actuation"): ("tracking",),
    ("actuation", "actuation"): ("tracking",),
    ("latency", "latency"): ("tracking", "encoders"),
    ("sensing", "sensing"): tuple(SAID),
}


@dataclass(frozen=True)
class Setting:
    """How the picture of a row is made.

    Attributes:
        look: measure or strip, instead of the preferred ones.
        scene: scene section of the config.
        given: values of other rows that this row needs to have an effect.
        over: range, instead of the sensible range.
        why: explanation for the docs.
    """

    look: str = ""
    scene: str = ""
    given: Mapping[str, float] = field(default_factory=dict)
    over: tuple[float, float] | None = None
    why: str = ""


HURRIED = "A strong arm shows no effect; here the arm catches up after lost commands."

SETTINGS: dict[str, Setting] = {
    "object_mass_kg": Setting("support"),
    "object_yaw_deg": Setting("object", scene="object: block"),
    "object_com_offset_mm": Setting("tumble"),
    "friction_coefficient": Setting("hold"),
    "torsional_friction_mm": Setting("tumble", given={"object_com_offset_mm": 4.0, "object_mass_kg": 0.4},
                                     why="The object is gripped off its centre of mass, so it swings."),
    "rolling_friction_mm": Setting("tumble", given={"object_shape": 3.0}, why="An ellipsoid rocks on the table."),
    "object_inertia_scale": Setting("tumble", given={"object_shape": 3.0}, why="An ellipsoid rocks on the table."),
    "gravity_tilt_deg": Setting("way", given={"friction_coefficient": 0.03}, why="On a slippery table."),
    "grip_force_scale": Setting("grip"),
    "control_noise_mrad": Setting("shaking"),
    "gear_ripple_mrad": Setting("wrist"),
    "motor_strength_scale": Setting("shaking", given={"command_loss_share": 0.05}, why=HURRIED),
    "heat_fade_share": Setting("shaking", given={"command_loss_share": 0.05}, why=HURRIED),
    "imu_walk_per_s": Setting(given={"accelerometer_noise_m_s2": 0.05, "gyro_noise_mrad_s": 2.0},
                              why="In units of the noise, which is also varied."),
    "hand_patience_s": Setting("goal", scene="task: handover"),
    "surface_friction_ratio": Setting("hold", given={"friction_coefficient": 0.06, "object_mass_kg": 0.4},
                                      why="The object is heavy and very slippery."),
    "heavy_insert_share": Setting("tumble", given={"heavy_insert_place": 0.7, "object_mass_kg": 0.6,
                                                   "torsional_friction_mm": 1.0},
                                  why="The object is heavy and its insert is off centre, so it swings in the hand."),
    "tracker_loss_share": Setting("tracker", over=(0.0, 0.3),
                                  why="Up to the value at which most episodes lose the object."),
    "object_stiffness_kpa": Setting("opening", scene="object: sponge"),
    "solver_iterations": Setting("height", over=(3.0, 20.0),
                                 why="With too few iterations the object is not held; six are enough."),
    "object_gloss": Setting("pixels"),
    "hand_withdrawal_s": Setting("goal", scene="task: handover", given={"hand_patience_s": 1.5},
                                 why="The receiver gives up and withdraws the hand."),
    "hand_turn_deg": Setting("person", scene="task: handover"),
    "object_shift_probability": Setting("way", given={"object_shift_cm": 4.0, "object_shift_at_s": 0.3},
                                        why="The shift is 4 cm in x and y, after 0.3 s."),
    "object_shift_cm": Setting("way", given={"object_shift_probability": 1.0, "object_shift_at_s": 0.3},
                               why="The shift is after 0.3 s."),
    "object_shift_at_s": Setting("way", given={"object_shift_probability": 1.0, "object_shift_cm": 4.0},
                                 over=(0.1, 0.6),
                                 why="The shift is 4 cm in x and y. Later than this, the hand has reached "
                                                      "the object."),
    "task_choice": Setting("cell", scene="task: sort_by_colour", why="The cube that task sort_by_colour asks for."),
    "instruction_choice": Setting("instruction", scene="task: pick_and_place"),
    "fixture_position_noise_cm": Setting("start", scene="task: open_drawer", why="The drawer of task open_drawer."),
    "fixture_yaw_deg": Setting("start", scene="task: open_drawer", why="The drawer of task open_drawer."),
    "hole_clearance_mm": Setting("hardest", scene="task: peg_insertion", why="The hole of task peg_insertion."),
    "tracker_bias_mm": Setting("tracker", over=(0.0, 5.0), why="To one side; the other side looks the same."),
}  # fmt: skip

SCENES: dict[Gap, str] = {"human": "task: handover"}
SWITCHES = ("count", "share", "probability")
"""Last words of the names of rows that switch a group of rows on. The others have no effect without them."""


def setting_of(row: Parameter) -> Setting:
    setting = SETTINGS.get(row.name)
    if setting is not None:
        return setting
    given = {} if row.group not in ("environment", "human") else _switched_on(row)
    why = f"With {', '.join(given)} switched on." if given else ""
    return Setting(scene=SCENES.get(row.gap, ""), given=given, why=why)


def _switched_on(row: Parameter) -> dict[str, float]:
    """The row that says how much there is of what this one is about, turned up."""
    thing = row.name.split("_")[0]
    return {
        other.name: other.sensible[1]
        for other in TABLE
        if other.name != row.name
        and other.name.split("_")[0] == thing
        and other.name.split("_")[-1] in SWITCHES
        and other.nominal == 0
        and row.name.split("_")[-1] not in SWITCHES
    }


def looks_of(row: Parameter) -> tuple[str, ...]:
    """In the order in which they are tried."""
    chosen = setting_of(row).look
    return (chosen,) if chosen else PREFERRED.get((row.group, row.gap), ())


def range_of(row: Parameter) -> tuple[float, float]:
    """From where to where a row is shown."""
    over = setting_of(row).over or row.sensible
    return (0.0, over[1] - 1) if row.pool else over


def measures_of(effect: RowEffect) -> dict[str, Measure]:
    """What is tried when no preferred look shows anything: sensors only for the gaps that are between them and us."""
    seen = SAID | said_by_others(effect)
    return {"sensing": seen, "latency": DONE | seen}.get(effect.row.gap, DONE)
