import numpy as np
import pytest

from tests.dashboard.made_up import SLIPPERY, write_run
from twinloop.curate.intervals import wilson
from twinloop.curate.rates import success_by_parameter
from twinloop.dashboard import read_attempts, summarize
from twinloop.dataset import Dataset


def test_bins_share_out_all_attempts():
    rng = np.random.default_rng(3)
    values = rng.normal(size=1003)
    success = rng.random(1003) < 0.7
    (by_column,) = success_by_parameter({"a": values}, success)
    trials = np.array([rate.trials for rate in by_column.bins])
    assert trials.sum() == 1003
    assert sum(rate.successes for rate in by_column.bins) == success.sum()
    assert np.ptp(trials) <= 1
    assert (by_column.edges[1:, 0] > by_column.edges[:-1, 1]).all()


def test_the_strongest_comes_first_and_its_fall_is_where_it_was_made():
    rng = np.random.default_rng(4)
    draws = {name: rng.random(2000) for name in ("nothing", "weak", "strong")}
    chance = 0.9 - 0.2 * draws["weak"] - 0.7 * (draws["strong"] > 0.8)
    by_column = success_by_parameter(draws, rng.random(2000) < chance)
    assert [column_rate.column for column_rate in by_column] == ["strong", "weak", "nothing"]
    assert by_column[0].fall is not None
    assert by_column[0].fall.low == pytest.approx(0.8, abs=0.01)
    assert by_column[0].fall.high == pytest.approx(1.0, abs=0.01)
    assert by_column[0].fall.rate.interval[1] < by_column[0].fall.overall.value
    assert by_column[2].fall is None


def test_chance_alone_raises_hardly_any_alarm():
    rng = np.random.default_rng(5)
    alarms = sum(
        any(
            column_rate.fall
            for column_rate in success_by_parameter(
                {str(column): values for column, values in enumerate(rng.random((8, 300)))}, rng.random(300) < 0.8
            )
        )
        for _ in range(100)
    )
    assert alarms <= 4  # 1 is expected; without sharing out the level it would be about 60


def test_strength_grows_with_the_effect():
    rng = np.random.default_rng(6)
    values, luck = rng.random(3000), rng.random(3000)
    strengths = [
        success_by_parameter({"a": values}, luck < 0.5 + effect * (values - 0.5))[0].strength
        for effect in (0.1, 0.3, 0.6, 0.9)
    ]
    assert strengths == sorted(strengths)
    assert success_by_parameter({"a": values}, values > 0.5)[0].strength == pytest.approx(1, abs=0.02)


def test_few_values_have_a_bin_each_and_missing_ones_none():
    values = np.tile([1.0, 2.0, 5.0, np.nan], 30)
    (by_column,) = success_by_parameter({"a": values}, np.tile([True, False, True, False], 30))
    assert by_column.edges.tolist() == [[1, 1], [2, 2], [5, 5]]
    assert [rate.value for rate in by_column.bins] == [1, 0, 1]
    assert by_column.overall.trials == 90
    assert by_column.fall is not None
    assert (by_column.fall.low, by_column.fall.high) == (2, 2)


def test_constant_columns_are_left_out():
    assert success_by_parameter({"a": np.ones(9), "b": np.full(9, np.nan)}, np.ones(9, bool)) == ()
    assert success_by_parameter({"a": np.empty(0)}, np.empty(0, bool)) == ()


def test_the_summary_of_a_run(tmp_path):
    verdicts = write_run(tmp_path / "d", episodes=300)
    summary = summarize(Dataset.open(tmp_path / "d"))
    assert summary.accepted.trials == 300
    assert summary.accepted.successes == verdicts.count("accepted")
    low, high = wilson(verdicts.count("accepted"), 300)
    assert summary.accepted.interval == (low, high)
    assert summary.rejected == {"task_failed": verdicts.count("task_failed"), "deep_penetration": 30}
    assert summary.complete
    assert summary.trajectories_per_second is None
    strongest = summary.by_parameter[0]
    assert strongest.column == "friction_coefficient"
    assert strongest.fall is not None
    assert strongest.fall.high == pytest.approx(SLIPPERY, abs=0.1)


def test_a_bounded_sample_keeps_the_counts_and_the_spread(tmp_path):
    write_run(tmp_path / "d", episodes=1024)
    dataset = Dataset.open(tmp_path / "d")
    everything, some = read_attempts(dataset), read_attempts(dataset, most=256)
    assert len(some.number) == 256
    assert some.total == everything.total == 1024
    assert some.outcomes == everything.outcomes
    for name, values in some.draws.items():
        quarters = np.histogram(values, 4, range=(everything.draws[name].min(), everything.draws[name].max()))[0]
        assert quarters.min() > 48, name  # every 4th attempt would fill one half only
