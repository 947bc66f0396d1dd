"""Posterior probability that each gap is open, from the robot's episodes and the bank of counterfactuals.

A set of episodes is summarised as one vector s (`summary.py`). If the gaps g of a set G are open with magnitudes t_g,

    s - s0 ~ T( Σ t_g μ_g,  Σ t_g² C_g + D )

- s0 is the summary of the unchanged twin.
- μ_g and C_g are mean and covariance of the changes that the hypotheses of a gap cause, per unit of magnitude. C_g also
  allows for effects on the gap's own traits that no hypothesis has.
- D is the variance from other causes: the sample sizes, the difference between two correct simulators of one cell (a
  trait's floor), and a share of the effect itself, because effects are not linear.

T is Student's t distribution, so that a single outlying trait does not decide alone. A beam search goes through sets of
gaps with magnitudes, from the empty set to larger ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from twinloop.diagnose.bank import Bank
from twinloop.diagnose.summary import ENTRIES, FLOORS, TraitSummary, summarise
from twinloop.randomize.parameter import GAPS, Gap

OPEN = 0.15
"""Prior probability that a gap is open."""
MAGNITUDES = (0.3, 0.5, 0.7, 1.0, 1.4)
BEND = 0.35  # standard deviation of an effect from linearity, as a share of the effect
TAIL = 6.0  # degrees of freedom of the t distribution
OWN = 2.0
"""Standard deviation, in floors, of effects on a gap's own traits that no row of the parameter table causes."""
OUTCOMES = {"success": -0.5, "grasped": -0.25, "duration": 1.0}
"""Standard deviation of further effects of a gap on these traits, per unit of magnitude, fully correlated.

They are correlated because failed episodes take longer. They are large because several errors together cost far more
success than the sum of each alone.
"""
APART = 0.3  # standard deviation of the uncorrelated part, as a share of `OUTCOMES`
FURTHER = 24  # beam width: sets that are extended by one more gap
COUNTED = 200  # number of most probable explanations over which costs are averaged
SUCCESS = next(at for at, entry in enumerate(ENTRIES) if entry.name == "success")
STRANGE = 4.0
"""A residual of the best explanation above this many standard deviations is strange."""

Opened = tuple[tuple[Gap, float], ...]
"""Gaps and their magnitudes."""


@dataclass(frozen=True)
class GapEffect:
    """The effect of a gap per unit of magnitude.

    Attributes:
        mean, covariance: (entries,) and (entries, entries) of the change of the summary.
        rows: names of the gap's rows.
        sizes: (rows,) mean error of each row.
        crossed: (rows, entries) covariance of row errors and changes.
        of_rows: (rows, rows) covariance of row errors.
    """

    mean: np.ndarray
    covariance: np.ndarray
    rows: tuple[str, ...]
    sizes: np.ndarray
    crossed: np.ndarray
    of_rows: np.ndarray


@dataclass(frozen=True)
class Explanation:
    """A set of open gaps with its log-probability, up to a constant."""

    opened: Opened
    log_probability: float


@dataclass(frozen=True)
class RowPosterior:
    """Estimated error of one row.

    Attributes:
        size: the error as a share of the distance from nominal to the end of the hypotheses' range.
        deviation: standard deviation of `size`.
    """

    row: str
    size: float
    deviation: float


@dataclass(frozen=True)
class GapPosterior:
    """The posterior over gaps.

    Attributes:
        probability: of each gap, that it is open.
        magnitude: of each gap if it is open, with its standard deviation.
        cost: loss of success rate (a share) due to each gap, with its standard deviation.
        nothing: probability that no gap is open.
        best: the most probable explanation.
        shown: (entries,) difference from the twin in standard deviations.
        left: (entries,) residual of the best explanation in standard deviations.
        rows: rows of each gap with a probability above 0.5, or of the most probable gap if there is none.
        surprise: squared Mahalanobis distance of the residual, per entry.
    """

    probability: Mapping[Gap, float]
    magnitude: Mapping[Gap, tuple[float, float]]
    cost: Mapping[Gap, tuple[float, float]]
    nothing: float
    best: Opened
    deviations: np.ndarray
    left: np.ndarray
    rows: Mapping[Gap, tuple[RowPosterior, ...]]
    surprise: float

    @property
    def ranked(self) -> tuple[Gap, ...]:
        """Gaps by probability (rounded to 0.01), the highest first; ties by cost, the highest first."""
        return tuple(sorted(GAPS, key=lambda gap: (-round(self.probability[gap], 2), -self.cost[gap][0])))

    @property
    def strange(self) -> tuple[str, ...]:
        """Names of the entries that no gap explains, the largest residual first."""
        order = np.argsort(-np.abs(np.nan_to_num(self.left)))
        return tuple(ENTRIES[at].name for at in order if abs(np.nan_to_num(self.left[at])) > STRANGE)


