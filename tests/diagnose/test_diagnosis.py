"""Explanations, costs and the predictive check, in a bank of synthetic traits with known causes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.diagnose.synthetic import EFFECTS, made_up, made_up_bank, small_spread
from tests.short_chains import short_chains
from twinloop.curate.rates import Rate
from twinloop.diagnose.bank import CounterfactualCell
from twinloop.diagnose.causes import Cause
from twinloop.diagnose.costs import COLUMNS, costs_of
from twinloop.diagnose.diagnosis import Diagnosis, diagnose_traits, is_unmodelled, simulate_explanation
from twinloop.diagnose.emulator import Emulator, emulator_of
from twinloop.diagnose.engine_spread import MORE_FREEDOM, UNMEASURED_FREEDOM, spread_of
from twinloop.diagnose.events import events_of
from twinloop.diagnose.explanations import Explanations, Observed
from twinloop.diagnose.findings import PosteriorSamples, finding_of
from twinloop.diagnose.hypothesis_set import Chunk
from twinloop.diagnose.interval_scale import UNSCALED
from twinloop.diagnose.report import GapFinding, by_cost
from twinloop.diagnose.sampler import explanations_of
from twinloop.diagnose.summary import NAMES, summarise
from twinloop.diagnose.traits import TRAITS
from twinloop.randomize.parameter import GAPS, Gap
from twinloop.randomize.table import BY_NAME

TRAIT = {trait.name: place for place, trait in enumerate(TRAITS)}


@pytest.fixture(scope="module", autouse=True)
def sampler() -> Iterator[None]:
    """The causes are clear, so that shorter chains find them."""
    with short_chains():
        yield


@pytest.fixture(scope="module")
def emulator() -> Emulator:
    return emulator_of(made_up_bank())


DIAGNOSES: dict[tuple[int, bytes], Diagnosis] = {}
"""Emulator and traits -> their diagnosis, which several tests look at."""


def diagnosed(emulator: Emulator, traits: np.ndarray) -> Diagnosis:
    key = id(emulator), traits.tobytes()
    if key not in DIAGNOSES:
        DIAGNOSES[key] = diagnose_traits(traits, emulator, seed=1, spread=small_spread())
    return DIAGNOSES[key]


def findings(diagnosis: Diagnosis) -> dict[Gap, GapFinding]:
    deviations = diagnosis.observed.difference / np.sqrt(diagnosis.observed.variance)
    parts = diagnosis.emulator, diagnosis.explanations, diagnosis.costs, diagnosis.robot
    posterior = PosteriorSamples(*parts, deviations=deviations, trained={}, scale=UNSCALED)
    return {finding.gap: finding for finding in by_cost(finding_of(gap, posterior) for gap in GAPS)}


def simulator(emulator: Emulator):
    """The made-up cells as a simulator."""

    names = {cause.name: cause.row for cause in emulator.causes}

    def simulate(chunks: Sequence[Chunk]):
        for chunk in chunks:
            sizes = [{names[name]: size for name, size in item.sizes.items()} for item in chunk.hypotheses]
            traits = [made_up(rows, 48, seed=9) for rows in sizes]
            yield chunk, [CounterfactualCell(*pair) for pair in zip(chunk.hypotheses, traits, strict=True)]

    return simulate


@pytest.mark.parametrize("row", [row for (row, _), effect in EFFECTS.items() if effect.get("success", 0) <= -0.1])
def test_the_costly_cause_is_named_and_its_value_is_in_the_interval(emulator: Emulator, row: str):
    size = 1.6
    result = findings(diagnosed(emulator, made_up({row: size}, 32, seed=3)))
    gap = BY_NAME[row].gap
    assert next(iter(result)) == gap
    assert result[gap].probability > 0.5
    assert all(result[other].probability < 0.5 for other in GAPS if other != gap)
    estimate = next(estimate for estimate in result[gap].rows if estimate.row == row)
    cause = next(cause for cause in emulator.causes if cause.row == row)
    low, high = estimate.interval
    assert low < high
    assert low <= cause.value(size) <= high


def test_a_clear_difference_that_costs_nothing_is_reported_as_harmless(emulator: Emulator):
    result = findings(diagnosed(emulator, made_up({"object_mass_kg": 1.5, "tracker_noise_mm": 1.0}, 32, seed=4)))
    assert min(result["object"].differs, result["sensing"].differs) > 0.9
    assert max(finding.probability for finding in result.values()) < 0.5
    assert all(finding.points == 0 for finding in result.values())


def test_nothing_open_is_nothing_found(emulator: Emulator):
    diagnosis = diagnosed(emulator, made_up({}, 32, seed=5))
    result = findings(diagnosis)
    assert max(finding.differs for finding in result.values()) < 0.5
    assert not is_unmodelled(diagnosis)


def test_two_costly_gaps_are_both_found(emulator: Emulator):
    result = findings(diagnosed(emulator, made_up({"object_yaw_deg": 1.2, "action_delay_ms": 1.5}, 40, seed=6)))
    assert set(list(result)[:2]) == {"environment", "latency"}
    assert min(result["environment"].probability, result["latency"].probability) > 0.5


CASES = {
    "nothing": ({}, 32, 5),
    "one gap": ({"object_yaw_deg": 1.5}, 32, 11),
    "two gaps": ({"object_yaw_deg": 1.2, "action_delay_ms": 1.5}, 40, 6),
}
"""Cells of other tests: sizes, episodes and seed."""


@pytest.mark.parametrize("case", CASES)
def test_costs_add_up_to_what_was_lost(emulator: Emulator, case: str):
    sizes, episodes, seed = CASES[case]
    diagnosis = diagnosed(emulator, made_up(sizes, episodes, seed=seed))
    assert diagnosis.costs.mean.sum() == pytest.approx(diagnosis.costs.lost)
    for column in range(len(COLUMNS)):
        low, high = diagnosis.costs.interval(column)
        assert low <= diagnosis.costs.mean[column] <= high


def test_only_one_of_several_harmless_differences_can_have_an_unexplained_cost(emulator: Emulator):
    """Three gaps differ and none of them costs anything in the twin, but half of the episodes fail."""
    samples = 400
    sizes = np.zeros((samples, len(emulator.causes)))
    harmless = ("tracker_noise_mm", "object_mass_kg", "command_loss_share")
    for place, cause in enumerate(emulator.causes):
        if cause.row in harmless:
            sizes[:, place] = 1.0
    unmodelled, extra = np.zeros(samples, bool), np.ones(samples, bool)
    explanations = Explanations(sizes, unmodelled, np.zeros(samples), extra, np.zeros(samples), np.ones(samples))
    traits = made_up({}, 32, seed=1)
    traits[:16, TRAIT["success"]] = 0.0
    costs = costs_of(explanations, emulator, events_of(traits), Rate(64, 64), seed=1)
    gaps = [GAPS.index(BY_NAME[row].gap) for row in harmless]
    assert costs.mean.sum() == pytest.approx(0.5)
    assert costs.mean[gaps].sum() == pytest.approx(0.5)
    assert costs.probability(0.02).max() < 0.5


def test_nothing_lost_means_no_cost(emulator: Emulator):
    traits = made_up({"action_delay_ms": 2.0}, 32, seed=8)
    traits[:, TRAIT["success"]] = 1.0
    diagnosis = diagnosed(emulator, traits)
    assert (diagnosis.costs.mean == 0).all()
    assert findings(diagnosis)["latency"].differs > 0.9


def test_a_loss_that_no_trait_explains_is_unmodelled(emulator: Emulator):
    traits = made_up({}, 32, seed=9)
    traits[:20, TRAIT["success"]] = 0.0
    diagnosis = simulate_explanation(diagnosed(emulator, traits), simulator(emulator), seed=1)
    assert is_unmodelled(diagnosis)
    assert diagnosis.costs.mean[-1] > 0.4
    assert max(finding.probability for finding in findings(diagnosis).values()) < 0.5


def test_strange_traits_of_an_unknown_effect_are_listed(emulator: Emulator):
    traits = made_up({}, 32, seed=10)
    traits[:, TRAIT["drag"]] += 30.0
    traits[:, TRAIT["lapse"]] *= 8.0
    traits[:16, TRAIT["success"]] = 0.0
    diagnosis = simulate_explanation(diagnosed(emulator, traits), simulator(emulator), seed=1)
    assert is_unmodelled(diagnosis)
    assert diagnosis.check is not None
    assert diagnosis.check.p_value < 0.05
    names = [trait.name for trait in TRAITS]
    strange = {names[place] for place in np.flatnonzero(diagnosis.check.strange[: len(names)])}
    assert {"drag", "lapse"} <= strange


def test_a_right_explanation_reproduces_its_log(emulator: Emulator):
    diagnosis = diagnosed(emulator, made_up({"object_yaw_deg": 1.5}, 32, seed=11))
    checked = simulate_explanation(diagnosis, simulator(emulator), seed=1)
    assert checked.check is not None
    assert checked.check.p_value > 0.05
    assert checked.check.success_p_value > 0.05
    assert checked.closing["environment"] > 15
    assert not is_unmodelled(checked)


def test_a_cause_without_evidence_in_the_traits_is_not_blamed(emulator: Emulator):
    """Only the success of this cause differs, as that of an event that the log does not show."""
    success = emulator.success.copy()
    place = next(at for at, cause in enumerate(emulator.causes) if cause.row == "lighting_intensity")
    success[place, 1:] = 0.3
    changes = emulator.changes.copy()
    changes[place] = 0.0
    blank = replace(emulator, success=success, changes=changes)
    traits = made_up({}, 32, seed=12)
    traits[:20, TRAIT["success"]] = 0.0
    summary = summarise(traits)
    observed = Observed(
        summary.values - emulator.reference.values,
        summary.variances + emulator.reference.variances + 1e-4,
        np.zeros(len(summary.values)),
        np.full(len(summary.values), 6.0),
        events_of(traits),
    )
    explanations = explanations_of(blank, observed, seed=2)
    assert (explanations.sizes[:, place] == 0).all()
    assert explanations.unmodelled.mean() > 0.9


def test_a_large_difference_in_one_trait_is_never_hidden(emulator: Emulator):
    """However large the stored spread of one trait is relative to others, 20 of its standard deviations show."""
    spread = small_spread()
    weight = made_up({"object_mass_kg": 3.0}, 32, seed=13)
    result = findings(diagnose_traits(weight, emulator, seed=1, spread=replace(spread, relative=0.5)))
    assert result["object"].differs > 0.9


def test_one_clear_trait_is_enough_although_other_traits_are_strange(emulator: Emulator):
    """A heavy object, on a robot on which two traits differ by far more, for which no row is the cause.

    Only the trait `weight` shows the mass, by 5.5 standard deviations. The object gap has a dozen causes that change
    nothing.
    """
    spread, silent = small_spread(relative=1.0, cells=10), [Cause("object_inertia_scale", "high", (1.0, 1.0))] * 12
    arrays = ("sizes", "changes", "unknown", "error", "success")
    place = [cause.row for cause in emulator.causes].index("object_mass_kg")
    parts = {name: [getattr(emulator, name)[place : place + 1]] * len(silent) for name in arrays}
    parts["changes"] = [np.zeros_like(part) for part in parts["changes"]]
    parts["success"] = [np.ones_like(part) for part in parts["success"]]
    changes = emulator.changes.copy()
    changes[place, :, NAMES.index("slip")] = 0.0
    crowded = replace(
        emulator,
        causes=(*emulator.causes, *silent),
        **{name: np.concatenate([getattr(emulator, name), *parts[name]]) for name in arrays}
        | {"changes": np.concatenate([changes, *parts["changes"]])},
    )
    traits = made_up({}, 32, seed=18)
    traits[:, TRAIT["weight"]] += 6.5 * np.sqrt(spread.variance(emulator.reference.between)[NAMES.index("weight")])
    traits[:, TRAIT["drag"]] += 10.0
    traits[:, TRAIT["lapse"]] *= 8.0
    diagnosis = diagnose_traits(traits, crowded, seed=1, spread=spread)
    result, observed = findings(diagnosis), diagnosis.observed
    place = NAMES.index("weight")
    assert observed.difference[place] / np.sqrt(observed.variance[place]) == pytest.approx(5.5, abs=0.1)
    assert result["object"].differs > 0.8
    assert [row.row for row in result["object"].rows] == ["object_mass_kg"]


def test_forces_are_compared_with_the_weight_of_the_arm():
    """The same 5 N are nothing for the measured arm, and much for one of a tenth of its weight."""
    names = ("weight", "drag", "softness", "following", "side_load")
    differences = {name: {"difference": 2.0, "variance": 0.0, "between": 1.0} for name in names}
    spread = spread_of([{"entries": differences, "arm_weight_n": 150.0}] * 4)
    squares = dict(zip(NAMES, spread.for_arm(15.0).squares / np.maximum(spread.squares, 1e-9), strict=True))
    assert [squares[name] for name in names] == pytest.approx([0.01, 0.01, 100.0, 1.0, 1.0])
    mixed = spread_of([{"entries": differences, "arm_weight_n": weight} for weight in (15.0, 150.0, 150.0)])
    assert mixed.squares[NAMES.index("weight")] == pytest.approx(4.0 * (1 + 1 + 100))


def test_cells_of_the_same_robot_count_more_than_those_of_others():
    """The finger opening of another robot differs by 30 mm between engines; that of the robot itself by 1 mm."""

    def cell(robot: str, difference: float) -> dict:
        entry = {"difference": difference, "variance": 0.0, "between": 1.0}
        return {"entries": {"width": entry}, "arm_weight_n": 150.0, "robot": robot}

    cells = [cell("one", 1.0)] * 6 + [cell("other", 30.0)] * 2
    place = NAMES.index("width")
    deviations = {
        robot: float(np.sqrt(spread_of(cells, robot).variance(np.ones(len(NAMES)))[place]))
        for robot in ("one", "other", "unseen")
    }
    assert deviations["one"] < deviations["unseen"] < deviations["other"]
    freedoms = {robot: float(spread_of(cells, robot).freedom[place]) for robot in deviations}
    assert freedoms["one"] > freedoms["other"]
    assert freedoms["unseen"] == 8 + MORE_FREEDOM
    assert spread_of(cells, "one").freedom[NAMES.index("weight")] == UNMEASURED_FREEDOM


def test_the_order_of_episodes_changes_nothing(emulator: Emulator):
    traits = made_up({"friction_coefficient": 1.6}, 32, seed=3)
    one, other = (findings(diagnosed(emulator, part)) for part in (traits, traits[::-1]))
    assert [finding.points for finding in one.values()] == pytest.approx([other[gap].points for gap in one])


def test_of_two_delays_that_look_alike_only_the_sum_is_known(emulator: Emulator):
    """Actions and observations are both late. The traits show the sum, so both delays are in their intervals."""
    place = [cause.row for cause in emulator.causes].index("action_delay_ms")
    other = Cause("observation_delay_ms", "high", (0.0, 0.0))
    grid = np.linspace(0.0, emulator.causes[place].max_size, emulator.sizes.shape[1])
    doubled = replace(
        emulator,
        causes=(*emulator.causes, other),
        sizes=np.concatenate([emulator.sizes, grid[None]]),
        **{
            name: np.concatenate([getattr(emulator, name), getattr(emulator, name)[place : place + 1]])
            for name in ("changes", "unknown", "error", "success")
        },
    )
    sizes = diagnosed(doubled, made_up({"action_delay_ms": 2.0}, 32, seed=15)).explanations.sizes[:, [place, -1]]
    for low, high in np.quantile(sizes, (0.05, 0.95), axis=0).T:
        assert low < 1.0 < high
    assert (sizes > 0).mean(axis=0).min() > 0.2
    assert sizes.sum(axis=1).std() < 0.5 * sizes[:, 0].std()


@pytest.mark.parametrize(("factor", "low", "high"), [(0.1, 0.0, 0.75), (3.0, 1.5, 4.0)])
def test_the_spread_between_engines_is_scaled_to_the_robot(emulator: Emulator, factor: float, low: float, high: float):
    """All levels differ by `factor` of the stored spread, which no cause explains."""
    spread, traits = small_spread(relative=1.0), made_up({}, 64, seed=17)
    signs = np.random.default_rng(2).choice([-1.0, 1.0], len(TRAITS))
    reference = emulator.reference
    for place, trait in enumerate(TRAITS):
        if trait.unit != "1" and not trait.outcome:
            shift = signs[place] * factor * np.sqrt(spread.variance(reference.between)[place])
            traits[:, place] = traits[:, place] * np.exp(shift) if trait.log else traits[:, place] + shift
    diagnosis = diagnose_traits(traits, emulator, seed=1, spread=spread)
    assert low < diagnosis.explanations.engine_scale < high
    assert max(finding.differs for finding in findings(diagnosis).values()) < 0.5
