"""How well the drawn parameters cover their ranges."""

import numpy as np

from twinloop.curate.coverage import Coverage, coverage
from twinloop.dashboard.charts import Layer, gauge, heat, histogram
from twinloop.dashboard.labels import full_label, meaning, unit_label
from twinloop.dashboard.page import PageSection, card, cards, text
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.svg import number, percent

MOST_COLUMNS = 40
MOST_BINS = 20


def section(material: ReportData) -> PageSection:
    draws = material.attempts.draws
    found = coverage(draws)
    if not found.columns:
        return PageSection("coverage", "Parameter coverage", text("No parameter varied in these episodes."))
    lead = text(
        f"{len(found.columns)} values were drawn for every episode. A policy is only trained where there are "
        "draws, so these should fill their ranges."
    )
    pair = cards([_pair(found), _words(found)]) if found.worst_pair else cards([_words(found)])
    shown = [_histogram(name, draws[name]) for name in found.columns[:MOST_COLUMNS]]
    notes = []
    if len(found.columns) > MOST_COLUMNS:
        notes.append(text(f"The first {MOST_COLUMNS} of {len(found.columns)} columns are drawn."))
    if material.attempts.words:
        notes.append(text(f"Columns of words are not drawn: {', '.join(material.attempts.words)}."))
    if len(material.attempts.number) < material.attempts.total:
        seen = f"{len(material.attempts.number):,} of {material.attempts.total:,}"
        notes.append(text(f"Coverage and success are of {seen} attempts, from evenly spaced shards."))
    inner = lead + pair + '<h3 class="sub">Each value by itself</h3>' + cards(shown, "small")
    return PageSection("coverage", "Parameter coverage", inner + "".join(notes), _findings(found))


def _findings(found: Coverage) -> tuple[str, ...]:
    worst = found.worst_pair
    if worst is None or found.expected_filled is None or worst.filled >= found.expected_filled - 0.05:
        return ()
    return (
        f"Coverage has a hole: only {percent(worst.filled)} of the combinations of {worst.first} and "
        f"{worst.second} were drawn.",
    )


def _pair(found: Coverage) -> str:
    worst = found.worst_pair
    assert worst is not None
    chart = heat(worst, full_label(worst.first), full_label(worst.second), "draws by pair of parameters")
    said = "Episodes by two of their values. Stronger is more often; an orange frame was never drawn."
    return card("The worst covered pair", chart, said)


def _words(found: Coverage) -> str:
    """The two numbers of coverage, each with what it means."""
    inner, uneven = "", found.unevenness
    if uneven is not None and found.discrepancy is not None and found.expected_discrepancy is not None:
        inner += gauge(uneven, 1, "independent draws", "unevenness (less is better)", "unevenness of the draws")
        inner += text(_verdict(uneven))
        inner += text(
            f"Does every box in the space of all {len(found.columns)} parameters hold its share of the episodes? The "
            f"centred L2 discrepancy measures by how much not: here {number(found.discrepancy)}, where as many "
            f"independent uniform draws have {number(found.expected_discrepancy)}. Unevenness is the root of the ratio."
        )
    else:
        inner += text("Too few draws to say anything about the whole space.")
    worst = found.worst_pair
    if worst is not None and found.expected_filled is not None:
        columns, rows = worst.counts.shape
        emptiest = (
            f"Of all pairs, {worst.first} with {worst.second} has the most empty cells: {percent(worst.filled)} of "
            f"{columns} × {rows} hold an episode, {percent(found.expected_filled)} would by chance."
        )
        full = f"None: every pair fills all of its {columns} × {rows} cells."
        inner += '<h3 class="next">Every two of them</h3>' + text(
            f"Which combinations of two values are missing? {full if worst.filled == 1 else emptiest} The grid grows "
            "with the run, so that a cell can expect four episodes or more."
        )
    return card("The whole space", inner)


def _verdict(uneven: float) -> str:
    if uneven < 0.95:
        return f"These draws are {number(1 / uneven)} times more even than chance, as Sobol draws should be."
    if uneven < 1.1:
        return "These draws are about as even as independent ones."
    return (
        f"These draws are {number(uneven)} times less even than chance: a part of the space is left out, or a "
        "parameter follows a peaked distribution."
    )


def _histogram(name: str, values: np.ndarray) -> str:
    finite = values[np.isfinite(values)]
    levels = np.unique(finite)
    bins = int(np.clip(len(finite) // 8, 4, MOST_BINS))
    if len(levels) <= bins and np.allclose(levels, levels.round()):
        edges = np.arange(levels[0] - 0.5, levels[-1] + 1)[: MOST_BINS * 4]
    else:
        edges = np.linspace(levels[0], levels[-1], bins + 1)
    counts = np.histogram(finite, edges)[0]
    chart = histogram(
        edges, [Layer("episodes", counts)], unit_label(name), f"draws of {name}", up="", width=250, height=150
    )
    ends = f"{number(float(levels[0]))} to {number(float(levels[-1]))}."
    return card(name, chart, f"{meaning(name)} {ends}".strip())