def gap_posterior(bank: Bank, summary: TraitSummary) -> GapPosterior:
    """The posterior over gaps, given the summary of the robot's episodes."""
    return _Scales(bank, summary).gap_posterior()


class _Scales:
    def __init__(self, bank: Bank, summary: TraitSummary):
        usual = summarise(bank.reference.traits)
        self.known = np.isfinite(summary.values) & np.isfinite(usual.values)
        self.difference = (summary.values - usual.values)[self.known]
        noise = summary.variances + usual.variances + FLOORS**2
        self.noise = noise[self.known]
        gaps: list[Gap] = [gap for gap in GAPS if bank.by_gap[gap]]
        self.effects: dict[Gap, GapEffect] = {gap: _effect(bank, gap, usual, self.known) for gap in gaps}

    def gap_posterior(self) -> GapPosterior:
        explanations = self._search()
        logs = np.array([explanation.log_probability for explanation in explanations])
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        probability: dict[Gap, float] = {}
        magnitude: dict[Gap, tuple[float, float]] = {}
        for gap in GAPS:
            sizes = np.array([dict(explanation.opened).get(gap, 0.0) for explanation in explanations])
            mine = weights * (sizes > 0)
            probability[gap] = float(mine.sum())
            mean = float((mine * sizes).sum() / max(mine.sum(), 1e-12))
            magnitude[gap] = mean, float(np.sqrt((mine * np.square(sizes - mean)).sum() / max(mine.sum(), 1e-12)))
        cost = self._costs(explanations, weights)
        best = explanations[int(np.argmax(logs))].opened
        mean, covariance = self._expected(best)
        rest = self.difference - mean
        listed: list[Gap] = [gap for gap in GAPS if probability[gap] > 0.5]
        listed = listed or [max(GAPS, key=lambda gap: probability[gap])]
        return GapPosterior(
            probability=probability,
            magnitude=magnitude,
            cost=cost,
            nothing=float(weights[[not explanation.opened for explanation in explanations]].sum()),
            best=best,
            deviations=self._spread_out(self.difference / np.sqrt(self.noise)),
            left=self._spread_out(rest / np.sqrt(np.diag(covariance))),
            rows={gap: self._rows(gap, dict(best).get(gap, 0.0), rest, covariance) for gap in listed},
            surprise=float(rest @ np.linalg.solve(covariance, rest)) / len(rest),
        )

    def _costs(self, explanations: list[Explanation], weights: np.ndarray) -> dict[Gap, tuple[float, float]]:
        """Loss of success per gap: the observed loss divided among the gaps, averaged over explanations."""
        at = int(np.flatnonzero(np.flatnonzero(self.known) == SUCCESS)[0]) if self.known[SUCCESS] else None
        first: dict[Gap, float] = dict.fromkeys(GAPS, 0.0)
        second = dict(first)
        for row in np.argsort(-weights)[:COUNTED] if at is not None else ():
            mean, covariance = self._expected(explanations[row].opened)
            rest = self.difference - mean
            for gap, size in explanations[row].opened:
                effect = self.effects[gap]
                shared = size**2 * effect.covariance[at]
                gain = np.linalg.solve(covariance, shared)
                lost = -(size * effect.mean[at] + gain @ rest)
                # The error of the linear model is part of the gap's uncertainty.
                bent = np.square(BEND * size * effect.mean[at])
                variance = max(shared[at] - gain @ shared, 0.0) + bent
                first[gap] += weights[row] * lost
                second[gap] += weights[row] * (variance + lost**2)
        return {gap: (first[gap], float(np.sqrt(max(second[gap] - first[gap] ** 2, 0.0)))) for gap in GAPS}

    def _search(self) -> list[Explanation]:
        """Beam search: all sets of one gap, then sets that extend the best of the previous size by one gap."""
        level = [self._explained(())]
        explanations = list(level)
        for _ in range(len(self.effects)):
            level.sort(key=lambda explanation: -explanation.log_probability)
            extended: dict[Opened, Explanation] = {}
            for explanation in level[:FURTHER]:
                for gap in self.effects:
                    if gap in dict(explanation.opened):
                        continue
                    for size in MAGNITUDES:
                        opened: Opened = tuple(sorted((*explanation.opened, (gap, size))))
                        if opened not in extended:
                            extended[opened] = self._explained(opened)
            level = list(extended.values())
            if not level:
                break
            explanations += level
            if (
                max(explanation.log_probability for explanation in level)
                < max(explanation.log_probability for explanation in explanations) - 8
            ):
                break  # larger sets have negligible probability
        return explanations

    def _explained(self, opened: Opened) -> Explanation:
        mean, covariance = self._expected(opened)
        lower = np.linalg.cholesky(covariance)
        rest = np.linalg.solve(lower, self.difference - mean)
        n = len(rest)
        likelihood = -np.log(np.diag(lower)).sum() - (TAIL + n) / 2 * np.log1p(rest @ rest / TAIL)
        k = len(opened)
        prior = k * np.log(OPEN / len(MAGNITUDES)) + (len(GAPS) - k) * np.log(1 - OPEN)
        return Explanation(opened, float(likelihood + prior))

    def _expected(self, opened: Opened) -> tuple[np.ndarray, np.ndarray]:
        mean, covariance = np.zeros(len(self.noise)), np.diag(self.noise)
        for gap, size in opened:
            effect = self.effects[gap]
            mean = mean + size * effect.mean
            covariance = covariance + size**2 * effect.covariance
        return mean, covariance + np.diag(np.square(BEND * mean))

    def _rows(self, gap: Gap, size: float, rest: np.ndarray, covariance: np.ndarray) -> tuple[RowPosterior, ...]:
        """Posterior of the row errors of a gap, conditioned on the observed summary; the clearest row first."""
        effect = self.effects.get(gap)
        if effect is None:
            return ()
        size = size or MAGNITUDES[1]
        gain = np.linalg.solve(covariance, size**2 * effect.crossed.T).T
        sizes = size * effect.sizes + gain @ rest
        after = size**2 * effect.of_rows - gain @ (size**2 * effect.crossed.T)
        deviations = np.sqrt(np.maximum(np.diag(after), 1e-6))
        rows = [RowPosterior(*values) for values in zip(effect.rows, sizes.tolist(), deviations.tolist(), strict=True)]
        return tuple(sorted(rows, key=lambda row: -abs(row.size) / row.deviation))

    def _spread_out(self, values: np.ndarray) -> np.ndarray:
        whole = np.full(len(ENTRIES), np.nan)
        whole[self.known] = values
        return whole


