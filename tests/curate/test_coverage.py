import numpy as np
import pytest
from scipy.stats import qmc

from twinloop.curate.coverage import centred_discrepancy, coverage


def columns_of(points: np.ndarray) -> dict[str, np.ndarray]:
    return {f"p{index}": 10 * values - 3 for index, values in enumerate(points.T)}


def sobol(rows: int, dimensions: int = 4) -> np.ndarray:
    return qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(5)).random(rows)


def uniform(rows: int, dimensions: int = 4, *, seed: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).random((rows, dimensions))


@pytest.mark.parametrize("rows", [256, 2048, 16384])
def test_sobol_beats_independent_draws_at_every_size(rows):
    # At 16384 rows a strided sample would see one half of the space only.
    even, chance = coverage(columns_of(sobol(rows))), coverage(columns_of(uniform(rows)))
    assert even.unevenness is not None
    assert chance.unevenness is not None
    assert even.unevenness < 0.5 * chance.unevenness


def test_independent_draws_have_the_expected_discrepancy():
    results = [coverage(columns_of(uniform(300, seed=seed))) for seed in range(40)]
    mean = np.mean([result.discrepancy or np.nan for result in results])
    assert mean == pytest.approx(results[0].expected_discrepancy, rel=0.1)
    filled = [result.worst_pair.filled for result in results if result.worst_pair]
    assert len(filled) == 40
    assert results[0].expected_filled == pytest.approx(0.984, abs=0.01)
    assert np.mean(filled) == pytest.approx(results[0].expected_filled, abs=0.05)


def test_a_hole_between_two_parameters_is_found_and_named():
    points = sobol(4096, 5)
    hole = (points[:, 1] > 0.5) & (points[:, 3] < 0.4)
    report = coverage(columns_of(points[~hole]))
    assert report.worst_pair is not None
    assert (report.worst_pair.first, report.worst_pair.second) == ("p1", "p3")
    assert report.worst_pair.filled == pytest.approx(0.8, abs=0.03)
    assert report.unevenness is not None
    assert report.unevenness > 2
    # and it is where it was made
    empty = np.argwhere(report.worst_pair.counts == 0)
    assert report.worst_pair.first_edges[empty[:, 0]].min() >= 10 * 0.5 - 3 - 0.01
    assert report.worst_pair.second_edges[empty[:, 1] + 1].max() <= 10 * 0.4 - 3 + 0.01


def test_a_stretch_that_one_parameter_never_takes_is_found():
    points = sobol(2048, 3)
    report = coverage(columns_of(points[(points[:, 2] < 0.4) | (points[:, 2] > 0.6)]))
    assert report.worst_pair is not None
    assert report.worst_pair.second == "p2"
    assert report.worst_pair.filled < 0.85


def test_units_do_not_matter():
    points = sobol(512, 2)
    one = coverage({"a": points[:, 0], "b": points[:, 1]})
    other = coverage({"a": 1000 * points[:, 0] + 7, "b": -points[:, 1]})
    assert one.discrepancy == pytest.approx(other.discrepancy)


def test_a_range_over_decades_is_even_by_its_logarithm():
    points = sobol(1024, 2)
    report = coverage({"a": 10 ** (4 * points[:, 0]), "b": points[:, 1]})
    assert report.unevenness is not None
    assert report.unevenness < 0.5
    assert report.worst_pair is not None
    assert report.worst_pair.filled > 0.99


def test_constant_columns_and_incomplete_rows_are_left_out():
    points = sobol(64, 2)
    gappy = points[:, 1].copy()
    gappy[3] = np.nan
    report = coverage({"a": points[:, 0], "fixed": np.ones(64), "b": gappy})
    assert report.columns == ("a", "b")
    assert report.rows == 63


def test_a_choice_of_few_values_fills_its_own_cells():
    points = sobol(1024, 2)
    report = coverage({"kind": np.floor(3 * points[:, 0]), "b": points[:, 1]})
    assert report.worst_pair is not None
    assert report.worst_pair.counts.shape[0] == 3
    assert report.worst_pair.filled == 1


@pytest.mark.parametrize("columns", [{}, {"a": np.ones(5)}, {"a": np.array([1.0])}, {"a": np.array([])}])
def test_without_varied_columns_there_is_no_measure(columns):
    report = coverage(columns)
    assert report.columns == ()
    assert report.unevenness is None
    assert report.worst_pair is None


def test_the_discrepancy_is_scipys(rng: np.random.Generator):
    for points in (rng.random((100, 3)), qmc.Sobol(5, rng=1).random(64)):
        assert centred_discrepancy(points) == pytest.approx(qmc.discrepancy(points, method="CD"), rel=1e-9)
