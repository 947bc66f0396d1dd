"""Laws of draws: independent of order and of other parameters, and evenly distributed."""

import numpy as np
import pytest
from scipy.stats import kstest, qmc

from twinloop.randomize.distribution import Choice, Constant, LogUniform, Normal, Truncated, Uniform
from twinloop.randomize.draw import Sampler, episode_rng
from twinloop.randomize.sequence import BITS, GROUP, Sequence, sobol
from twinloop.randomize.table import COLUMNS, TABLE

NESTED = {
    "friction_coefficient": Normal(Uniform(0.5, 0.7), Uniform(0.02, 0.05)),
    "object_mass_kg": LogUniform(0.05, 0.4),
    "object_yaw_deg": Truncated(0.0, 20.0, -45.0, 45.0),
    "object_position_noise_cm": Uniform(-2.0, 2.0),
}


@pytest.mark.parametrize(("first", "stop"), [(0, 1), (0, 7), (5, 6), (63, 130), (1000, 1064)])
def test_an_episode_drawn_alone_is_the_one_drawn_among_others(first: int, stop: int):
    everyone = Sampler(NESTED, seed=4).draw(0, 1100)
    alone = Sampler(NESTED, seed=4).draw(first, stop)
    for column in COLUMNS:
        np.testing.assert_array_equal(alone.values[column], everyone.values[column][first:stop])


def test_order_of_drawing_does_not_matter():
    sampler = Sampler(NESTED, seed=4)
    late, early = sampler.draw(64, 128), sampler.draw(0, 64)
    fresh = Sampler(NESTED, seed=4).draw(0, 128)
    for column in COLUMNS:
        np.testing.assert_array_equal(np.concatenate([early.values[column], late.values[column]]), fresh.values[column])


def test_switching_a_parameter_on_leaves_every_other_value_as_it_was():
    without = Sampler({"object_mass_kg": Uniform(0.1, 0.2)}, seed=0).draw(0, 64)
    with_it = Sampler({**NESTED, "object_mass_kg": Uniform(0.1, 0.2)}, seed=0)
    np.testing.assert_array_equal(with_it.draw(0, 64).values["object_mass_kg"], without.values["object_mass_kg"])


def test_seeds_differ():
    one, two = (Sampler(NESTED, seed=seed).draw(0, 64).values["object_mass_kg"] for seed in (0, 1))
    assert not np.any(one == two)


def test_values_that_are_not_varied_are_nominal():
    values = Sampler({}, seed=0).draw(0, 8).values
    for parameter in TABLE:
        for column in parameter.columns:
            assert (values[column] == parameter.nominal).all()


def test_draws_cover_more_evenly_than_chance():
    """All parameters together: below the discrepancy of independent draws, at any length."""
    for count in (100, 512, 1000):
        ours = qmc.discrepancy(Sequence(9, seed=0).points(0, count))
        chance = [qmc.discrepancy(np.random.default_rng(seed).random((count, 9))) for seed in range(5)]
        assert ours < 0.7 * min(chance)


@pytest.mark.parametrize("seed", [0, 3, 4])
@pytest.mark.parametrize("count", [256, 500, 1024, 3000])
def test_every_pair_of_parameters_is_covered(count: int, seed: int):
    """Plain Sobol fails this: at 256 points some pairs of its dimensions leave half of their cells empty."""
    side = int(np.sqrt(count / 4))
    cells = (Sequence(len(COLUMNS), seed=seed).points(0, count) * side).astype(int).T
    for index, one in enumerate(cells[:-1]):
        others = cells[index + 1 :]
        filled = np.zeros((len(others), side**2), bool)
        filled[np.arange(len(others))[:, None], one * side + others] = True
        assert filled.mean(axis=1).min() > 0.85


def test_existing_columns_keep_their_draws_when_the_table_grows():
    few, many = (Sequence(dimensions, seed=3).points(0, 64) for dimensions in (50, 150))
    np.testing.assert_array_equal(few, many[:, :50])


def test_points_equal_the_sobol_sequence():
    theirs = qmc.Sobol(GROUP, scramble=False, bits=BITS).random(1 << 10)
    # SciPy walks in Gray code: its point i is ours of index i ^ (i >> 1).
    index = np.arange(1 << 10, dtype=np.uint64)
    np.testing.assert_array_equal(sobol(index ^ (index >> np.uint64(1))) / 2.0**BITS, theirs)


def test_every_parameter_alone_is_evenly_covered():
    """One value in each of n equal intervals."""
    points = Sequence(len(COLUMNS), seed=1).points(0, 256)
    for column in points.T:
        assert sorted((column * 256).astype(int)) == list(range(256))


@pytest.mark.parametrize(
    ("distribution", "cdf"),
    [
        (Uniform(2.0, 5.0), lambda x: (x - 2) / 3),
        (LogUniform(0.1, 10.0), lambda x: np.log(x / 0.1) / np.log(100)),
        (Normal(1.0, 2.0), ("norm", (1.0, 2.0))),
        (Truncated(0.0, 1.0, -1.0, 1.0), ("truncnorm", (-1.0, 1.0))),
    ],
)
def test_samples_follow_their_distribution(distribution, cdf):
    points = qmc.Sobol(1, rng=np.random.default_rng(0)).random(1024)[:, 0]
    samples = distribution.sample(lambda: points)
    result = kstest(samples, cdf[0], args=cdf[1]) if isinstance(cdf, tuple) else kstest(samples, cdf)
    assert result.statistic < 0.01


def test_choice_keeps_its_weights_and_constant_its_value():
    points = (np.arange(1000) + 0.5) / 1000
    drawn = Choice((1.0, 5.0, 9.0), (1.0, 0.0, 3.0)).sample(lambda: points)
    assert {value: int((drawn == value).sum()) for value in (1.0, 5.0, 9.0)} == {1.0: 250, 5.0: 0, 9.0: 750}
    assert (Constant(3.0).sample(lambda: points) == 3.0).all()


def test_a_distribution_of_a_distribution_spreads_as_both_together():
    values = Sampler({"friction_coefficient": Normal(Normal(0.8, 0.03), 0.04)}, seed=0).draw(0, 4096).values
    assert values["friction_coefficient"].std() == pytest.approx(0.05, rel=0.05)


def test_noise_of_an_episode_is_its_own():
    draws = [episode_rng(0, attempt, stream="a").random(4) for attempt in (1, 2, 1)]
    np.testing.assert_array_equal(draws[0], draws[2])
    assert not np.any(draws[0] == draws[1])
    assert not np.any(draws[0] == episode_rng(0, 1, stream="b").random(4))
