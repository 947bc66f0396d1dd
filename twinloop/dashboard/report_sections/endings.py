"""How long episodes took, and where those that failed ended."""

from collections import Counter
from typing import Any

import numpy as np

from twinloop.curate.verdict import ACCEPTED
from twinloop.dashboard.charts import Bar, Layer, bars, histogram
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.vega import GREEN, ORANGE, Chart

BINS = 30
MAX_PHASES = 20
MAX_FAILURES = 12


def endings(data: ReportData) -> dict[str, Any]:
    attempts = data.attempts
    accepted_s = attempts.duration_s[attempts.accepted & np.isfinite(attempts.duration_s)]
    return {
        "attempts": data.summary.accepted.trials,
        "durations": _durations(data),
        "median_s": float(np.median(accepted_s)) if len(accepted_s) else None,
        "phases": _last_phases(data),
        "failures": _failures(data),
    }


def _durations(data: ReportData) -> Chart | None:
    attempts = data.attempts
    known = np.isfinite(attempts.duration_s)
    seconds, accepted = attempts.duration_s[known], attempts.accepted[known]
    if not len(seconds):
        return None
    low, high = float(seconds.min()), float(seconds.max())
    period_s = 1 / data.dataset.header.fps
    # Durations are whole control periods: bins that hold a fraction of a period would show a comb.
    width_s = max(1, round((high - low) / period_s / BINS)) * period_s
    edges = low - period_s / 2 + width_s * np.arange(int(np.ceil((high - low + period_s) / width_s)) + 1)
    layers = [
        Layer("accepted", np.histogram(seconds[accepted], edges)[0], GREEN),
        Layer("rejected", np.histogram(seconds[~accepted], edges)[0], ORANGE),
    ]
    return histogram(edges, layers, "duration (s)", "durations of episodes")


def _last_phases(data: ReportData) -> Chart | None:
    """Rejected episodes by their last phase, in the order of the task."""
    ends: Counter[str] = Counter()
    for (verdict, phase), count in data.attempts.outcomes.items():
        if verdict != ACCEPTED and phase:
            ends[phase] += count
    if not ends:
        return None
    order = [*data.dataset.header.phases]
    order += sorted(set(ends) - set(order))
    rows = [Bar(phase, ends[phase], ORANGE) for phase in order[:MAX_PHASES]]
    return bars(rows, "rejected episodes by last phase", total=sum(ends.values()))


def _failures(data: ReportData) -> Chart | None:
    failures = data.attempts.failures
    if not failures:
        return None
    rows = [Bar(name.replace("_", " "), count, ORANGE) for name, count in list(failures.items())[:MAX_FAILURES]]
    return bars(rows, "failed attempts by failure", total=sum(failures.values()))
