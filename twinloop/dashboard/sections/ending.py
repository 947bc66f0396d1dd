"""How long episodes took, and where those that failed ended."""

from collections import Counter

import numpy as np

from twinloop.curate.verdict import ACCEPTED
from twinloop.dashboard.charts import Bar, Layer, bars, histogram
from twinloop.dashboard.page import PageSection, card, cards, legend, text
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.svg import number

TITLE = "Duration and endings"
BINS = 30
MOST_PHASES = 20
MOST_FAILURES = 12


def section(material: ReportData) -> PageSection:
    if not material.summary.accepted.trials:
        return PageSection("endings", TITLE, text("No attempt has been written yet."))
    return PageSection("endings", TITLE, cards([_durations(material), _endings(material), *_failures(material)]))


def _durations(material: ReportData) -> str:
    attempts = material.attempts
    known = np.isfinite(attempts.duration_s)
    seconds, accepted = attempts.duration_s[known], attempts.accepted[known]
    if not len(seconds):
        return card("How long episodes took", "", "No duration is known.")
    low, high = float(seconds.min()), float(seconds.max())
    period_s = 1 / material.dataset.header.fps
    # Durations are whole control periods: bins of a broken number of them would show a comb.
    periods = max(1, round((high - low) / period_s / BINS))
    width_s = periods * period_s
    edges = low - period_s / 2 + width_s * np.arange(int(np.ceil((high - low + period_s) / width_s)) + 1)
    layers = [
        Layer("accepted", np.histogram(seconds[accepted], edges)[0], "good"),
        Layer("rejected", np.histogram(seconds[~accepted], edges)[0], "bad"),
    ]
    chart = histogram(edges, layers, "duration (s)", "durations of episodes")
    swatches = legend([("box s2", "accepted"), ("box s1", "rejected")])
    middle = (
        f" The median of accepted episodes is {number(float(np.median(seconds[accepted])))} s."
        if accepted.any()
        else ""
    )
    said = "A hump to the right is usually a second try at the grasp, one to the left an early failure." + middle
    return card("How long episodes took", chart + swatches, said)


def _endings(material: ReportData) -> str:
    ends: Counter[str] = Counter()
    for (verdict, phase), count in material.attempts.outcomes.items():
        if verdict != ACCEPTED and phase:
            ends[phase] += count
    heading = "Where rejected episodes ended"
    if not ends:
        return card(heading, "", "No episode was rejected in a known phase of the task.")
    order = [*material.dataset.header.phases]
    order += sorted(set(ends) - set(order))
    rows = [Bar(phase, ends[phase], "bad") for phase in order[:MOST_PHASES]]
    said = (
        "Phases in the order of the task. Who ended in the last one did everything and missed; who ended earlier "
        "gave up there, or lost the object."
    )
    return card(heading, bars(rows, "rejected episodes by last phase", total=sum(ends.values())), said)


def _failures(material: ReportData) -> list[str]:
    """What went wrong, in the task's own words; data from elsewhere may not say."""
    failures = material.attempts.failures
    if not failures:
        return []
    rows = [Bar(name.replace("_", " "), count, "bad") for name, count in list(failures.items())[:MOST_FAILURES]]
    said = "Told from what happened to object and hand. An attempt that failed has one of these names."
    return [card("What went wrong", bars(rows, "failed attempts by name", total=sum(failures.values())), said)]
