"""Looks: which picture a row gets. Said once, for each section and gap; a row that these do not fit says it itself.

A new row needs no entry: of the looks of its section the first that shows a difference is taken, and if none does, the
measure that the row changes most.
"""

from dataclasses import dataclass

from twinloop.dashboard.effects.measures import DONE, SAID, Measure, said_by_others
from twinloop.dashboard.effects.strips import STRIPS, Strip
from twinloop.randomize.parameter import Gap, Group, Parameter
from twinloop.randomize.table import TABLE
from twinloop.randomize.uses import Picture
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


SCENES: dict[Gap, str] = {"human": "task: handover"}
SWITCHES = ("count", "share", "probability")
"""Last words of the names of rows that switch a group of rows on. The others have no effect without them."""


def setting_of(row: Parameter) -> Picture:
    if row.picture is not None:
        return row.picture
    given = {} if row.group not in ("environment", "human") else _switched_on(row)
    why = f"With {', '.join(given)} switched on." if given else ""
    return Picture(scene=SCENES.get(row.gap, ""), given=given, why=why)


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
