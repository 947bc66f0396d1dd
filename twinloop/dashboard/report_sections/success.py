"""Where in the parameters' ranges episodes succeed, and where they do not."""

from collections.abc import Sequence
from typing import Any

from twinloop.curate.rates import ParameterRates
from twinloop.dashboard.charts import rates_by_value
from twinloop.dashboard.charts.rates import rate_text
from twinloop.dashboard.formatting import interval, number, percent
from twinloop.dashboard.labels import unit_label, with_unit
from twinloop.dashboard.report_data import ReportData

MAX_CHARTS = 12
MAX_FINDINGS = 3
CHART_P = 0.05
"""A parameter gets a chart if its bins differ with this probability of a false alarm. The others are in a table."""


def success(data: ReportData) -> dict[str, Any]:
    return {"overall": data.summary.success, **success_by_parameter_context(data.summary.by_parameter)}


def success_by_parameter_context(parameters: Sequence[ParameterRates]) -> dict[str, Any]:
    """Charts of the parameters that matter and a table of all, the strongest association first."""
    charted = [rates for rates in parameters if rates.fall or rates.p_value < CHART_P][:MAX_CHARTS]
    return {
        "parameters": len(parameters),
        "falls": sum(rates.fall is not None for rates in parameters),
        "charts": [
            (
                rates.column,
                rates_by_value(rates, unit_label(rates.column), f"success against {rates.column}"),
                fall_sentence(rates) or f"No clear fall (association {rates.strength:.2f} of 1).",
                rates.fall is not None,
            )
            for rates in charted
        ],
        "all_rows": [_row(rates) for rates in parameters],
        "findings": [fall_sentence(rates) for rates in parameters if rates.fall][:MAX_FINDINGS],
    }


def fall_sentence(rates: ParameterRates) -> str:
    """`Success falls at low friction_coefficient: 12 % (6 % to 22 %) between 0.02 and 0.12, 86 % overall.`"""
    fall = rates.fall
    if fall is None:
        return ""
    first, last = float(rates.edges[0, 0]), float(rates.edges[-1, 1])
    at = "at low" if fall.low == first else "at high" if fall.high == last else "within"
    span = with_unit(f"{number(fall.low)} and {number(fall.high)}", rates.column)
    return (
        f"Success falls {at} {rates.column}: {rate_text(fall.rate)} between {span}, against "
        f"{percent(fall.overall.value)} overall."
    )


def _row(rates: ParameterRates) -> tuple[str, ...]:
    lowest = min(range(len(rates.bins)), key=lambda place: rates.bins[place].value)
    return (
        rates.column, interval(float(rates.edges[0, 0]), float(rates.edges[-1, 1])), rate_text(rates.bins[lowest]),
        interval(*map(float, rates.edges[lowest])), f"{rates.strength:.2f}", number(rates.p_value),
    )  # fmt: skip
