"""Noise for pictures is normal, independent, and the stream's own."""

import numpy as np
import pytest

from twinloop.observe.noise import NormalStream


def drawn(seed: int = 0, *shape: int) -> np.ndarray:
    return NormalStream(np.random.default_rng(seed)).normals(*(shape or (400, 500)))


def test_the_noise_is_normal():
    values = drawn()
    assert values.dtype == np.float32
    assert values.mean() == pytest.approx(0, abs=0.01)
    assert values.std() == pytest.approx(1, abs=0.01)
    shares = [(np.abs(values) < deviations).mean() for deviations in (1, 2, 3)]
    np.testing.assert_allclose(shares, [0.6827, 0.9545, 0.9973], atol=0.004)


def test_neighbouring_values_are_independent():
    values = drawn()
    for other in (values[1:] * values[:-1], values[:, 1:] * values[:, :-1]):
        assert other.mean() == pytest.approx(0, abs=0.01)


def test_a_stream_is_its_generators_and_another_each_time():
    np.testing.assert_array_equal(drawn(3, 5, 7), drawn(3, 5, 7))
    assert (drawn(3, 5, 7) != drawn(4, 5, 7)).any()
    rng = np.random.default_rng(0)
    first, second = NormalStream(rng).normals(50), NormalStream(rng).normals(50)
    assert (first != second).any()
    one = NormalStream(np.random.default_rng(1))
    assert (one.normals(50) != one.normals(50)).any()
