"""Looks: the kind of picture that a row of the parameter table gets.

The looks are listed by section and gap. A row that needs another one declares it (`Parameter.picture`). The first look
with a clear difference is used; if there is none, the measure that the row changes most.
"""

from dataclasses import dataclass

from twinloop.dashboard.effects.measures import MOTION, SENSOR_ERRORS, Measure, further_sensor_errors
from twinloop.dashboard.effects.strips import STRIPS, Strip
from twinloop.randomize.parameter import Gap, Group, Parameter
from twinloop.randomize.table import TABLE
from twinloop.randomize.uses import Picture
from twinloop.run.effect import RowEffect


@dataclass(frozen=True)
class Sentences:
    """Shows the instruction of each value of a row."""


LOOKS: dict[str, Strip | Measure | Sentences] = {**STRIPS, **MOTION, **SENSOR_ERRORS, "instruction": Sentences()}

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
    ("sensing", "sensing"): tuple(SENSOR_ERRORS),
}


SCENES: dict[Gap, str] = {"human": "task: handover"}
SWITCHES = ("count", "share", "probability")
"""Last words of the names of rows that switch a group of rows on. The other rows of the group have no effect else."""


def setting_of(row: Parameter) -> Picture:
    if row.picture is not None:
        return row.picture
    given = {} if row.group not in ("environment", "human") else _switched_on(row)
    why = f"With {', '.join(given)} switched on." if given else ""
    return Picture(scene=SCENES.get(row.gap, ""), given=given, why=why)


def _switched_on(row: Parameter) -> dict[str, float]:
    """Row -> value: the row that switches the group of this row on, at its highest sensible value."""
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
    """Names of the looks of a row, in the order in which they are tried."""
    chosen = setting_of(row).look
    return (chosen,) if chosen else PREFERRED.get((row.group, row.gap), ())


def range_of(row: Parameter) -> tuple[float, float]:
    """The lowest and the highest value that the picture of a row shows."""
    over = setting_of(row).over or row.sensible
    return (0.0, over[1] - 1) if row.pool else over


def measures_of(effect: RowEffect) -> dict[str, Measure]:
    """Measures to try if no preferred look shows a difference. Sensor errors are used for sensing and latency only."""
    sensors = SENSOR_ERRORS | further_sensor_errors(effect)
    return {"sensing": sensors, "latency": MOTION | sensors}.get(effect.row.gap, MOTION)
