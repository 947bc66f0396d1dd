"""Traits are compared for the same commands."""

import numpy as np

from twinloop.diagnose.covariates import COVARIATES, adjustment_of
from twinloop.diagnose.traits import TRAITS

PLACE = {trait.name: place for place, trait in enumerate(TRAITS)}


def walked(episodes: int, *, seed: int, faster_m_s: float = 0.0) -> np.ndarray:
    """(episodes, traits) of a robot whose traits depend on the commanded speed."""
    rng = np.random.default_rng(seed)
    traits = np.full((episodes, len(TRAITS)), np.nan)
    traits[:, COVARIATES] = rng.uniform(0.0, 1.0, (episodes, COVARIATES.sum()))
    speed = traits[:, PLACE["asked_speed"]] + faster_m_s
    traits[:, PLACE["asked_speed"]] = speed
    traits[:, PLACE["success"]] = 1.0
    traits[:, PLACE["joint_delay"]] = 40 + 5 * speed + 0.1 * rng.standard_normal(episodes)
    traits[:, PLACE["joint_noise"]] = np.exp(0.5 + 2 * speed + 0.01 * rng.standard_normal(episodes))
    return traits


def test_a_log_with_faster_commands_does_not_differ():
    adjustment = adjustment_of(walked(60, seed=0))
    assert adjustment is not None
    twin, robot = (adjustment.of(traits) for traits in (walked(60, seed=0), walked(16, seed=1, faster_m_s=0.4)))
    for name, unadjusted in (("joint_delay", 2.0), ("joint_noise", 0.8)):
        trait = TRAITS[PLACE[name]]
        levels = [trait.scaled(traits[:, PLACE[name]]).mean() for traits in (twin, robot)]
        assert abs(levels[1] - levels[0]) < 0.1 * unadjusted, name


def test_commands_and_outcomes_stay_as_they_are():
    traits = walked(60, seed=0)
    adjustment = adjustment_of(traits)
    assert adjustment is not None
    kept = [*np.flatnonzero(COVARIATES), PLACE["success"]]
    np.testing.assert_array_equal(adjustment.of(traits)[:, kept], traits[:, kept])


def test_episodes_in_which_the_robot_fell_do_not_change_the_adjustment():
    traits = walked(60, seed=0)
    fallen = traits.copy()
    fallen[:4, PLACE["joint_delay"]] += 500
    usual, other = adjustment_of(traits), adjustment_of(fallen)
    assert usual is not None
    assert other is not None
    np.testing.assert_allclose(other.slopes[:, PLACE["joint_delay"]], usual.slopes[:, PLACE["joint_delay"]], atol=0.2)


def test_arms_and_few_episodes_are_not_adjusted():
    assert adjustment_of(walked(12, seed=0)) is None
    arm = walked(60, seed=0)
    arm[:, COVARIATES] = np.nan
    assert adjustment_of(arm) is None
