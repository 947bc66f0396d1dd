"""Ranges that a classifier cannot tell from reality: the distribution of row values under which simulated episodes look
like real ones.

The method follows SimOpt (Chebotar et al., arXiv 1810.05687): simulate episodes with values from a normal distribution,
compare them with real episodes, move the distribution, repeat. The comparison is a classifier between real and
simulated episodes. Its odds are the ratio of the two densities, so they are the weights that turn the simulated
episodes into the real ones (Cranmer et al., arXiv 1506.02169). No likelihood is needed.

Values are places: 0 to 1 over the range that is searched.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.diagnose.traits import TRAITS
from twinloop.errors import UsageError

TREES, LEAF = 200, 3
UPDATES = 4
"""Updates of the distribution after each round of simulations. Each trains a classifier."""
MIN_EPISODES = 4
"""Effective number of simulated episodes per row that an estimate must rest on. It limits the step of an update."""
BOOTSTRAPS = 24
MIN_STD = 0.02
"""Smallest standard deviation of a place, so that the next simulations do not collapse to one value."""
RIDGE = 30.0
MOST_LOG_RATIO = 4.0
INFLATED = 1.5
"""The next simulations are spread wider than the estimate by this factor, so that they also cover its error."""
FOLDS = 5
MIN_SLOPE, MOST_STEP = 0.1, 0.25
"""A row whose summary hardly follows it moves little. A place moves at most by this much in an update."""


@dataclass(frozen=True)
class PlaceDistribution:
    """A normal distribution of places, cut at 0 and 1."""

    mean: np.ndarray
    covariance: np.ndarray

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """(count, rows) places inside the searched range."""
        drawn = rng.multivariate_normal(self.mean, self.covariance, size=4 * count + 64)
        inside = drawn[((drawn >= 0) & (drawn <= 1)).all(axis=1)]
        if len(inside) < count:
            inside = np.concatenate([inside, np.clip(drawn, 0, 1)])
        return inside[:count]

    def log_density(self, places: np.ndarray) -> np.ndarray:
        """(n,) log density, up to a constant that depends on the estimate only through its covariance."""
        away = places - self.mean
        inverse = np.linalg.inv(self.covariance)
        _, size = np.linalg.slogdet(self.covariance)
        return -0.5 * (np.einsum("ni,ij,nj->n", away, inverse, away) + size)


class Simulations:
    """All simulated episodes so far, with the distributions that their values were drawn from."""

    def __init__(self, rows: int):
        self.places, self.traits = np.zeros((0, rows)), np.zeros((0, 0))
        self._proposals: list[tuple[PlaceDistribution | None, int]] = []

    def add(self, places: np.ndarray, traits: np.ndarray, proposal: PlaceDistribution | None) -> None:
        """Add episodes. proposal: None if the places are uniform."""
        self.places = np.concatenate([self.places, places])
        self.traits = traits if not self.traits.size else np.concatenate([self.traits, traits])
        self._proposals.append((proposal, len(places)))

    def log_proposal(self) -> np.ndarray:
        """(n,) log density of the mixture of all proposals."""
        rows = self.places.shape[1]
        parts = []
        for proposal, count in self._proposals:
            density = np.zeros(len(self.places))
            if proposal is not None:
                density = proposal.log_density(self.places) - 0.5 * rows * np.log(2 * np.pi)
            parts.append(density + np.log(count))
        return np.logaddexp.reduce(parts, axis=0) - np.log(len(self.places))


def summaries(simulations: Simulations, real: np.ndarray, *, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Learned summaries of traits: the places that a regression predicts from them.

    Traits that say nothing about the rows drop out, so a difference between robot and twin that no row explains
    disturbs little. Predictions for simulated episodes are out-of-bag, so they are as uncertain as those for real ones.

    Returns:
        ((n, rows) of the simulations, (m, rows) of the real episodes, (rows,) share of variance explained).
    """
    from sklearn.ensemble import ExtraTreesRegressor

    known = _usable(simulations.traits, real)
    if not known.any():
        raise UsageError("no trait of these episodes is known in both the logs and the twin")
    middle = np.nanmedian(simulations.traits[:, known], axis=0)
    inputs, asked = (np.where(np.isnan(values[:, known]), middle, values[:, known])
                     for values in (simulations.traits, real))  # fmt: skip
    columns, answers = [], []
    # One forest per row: a forest for all rows splits by the rows that are easiest to predict.
    for place in simulations.places.T:
        forest = ExtraTreesRegressor(TREES, min_samples_leaf=LEAF, bootstrap=True, oob_score=True, random_state=seed)
        forest.fit(inputs, place)
        columns.append(np.asarray(forest.oob_prediction_))
        answers.append(np.asarray(forest.predict(asked)))
    predicted = np.column_stack(columns)
    error = np.square(predicted - simulations.places).mean(axis=0)
    explained = 1 - error / np.maximum(simulations.places.var(axis=0), 1e-12)
    return predicted, np.column_stack(answers), explained


def _usable(simulated: np.ndarray, real: np.ndarray) -> np.ndarray:
    """(traits,) known in most episodes on both sides, and varying in simulation."""
    with np.errstate(invalid="ignore"):
        known = (np.isfinite(simulated).mean(axis=0) > 0.7) & (np.isfinite(real).mean(axis=0) > 0.7)
        varies = np.array([np.ptp(column[np.isfinite(column)]) > 0 if np.isfinite(column).any() else False
                           for column in simulated.T])  # fmt: skip
    return known & varies


