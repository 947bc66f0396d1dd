"""What columns and verdicts are called on a chart; drawn columns from the one table, where they are in it."""

from twinloop.curate.verdict import current_verdict
from twinloop.randomize.table import BY_NAME


def unit_label(column: str) -> str:
    """For an axis under a chart that carries the column's name: its unit, in words where it has none."""
    parameter = BY_NAME.get(column.partition(".")[0])
    if parameter is None:
        return "value"
    return {"1": "no unit", "×": "× nominal", "°": "degrees", "materials": "number of the material"}.get(
        parameter.unit, parameter.unit
    )


def full_label(column: str) -> str:
    return f"{column} ({unit_label(column)})"


def meaning(column: str) -> str:
    """What the parameter changes, or nothing for a column that the table does not know."""
    parameter = BY_NAME.get(column.partition(".")[0])
    return f"{parameter.touches[0].upper()}{parameter.touches[1:]}." if parameter else ""


def with_unit(value: str, column: str) -> str:
    """`0.19 kg`; a number without a unit stays alone."""
    parameter = BY_NAME.get(column.partition(".")[0])
    return value if parameter is None or parameter.unit in ("1", "materials") else f"{value} {parameter.unit}"


def reason_label(verdict: str) -> str:
    """A verdict in words: `task failed`."""
    return current_verdict(verdict).replace("_", " ")
