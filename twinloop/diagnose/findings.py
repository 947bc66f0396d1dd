"""Findings: converts posterior samples to the cost, the rows and the evidence of each gap, in physical units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.diagnose.causes import Cause, Side
from twinloop.diagnose.costs import COLUMNS, Costs
from twinloop.diagnose.emulator import Emulator
from twinloop.diagnose.explanations import Explanations
from twinloop.diagnose.interval_scale import IntervalScale
from twinloop.diagnose.report import COSTLY_POINTS, Evidence, GapFinding, Interval, RowEstimate
from twinloop.diagnose.summary import ENTRIES, Entry, TraitSummary
from twinloop.diagnose.traits import TRAITS
from twinloop.randomize.distribution import Choice, Constant, Distribution, Uniform
from twinloop.randomize.parameter import Gap, Parameter
from twinloop.randomize.table import BY_NAME

NOTICED = 0.05
"""Loss of success rate (a share) from which a gap drives failures."""
PROBABLE_ROW, SURE_ROW = 0.5, 0.95
SHOWN_ROWS, SHOWN_EVIDENCE = 4, 6
CLEAR = 1.5  # standard deviations from which a trait is listed as evidence
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class PosteriorSamples:
    """The result of a diagnosis after sampling.

    Attributes:
        deviations: (entries,) difference between robot and twin in standard deviations.
        trained: row -> range that the policy was trained on.
        scale: widens the intervals of rows.
    """

    emulator: Emulator
    explanations: Explanations
    costs: Costs
    robot: TraitSummary
    deviations: np.ndarray
    trained: Mapping[str, Interval]
    scale: IntervalScale


def finding_of(gap: Gap, posterior: PosteriorSamples) -> GapFinding:
    """The finding about one gap."""
    costs, explanations = posterior.costs, posterior.explanations
    column = COLUMNS.index(gap)
    places = [place for place, cause in enumerate(posterior.emulator.causes) if cause.gap == gap]
    sizes = explanations.sizes[:, places]
    open_ = (sizes > 0).any(axis=1) if places else np.zeros(len(sizes), bool)
    low, high = costs.interval(column)
    evidence = [
        item
        for item in evidence_of(posterior.deviations, posterior.robot, posterior.emulator.reference)
        if _about(item) == gap and abs(item.apart) > CLEAR
    ]
    return GapFinding(
        gap=gap,
        probability=float(costs.probability(COSTLY_POINTS / 100)[column]),
        drives=float(costs.probability(NOTICED)[column]),
        magnitude=float(sizes[open_].max(axis=1).mean()) if open_.any() else 0.0,
        points=100 * float(costs.mean[column]),
        interval=(100 * low, 100 * high),
        rows=tuple(estimate for estimate, _ in estimated_rows(gap, posterior)),
        evidence=tuple(evidence[:SHOWN_EVIDENCE]),
        differs=float(open_.mean()),
    )


def _about(evidence: Evidence) -> Gap | None:
    return next(trait.gap for trait in TRAITS if trait.name == evidence.trait.removesuffix(" (spread)"))


def evidence_of(deviations: np.ndarray, robot: TraitSummary, twin: TraitSummary) -> list[Evidence]:
    """Evidence from all entries with a known difference, the largest first."""
    order = np.argsort(-np.abs(np.nan_to_num(deviations)))
    return [
        Evidence(
            trait=ENTRIES[at].name,
            description=ENTRIES[at].about.description,
            unit=ENTRIES[at].about.unit,
            robot=_in_unit(ENTRIES[at], float(robot.values[at])),
            twin=_in_unit(ENTRIES[at], float(twin.values[at])),
            apart=float(deviations[at]),
        )
        for at in order
        if np.isfinite(deviations[at])
    ]


def _in_unit(entry: Entry, value: float) -> float:
    return float(np.exp(value)) if entry.spread or entry.about.log else float(value)


def estimated_rows(gap: Gap, posterior: PosteriorSamples) -> list[tuple[RowEstimate, np.ndarray]]:
    """Estimates of the rows of a gap that probably differ, the most probable first, with (n,) samples of their values.

    A row that is too low in some samples and too high in others has an interval with both. Samples in which the row
    does not differ count as nominal, unless it surely differs.
    """
    causes, sizes = posterior.emulator.causes, posterior.explanations.sizes
    places = [place for place, cause in enumerate(causes) if cause.gap == gap]
    kinds: dict[tuple[str, str], list[list[int]]] = {}
    for key in dict.fromkeys((causes[place].row, causes[place].element) for place in places):
        mine = [place for place in places if (causes[place].row, causes[place].element) == key]
        constant = [place for place in mine if causes[place].side in ("low", "high")]
        kinds[key] = [kind for kind in (constant, [place for place in mine if place not in constant]) if kind]

    def chance(kind: list[int]) -> float:
        return float((sizes[:, kind] > 0).any(axis=1).mean())

    chances = {key: chance([place for part in kind for place in part]) for key, kind in kinds.items()}
    probable = sorted((key for key in chances if chances[key] >= PROBABLE_ROW), key=lambda key: -chances[key])
    estimates = []
    for key in probable[:SHOWN_ROWS]:
        kind = max(kinds[key], key=chance)
        samples = sizes[:, kind]
        samples = samples[(samples > 0).any(axis=1)] if chances[key] > SURE_ROW else samples
        mine = [causes[place] for place in kind]
        estimates.append(_estimate(mine, samples, posterior.trained, posterior.scale))
    return estimates


def _estimate(
    causes: Sequence[Cause], sizes: np.ndarray, trained: Mapping[str, Interval], scale: IntervalScale
) -> tuple[RowEstimate, np.ndarray]:
    """The estimate and (n,) values of a row, from (n, causes) samples of sizes of causes of one kind; 0 is nominal."""
    likely = int(np.argmax((sizes > 0).mean(axis=0)))
    cause = causes[likely]
    row, usual = cause.parameter, _none(cause)
    values = np.full(len(sizes), usual)
    for one, column in zip(causes, sizes.T, strict=True):
        values += [one.value(float(min(size, one.max_size))) - usual if size > 0 else 0.0 for size in column]
    values = np.clip(values, *bounds_of(row, cause.side))
    low, high = np.quantile(values, (QUANTILES[0], QUANTILES[2])).tolist()
    value = min(max(float(np.median(values[sizes[:, likely] > 0])), low), high)
    estimate = RowEstimate(
        row=row.name,
        unit=row.unit,
        value=value,
        interval=scale.widened(cause.gap, value, (low, high), bounds_of(row, cause.side)),
        nominal=cause.nominal,
        spread=cause.side == "spread",
        trained=trained.get(f"{row.name}.{cause.element}", trained.get(row.name)),
        element=cause.element,
    )
    return estimate, values


def bounds_of(row: Parameter, side: Side) -> Interval:
    """The least and the largest value of an estimate of a row."""
    if side == "share":
        return 0.0, 1.0
    return (0.0, np.inf) if side == "spread" else row.plausible


def _none(cause: Cause) -> float:
    """The value of a row without this cause: no share, no spread beyond that of the twin, or the nominal value."""
    if cause.side == "share":
        return 0.0
    return (cause.base[1] - cause.base[0]) / 2 if cause.side == "spread" else cause.nominal


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
