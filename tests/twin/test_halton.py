"""Halton's sequence equals that of SciPy, bit for bit."""

import numpy as np
import pytest
from scipy.stats import qmc

from twinloop.twin.halton import PRIMES, halton


@pytest.mark.parametrize("dimensions", [1, 3, 7, len(PRIMES)])
def test_points_are_those_of_scipy(dimensions: int):
    np.testing.assert_array_equal(halton(200, dimensions), qmc.Halton(dimensions, scramble=False).random(200))