def _effect(bank: Bank, gap: Gap, usual: TraitSummary, known: np.ndarray) -> GapEffect:
    cells = bank.by_gap[gap]
    summaries = [summarise(cell.traits) for cell in cells]
    units = np.array([cell.hypothesis.magnitude for cell in cells])[:, None]
    # Entries with too few episodes in a cell are taken as unchanged.
    changes = np.nan_to_num(np.array([summary.values for summary in summaries]) - usual.values)[:, known]
    rows, sizes = bank.sizes(gap)
    # Regression through the origin: cells with a small magnitude have little weight.
    weight = float(np.square(units).sum())
    mean, middle = (units * changes).sum(axis=0) / weight, (units * sizes).sum(axis=0) / weight
    own = np.array([entry.floor * (entry.about.gap == gap) for entry in ENTRIES])[known]
    costs = np.array([OUTCOMES.get(entry.name, 0.0) for entry in ENTRIES])[known]
    off, apart = changes - units * mean, sizes - units * middle
    covariance = off.T @ off / weight + np.diag(np.square(OWN * own) + np.square(APART * costs))
    return GapEffect(
        mean=mean,
        covariance=covariance + np.outer(costs, costs),
        rows=rows,
        sizes=middle,
        crossed=apart.T @ off / weight,
        of_rows=apart.T @ apart / weight,
    )
