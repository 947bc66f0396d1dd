"""How well the drawn parameters cover their ranges."""

from typing import Any

import numpy as np
import scipy

from twinloop.curate.coverage import Coverage, coverage
from twinloop.dashboard.charts import Layer, heat, histogram
from twinloop.dashboard.formatting import interval, number, percent
from twinloop.dashboard.labels import full_label, meaning, unit_label
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.vega import Chart

MAX_HISTOGRAMS = 8
MAX_BINS = 20
UNEVEN_P = 0.001
"""Draws whose histogram is this improbable for a uniform distribution get a chart of their own."""


def parameter_coverage(data: ReportData) -> dict[str, Any]:
    draws = data.attempts.draws
    covered = coverage(draws)
    if not covered.columns:
        return {"columns": 0, "findings": ()}
    histograms = {name: _histogram(draws[name]) for name in covered.columns}
    uneven = [name for name, (edges, counts) in histograms.items() if _is_uneven(edges, counts)]
    looked_at = len(data.attempts.number)
    return {
        "columns": len(covered.columns),
        "pair": covered.worst_pair,
        "pair_chart": _pair_chart(covered),
        "expected_filled": covered.expected_filled,
        "unevenness": covered.unevenness,
        "unevenness_text": "" if covered.unevenness is None else _unevenness_text(covered.unevenness),
        "discrepancy": covered.discrepancy,
        "expected_discrepancy": covered.expected_discrepancy,
        "uneven": [(name, _chart(name, *histograms[name]), meaning(name)) for name in uneven[:MAX_HISTOGRAMS]],
        "all_rows": [_row(name, draws[name]) for name in covered.columns],
        "words": data.attempts.words,
        "sample": f"{looked_at:,} of {data.attempts.total:,}" if looked_at < data.attempts.total else "",
        "findings": _findings(covered),
    }


def _findings(covered: Coverage) -> tuple[str, ...]:
    worst = covered.worst_pair
    if worst is None or covered.expected_filled is None or worst.filled >= covered.expected_filled - 0.05:
        return ()
    combinations = f"combinations of {worst.first} and {worst.second}"
    return (f"Coverage has a hole: only {percent(worst.filled)} of the {combinations} were drawn.",)


def _pair_chart(covered: Coverage) -> Chart | None:
    worst = covered.worst_pair
    if worst is None:
        return None
    return heat(worst, full_label(worst.first), full_label(worst.second), "draws by pair of parameters")


def _unevenness_text(unevenness: float) -> str:
    if unevenness < 0.95:
        return (
            f"These draws are {number(1 / unevenness)} times more even than independent ones, as Sobol draws should be."
        )
    if unevenness < 1.1:
        return "These draws are about as even as independent ones."
    return (
        f"These draws are {number(unevenness)} times less even than independent ones: a part of the space is left out, "
        "or a parameter follows a peaked distribution."
    )


def _row(name: str, values: np.ndarray) -> tuple[str, ...]:
    finite = values[np.isfinite(values)]
    return name, interval(float(finite.min()), float(finite.max())), unit_label(name), meaning(name)


def _histogram(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(edges, counts); a column of few whole numbers has one bin a number."""
    finite = values[np.isfinite(values)]
    levels = np.unique(finite)
    bins = int(np.clip(len(finite) // 8, 4, MAX_BINS))
    if len(levels) <= bins and np.allclose(levels, levels.round()):
        edges = np.arange(levels[0] - 0.5, levels[-1] + 1)[: MAX_BINS * 4]
    else:
        edges = np.linspace(levels[0], levels[-1], bins + 1)
    return edges, np.histogram(finite, edges)[0]


def _is_uneven(edges: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether the chi-squared test rejects a uniform distribution."""
    freedom, mean = len(edges) - 2, counts.mean()
    statistic = float(np.square(counts - mean).sum() / mean)
    # A statistic below its mean rejects nothing. Most runs are that even, and SciPy takes long to import.
    return statistic > freedom > 0 and bool(scipy.special.chdtrc(freedom, statistic) < UNEVEN_P)


def _chart(name: str, edges: np.ndarray, counts: np.ndarray) -> Chart:
    return histogram(
        edges, [Layer("episodes", counts)], unit_label(name), f"draws of {name}", y_title="", width=260, height=100
    )
