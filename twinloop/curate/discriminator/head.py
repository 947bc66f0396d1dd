"""FaultHead: a logistic classifier of good and faulty episodes whose weights are not negative.

Every feature says "more implausible" the larger it is, so a feature may only raise the score. A kind of fault that the
head was not trained against can therefore not lower it.
"""

from dataclasses import dataclass

import numpy as np

L2 = 0.02
JITTER = 0.35
"""Standard deviation of the logarithm by which features of good episodes vary in training. Objects and scenes that the
training data lacks differ by as much."""
COPIES = 4


@dataclass(frozen=True)
class FaultHead:
    weights: np.ndarray
    constant: float

    def logit(self, ratios: np.ndarray) -> np.ndarray:
        """(n,) log odds of a fault. ratios: (n, features), features divided by their limits."""
        return _inputs(ratios) @ self.weights + self.constant


def _inputs(ratios: np.ndarray) -> np.ndarray:
    return np.log1p(np.maximum(ratios - 1.0, 0.0))


def fit_head(good: np.ndarray, faulty: np.ndarray, *, rng: np.random.Generator) -> FaultHead:
    """Fit on (n, features) ratios of good and of faulty episodes; both classes have the same weight."""
    from scipy.optimize import minimize

    jittered = np.concatenate([good * np.exp(JITTER * rng.normal(size=good.shape)) for _ in range(COPIES)])
    inputs = np.concatenate([_inputs(jittered), _inputs(faulty)])
    target = np.concatenate([np.zeros(len(jittered)), np.ones(len(faulty))])
    weight = np.where(target == 1, 0.5 / len(faulty), 0.5 / len(jittered))

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        logit = inputs @ values[:-1] + values[-1]
        probability = 1 / (1 + np.exp(-np.clip(logit, -50, 50)))
        cross = np.logaddexp(0, logit) - target * logit
        slope = weight * (probability - target)
        gradient = np.append(inputs.T @ slope + L2 * values[:-1] / len(values), slope.sum())
        return float((weight * cross).sum() + 0.5 * L2 * (values[:-1] ** 2).mean()), gradient

    width = inputs.shape[1]
    bounds = [(0.0, 10.0)] * width + [(None, None)]
    result = minimize(loss, np.append(np.full(width, 0.1), -1.0), jac=True, bounds=bounds, method="L-BFGS-B")
    return FaultHead(result.x[:-1], float(result.x[-1]))