def matched(
    simulations: Simulations, simulated: np.ndarray, real: np.ndarray, start: PlaceDistribution
) -> PlaceDistribution:
    """Return the distribution of places under which the summaries of simulated episodes match the real ones.

    Args:
        simulated, real: (n, rows) and (m, rows) summaries.
        start: first estimate.
    """
    from sklearn.linear_model import LogisticRegression

    estimate, proposal = start, simulations.log_proposal()
    centre, scale = simulated.mean(axis=0), simulated.std(axis=0) + 1e-9
    both = (np.concatenate([simulated, real]) - centre) / scale
    features = np.column_stack([both, np.square(both)])
    labels = np.repeat([0, 1], [len(simulated), len(real)])
    for _ in range(UPDATES):
        weights = _normalised(estimate.log_density(simulations.places) - proposal)
        # Both classes count as many episodes as there are real ones, so the ridge acts as with that many.
        sample = np.concatenate([weights * len(real), np.ones(len(real))])
        classifier = LogisticRegression(C=RIDGE, max_iter=200).fit(features, labels, sample_weight=sample)
        ratio = np.clip(classifier.decision_function(features[: len(simulated)]), -MOST_LOG_RATIO, MOST_LOG_RATIO)
        posterior = _limited(weights, ratio, least=MIN_EPISODES * simulations.places.shape[1])
        if posterior is None:
            break
        mean = _moved(simulations.places, simulated, weights, posterior)
        away = simulations.places - mean
        covariance = (away * posterior[:, None]).T @ away + MIN_STD**2 * np.eye(len(mean))
        estimate = PlaceDistribution(mean, covariance)
    return estimate


def _moved(places: np.ndarray, simulated: np.ndarray, weights: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """The mean place whose summaries lie where the classifier's weights put them.

    The mean of the weighted places would move only by the share of a place's variance that its summary explains. So
    the shift of the summaries is divided by their slope over places.
    """
    mean, centre = weights @ places, weights @ simulated
    away, off = places - mean, simulated - centre
    spread = (away * weights[:, None]).T @ away
    slope = np.linalg.solve(spread + 1e-6 * np.eye(len(mean)), (away * weights[:, None]).T @ off).T
    shift = posterior @ simulated - centre
    step = np.linalg.solve(slope.T @ slope + MIN_SLOPE**2 * np.eye(len(mean)), slope.T @ shift)
    return np.clip(mean + np.clip(step, -MOST_STEP, MOST_STEP), 0, 1)


def _limited(weights: np.ndarray, ratio: np.ndarray, *, least: int) -> np.ndarray | None:
    """Weights times the density ratio to the largest power up to 1 that keeps `least` effective episodes.

    None if the weights alone have fewer: these simulations say no more.
    """
    for power in (1.0, 0.7, 0.5, 0.35, 0.25, 0.15):
        posterior = _normalised(np.log(weights + 1e-300) + power * ratio)
        if 1 / np.square(posterior).sum() >= least:
            return posterior
    return None


def _normalised(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def bootstrapped(
    simulations: Simulations,
    simulated: np.ndarray,
    real: np.ndarray,
    estimate: PlaceDistribution,
    *,
    rng: np.random.Generator,
) -> np.ndarray:
    """(samples, rows) places from estimates for resampled real episodes: width of the range and its error together."""
    samples = []
    for _ in range(BOOTSTRAPS):
        again = real[rng.integers(0, len(real), len(real))]
        samples.append(matched(simulations, simulated, again, estimate).sample(64, rng))
    return np.concatenate(samples)


def distinguishability(simulated: np.ndarray, real: np.ndarray, *, seed: int) -> tuple[float, float]:
    """Cross-fitted AUC of a classifier between simulated and real traits, and its standard error (Hanley, McNeil 1982).

    0.5: the classifier cannot tell them apart.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    known = _usable(simulated, real)
    middle = np.nanmedian(simulated[:, known], axis=0)
    inputs = np.concatenate([np.where(np.isnan(v[:, known]), middle, v[:, known]) for v in (simulated, real)])
    labels = np.repeat([0, 1], [len(simulated), len(real)])
    folds = StratifiedKFold(min(FOLDS, len(real)), shuffle=True, random_state=seed)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, class_weight="balanced", max_iter=500))
    scores = np.asarray(cross_val_predict(model, inputs, labels, cv=folds, method="decision_function"), float)
    negative, positive = scores[labels == 0], scores[labels == 1]
    away = np.subtract.outer(positive, negative)
    auc = float(np.mean(np.where(away == 0, 0.5, away > 0)))
    first, second = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    count, others = len(positive), len(negative)
    variance = auc * (1 - auc) + (count - 1) * (first - auc**2) + (others - 1) * (second - auc**2)
    return auc, float(np.sqrt(max(variance, 0) / (count * others)))


def first_estimate(rows: int) -> PlaceDistribution:
    """The estimate before any comparison: as wide as the searched range."""
    return PlaceDistribution(np.full(rows, 0.5), np.eye(rows) / 6)


def inflated(estimate: PlaceDistribution) -> PlaceDistribution:
    return PlaceDistribution(estimate.mean, estimate.covariance * INFLATED**2)


def scaled_traits(traits: np.ndarray) -> np.ndarray:
    """(n, traits) on their scale of comparison, without those that are consequences of failing."""
    kept = [index for index, trait in enumerate(TRAITS) if not trait.outcome]
    return np.column_stack([TRAITS[index].scaled(traits[:, index]) for index in kept])
