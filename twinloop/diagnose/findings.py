"""Findings: converts the posterior of each gap to costs, row estimates and evidence in physical units."""

from collections.abc import Mapping

import numpy as np

from twinloop.diagnose.hypothesis import VARYING, ends_of
from twinloop.diagnose.posterior import GapPosterior, RowPosterior
from twinloop.diagnose.report import Evidence, GapFinding, Interval, RowEstimate
from twinloop.diagnose.summary import ENTRIES, Entry, TraitSummary
from twinloop.diagnose.traits import TRAITS
from twinloop.randomize.distribution import Choice, Constant, Distribution, Uniform
from twinloop.randomize.parameter import Gap, Parameter
from twinloop.randomize.table import BY_NAME

NOTICED = 0.05
"""Loss of success rate (a share) from which a gap drives failures."""
WIDE = 1.645  # half-width of a 90 % interval, in standard deviations
LIKELY = 1.2816  # half-width of an 80 % interval, in standard deviations
SHOWN_ROWS, SHOWN_EVIDENCE = 4, 6


def finding_of(
    gap: Gap, weighed: GapPosterior, summary: TraitSummary, usual: TraitSummary, trained: Mapping[str, Interval]
) -> GapFinding:
    """The finding about one gap.

    Args:
        summary, usual: summaries of the robot's episodes and of the unchanged twin.
        trained: row -> range that the policy was trained on.
    """
    cost, deviation = weighed.cost[gap]
    probability = weighed.probability[gap]
    points = 100 * max(cost, 0.0)
    low, high = (100 * min(max(cost + side * WIDE * deviation, 0.0), 1.0) for side in (-1, 1))
    # The cost of an open gap is taken as normally distributed.
    from scipy.special import ndtr

    drives = probability * float(ndtr((cost / max(probability, 1e-6) - NOTICED) / max(deviation, 0.01)))
    rows = [
        row for row in weighed.rows.get(gap, ()) if abs(row.size) > max(0.08, row.deviation) and _reach(row) != 0
    ][:SHOWN_ROWS]  # fmt: skip
    evidence = [
        item for item in evidence_of(weighed.deviations, summary, usual) if _about(item) == gap and abs(item.apart) > 1
    ]
    return GapFinding(
        gap=gap,
        probability=probability,
        drives=drives,
        magnitude=weighed.magnitude[gap][0],
        points=points,
        interval=(low, high),
        rows=tuple(_wrong(row, trained) for row in rows),
        evidence=tuple(evidence[:SHOWN_EVIDENCE]),
    )


def _about(evidence: Evidence) -> Gap | None:
    return next(trait.gap for trait in TRAITS if trait.name == evidence.trait.removesuffix(" (spread)"))


def evidence_of(deviations: np.ndarray, summary: TraitSummary, usual: TraitSummary) -> list[Evidence]:
    """Evidence from all entries with a known difference, the largest first."""
    order = np.argsort(-np.abs(np.nan_to_num(deviations)))
    return [
        Evidence(
            trait=ENTRIES[at].name,
            description=ENTRIES[at].about.description,
            unit=ENTRIES[at].about.unit,
            robot=_in_unit(ENTRIES[at], float(summary.values[at])),
            twin=_in_unit(ENTRIES[at], float(usual.values[at])),
            apart=float(deviations[at]),
        )
        for at in order
        if np.isfinite(deviations[at])
    ]


def _in_unit(entry: Entry, value: float) -> float:
    return float(np.exp(value)) if entry.spread or entry.about.log else float(value)


def _is_share(row: Parameter) -> bool:
    """Whether the row's error is a share of episodes, not a value."""
    return row.chance is not None or bool(row.words or row.pool)


def _reach(estimate: RowPosterior) -> float:
    """Signed distance from nominal to the end of the hypotheses with this sign; 0 if there are none.

    For a row that can err in one direction only, sizes are positive in either direction.
    """
    row = BY_NAME[estimate.row]
    first, last = ends_of(row)
    if _is_share(row):
        return 1.0
    if first < row.nominal < last:
        return (last if estimate.size > 0 else first) - row.nominal
    return (last if last > row.nominal else first) - row.nominal if estimate.size > 0 else 0.0


def _wrong(estimate: RowPosterior, trained: Mapping[str, Interval]) -> RowEstimate:
    row = BY_NAME[estimate.row]
    first, last = ends_of(row)
    spread = first < row.nominal < last and VARYING.get(row.gap, 0.0) > 0.5 and not _is_share(row)
    reach = abs(_reach(estimate)) if spread else _reach(estimate)  # a spread extends to both sides
    base = 0.0 if spread or _is_share(row) else row.nominal
    likely = LIKELY * abs(reach) * estimate.deviation
    least, most = sorted((base, base + 1.3 * reach))
    if not spread:
        first, last = (0.0, 1.0) if _is_share(row) else row.plausible
        least, most = max(least, first), min(most, last)
    value = min(max(base + abs(estimate.size) * reach, least), most)
    return RowEstimate(
        row=row.name,
        unit=row.unit,
        value=value,
        interval=(max(value - likely, least), min(value + likely, most)),
        nominal=row.nominal,
        spread=spread,
        trained=trained.get(row.name),
    )


def as_distribution(wrong: RowEstimate) -> Distribution:
    """Distribution of the row in a cell that has this error."""
    row = BY_NAME[wrong.row]
    if row.chance is not None:
        share = min(max(wrong.value, 0.0), 1.0)
        return Choice((0.0, 1.0), (1 - share, share)) if 0 < share < 1 else Constant(round(share))
    if row.words or row.pool:
        return Constant(row.nominal)
    low, high = row.plausible
    if wrong.spread:
        return Uniform(max(wrong.nominal - wrong.value, low), min(wrong.nominal + wrong.value, high))
    return Constant(min(max(wrong.value, low), high))
