from itertools import pairwise

import numpy as np
import pytest

from twinloop.diagnose.conditions import condition_tests


def test_only_a_condition_that_fails_is_significant():
    kinds = {
        "light": np.array(["dim"] * 15 + ["normal"] * 25, object),
        "object": np.array(["can", "cube"] * 20, object),
    }
    success = np.array([False] * 13 + [True] * 27)
    result = condition_tests(kinds, success)
    assert result[0].about == "light"
    assert result[0].corrected < 0.05
    assert not any(look.corrected < 0.05 for look in result if look.about == "object")


def test_p_values_are_fishers_and_corrected_after_holm():
    from scipy.stats import fisher_exact

    kinds = {"light": np.array(["dim"] * 10 + ["normal"] * 10, object), "human": np.array(["present", "absent"] * 10)}
    success = np.array([False] * 6 + [True] * 14)
    result = condition_tests(kinds, success)
    assert len(result) == 4
    wanted = float(np.asarray(fisher_exact([[4, 6], [10, 0]]))[1])
    assert result[0].p == pytest.approx(wanted)
    assert result[0].corrected == pytest.approx(min(1.0, 4 * wanted))
    assert all(a.corrected <= b.corrected for a, b in pairwise(result))


def test_kinds_of_too_few_episodes_are_not_looked_at():
    assert condition_tests({"object": np.array(["can"] * 2 + ["cube"] * 30, object)}, np.ones(32, bool)) == ()


def test_few_conditions_are_significant_by_chance():
    rng = np.random.default_rng(5)
    count = 0
    for _ in range(60):
        kinds = {str(name): rng.integers(0, 2, 40).astype(str).astype(object) for name in range(4)}
        count += any(look.corrected < 0.05 for look in condition_tests(kinds, rng.random(40) < 0.6))
    assert count <= 8  # 3 of 60 are expected at most
