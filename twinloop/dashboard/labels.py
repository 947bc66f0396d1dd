"""Names, units and meanings of drawn columns and verdicts on pages, from the parameter table."""

from twinloop.curate.verdict import current_verdict
from twinloop.randomize.table import BY_NAME


def unit_label(column: str) -> str:
    """The unit of a column for an axis title; in words if it has none."""
    parameter = BY_NAME.get(column.partition(".")[0])
    if parameter is None:
        return "value"
    return {"1": "no unit", "×": "× nominal", "°": "degrees", "materials": "number of the material"}.get(
        parameter.unit, parameter.unit
    )


def full_label(column: str) -> str:
    return f"{column} ({unit_label(column)})"


def meaning(column: str) -> str:
    """The effect of the parameter in words; empty for a column that is not in the table."""
    parameter = BY_NAME.get(column.partition(".")[0])
    return f"{parameter.touches[0].upper()}{parameter.touches[1:]}." if parameter else ""


def with_unit(value: str, column: str) -> str:
    """`0.19 kg`, or the number alone if the column has no unit."""
    parameter = BY_NAME.get(column.partition(".")[0])
    return value if parameter is None or parameter.unit in ("1", "materials") else f"{value} {parameter.unit}"


def reason_label(verdict: str) -> str:
    """A verdict in words: `task failed`."""
    return current_verdict(verdict).replace("_", " ")
