"""Quantiles of an episode are those of NumPy, bitwise."""

import numpy as np
import pytest

from twinloop.curate.quality.spans import quantile, span

SIGNALS = {
    "one value": np.array([3.0]),
    "two values": np.array([1.0, -2.0]),
    "noise": np.random.default_rng(0).normal(size=317),
    "steps": np.random.default_rng(1).integers(0, 4, 200) * 0.1,
    "integers": np.arange(50)[::-1],
    "float32": np.random.default_rng(2).random(64, np.float32).astype(float),
    "NaN": np.array([1.0, np.nan, 2.0]),
    "infinite": np.array([1.0, 2.0, 3.0, 4.0, np.inf] * 3),
}


@pytest.mark.parametrize("name", SIGNALS)
def test_a_quantile_is_that_of_numpy(name: str):
    values = SIGNALS[name]
    with np.errstate(invalid="ignore"):
        for share in (0.0, 0.02, 0.37, 0.5, 0.75, 0.9, 0.95, 0.97, 1.0):
            np.testing.assert_array_equal(quantile(values, share), np.quantile(values, share))
        low, high = np.quantile(values, (0.01, 0.99))
        np.testing.assert_array_equal(span(values), float(high - low))


def test_no_values_have_no_quantile():
    with pytest.raises(IndexError):
        quantile(np.array([]), 0.5)
