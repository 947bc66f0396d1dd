from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.diagnose.test_plan import report, wrong
from twinloop.diagnose.counterfactuals import CounterfactualJob, simulate_counterfactuals
from twinloop.diagnose.hypothesis import ends_of
from twinloop.diagnose.hypothesis_set import usual_of
from twinloop.diagnose.widening import (
    NARROW_BELOW,
    WIDEN_ABOVE,
    automatic_domain_randomization,
    success_in_twin,
    widen_by_diagnosis,
)
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.space import Space
from twinloop.observe.features import features_of
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.default import embedded_config
from twinloop.run.twin import twin_of

ROW = "object_position_noise_cm"


def varying(low: float, high: float, *, row: str = ROW) -> RunConfig:
    return replace(embedded_config(), randomization={row: Uniform(low, high)})


def rounds(config: RunConfig, success_at, many: int = 1) -> RunConfig:
    for _ in range(many):
        config = automatic_domain_randomization(config, success_at, on_row=lambda *_: None)
    return config


def support(config: RunConfig, row: str = ROW) -> tuple[float, float]:
    return config.randomization[row].support()


def test_a_row_is_widened_while_the_policy_succeeds_and_narrowed_where_it_fails():
    before = support(varying(-2.0, 2.0))
    low, high = support(rounds(varying(*before), lambda *_: WIDEN_ABOVE))
    assert low < before[0] < before[1] < high
    assert support(rounds(varying(*before), lambda *_: (WIDEN_ABOVE + NARROW_BELOW) / 2)) == before
    low, high = support(rounds(varying(*before), lambda *_: NARROW_BELOW - 0.01))
    assert before[0] < low <= BY_NAME[ROW].nominal <= high < before[1]


@pytest.mark.parametrize("holds_until", [1.0, 2.2])
def test_ranges_end_where_the_policy_does(holds_until: float):
    def success_at(_: str, ends: Distribution) -> float:
        return float(max(map(abs, ends.support())) <= holds_until)

    ends = [support(rounds(varying(-0.1, 0.1), success_at, many))[1] for many in (8, 9, 10, 11)]
    # The range oscillates by one step around the value at which the policy fails.
    assert min(ends) <= holds_until <= max(ends) <= holds_until + 0.5


def test_no_row_is_widened_for_ever_nor_beyond_nominal():
    assert support(rounds(varying(-2.0, 2.0), lambda *_: 1.0, 40)) == pytest.approx(ends_of(BY_NAME[ROW]))
    low, high = support(rounds(varying(-2.0, 2.0), lambda *_: 0.0, 40))
    assert low == high == BY_NAME[ROW].nominal


class Still:
    """A policy that stays where it is: it never succeeds."""

    horizon, executed = 8, 8

    def __init__(self) -> None:
        config = embedded_config()
        twin = twin_of(config)
        features = {feature.name: feature for feature in features_of(twin, config.observe)}
        state = features["observation.state"]
        self.space = Space(twin.robot.name, float(twin.control_hz), (state,), features["action"])

    def chunks(self, observation, *, instructions, real, noise) -> np.ndarray:  # noqa: ARG002
        here = observation["observation.state"][:, : noise.shape[2]]
        return np.repeat(here[:, None], self.horizon, axis=1).astype(np.float32)


def test_ranges_that_fail_in_the_twin_are_narrowed(tmp_path):
    config = varying(-2.0, 2.0)
    job = CounterfactualJob(config.to_yaml(), str(tmp_path), Still, ActingConfig(), 4, 3)
    text: dict[str, float] = {}
    success_at = success_in_twin(config, partial(simulate_counterfactuals, job), episodes=4)
    drawn_back = automatic_domain_randomization(config, success_at, on_row=text.__setitem__)
    assert text == {ROW: 0.0}
    assert support(drawn_back)[1] < 2.0


@pytest.mark.parametrize("trained", [None, (0.0, 40.0), (0.0, 300.0)], ids=["new", "outside", "inside"])
def test_an_estimated_row_is_drawn_around_the_estimate(trained):
    row = "action_delay_ms"
    config = varying(*trained, row=row) if trained else varying(-2.0, 2.0)
    result = wrong(row, 80.0, 8.0, trained=trained)
    after = widen_by_diagnosis(config, report({"latency": 20.0}, {"latency": (result,)}))
    assert support(after, row) == pytest.approx((72.0, 88.0))
    drawn = after.sampler().draw(0, 256).values[row]
    assert np.mean(np.abs(drawn - 80.0) < 4.0) > 0.55  # of a uniform distribution, half
    # The next diagnosis starts with the estimate.
    assert usual_of(after)[row] == Constant(80.0)


@pytest.mark.parametrize(("trained", "wanted"), [(None, (0.0, 92.0)), ((0.0, 40.0), (0.0, 92.0))])
def test_an_estimate_of_a_gap_that_may_be_closed_only_widens(trained, wanted: tuple[float, float]):
    row = "action_delay_ms"
    config = varying(*trained, row=row) if trained else varying(-2.0, 2.0)
    probable = report({"latency": 20.0}, {"latency": (wrong(row, 80.0, 8.0, trained=trained),)})
    doubtful = tuple(replace(finding, probability=0.4 * finding.probability) for finding in probable.findings)
    after = widen_by_diagnosis(config, replace(probable, findings=doubtful))
    assert support(after, row) == pytest.approx(wanted)


def test_an_improbable_gap_changes_nothing():
    config = varying(-2.0, 2.0)
    assert widen_by_diagnosis(config, report({})).digest == config.digest


def test_rows_of_one_thing_or_joint_survive_and_calibrated_rows_keep_their_ranges():
    fitted, mass = "servo_stiffness_nm_rad.joint1", "object_mass_kg"
    rows = {mass: Uniform(0.1, 0.2), fitted: Uniform(100.0, 110.0)}
    config = replace(embedded_config(), randomization=rows)
    gap_report = report({"object": 30.0}, {"object": (wrong(mass, 0.6, 0.05),)})
    wider = widen_by_diagnosis(config, gap_report)
    assert wider.randomization[fitted] == rows[fitted]
    assert support(wider, mass)[1] > 0.5
    kept = widen_by_diagnosis(config, gap_report, calibrated=frozenset({mass}))
    assert support(kept, mass) == (0.1, 0.2)
    assert rounds(config, lambda *_: WIDEN_ABOVE).randomization[fitted] == rows[fitted]


def test_an_element_gets_a_range_of_its_own_and_is_not_copied_to_the_others():
    row = "tracker_bias_mm"
    result = replace(wrong(row, 6.0, 1.0), element="x")
    after = widen_by_diagnosis(varying(-2.0, 2.0), report({"sensing": 20.0}, {"sensing": (result,)}))
    low, high = support(after, f"{row}.x")
    assert low <= 5.0 < 7.0 <= high
    others = support(after, row)
    assert others[0] == -others[1] < 0
