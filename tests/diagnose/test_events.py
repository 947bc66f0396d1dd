"""Events in single episodes: counted, compared with the failures, and told from a tracker that errs."""

import numpy as np
import pytest

from tests.diagnose.synthetic import made_up, made_up_bank, small_spread
from twinloop.diagnose.diagnosis import Diagnosis, diagnose_traits
from twinloop.diagnose.emulator import Emulator, emulator_of
from twinloop.diagnose.events import EpisodeEvents, coincidences, events_of, log_probability, usual_rates
from twinloop.diagnose.summary import ENTRIES, EVENTS, NAMES
from twinloop.diagnose.traits import TRAITS

TRAIT = {trait.name: place for place, trait in enumerate(TRAITS)}
HUMAN = "object_shift_probability"


@pytest.fixture(scope="module")
def emulator() -> Emulator:
    return emulator_of(made_up_bank())


def log(moved: range, failed: range, *, recorded: bool = True, seed: int = 21) -> np.ndarray:
    """(16, traits) of a log in which the object was moved in some episodes, and some fail."""
    traits = made_up({}, 16, seed=seed)
    for name in ("was_moved", "person"):
        traits[:, TRAIT[name]] = 0.0
        traits[list(moved), TRAIT[name]] = 1.0
    if not recorded:
        traits[:, TRAIT["person"]] = np.nan
    traits[:, TRAIT["success"]] = 1.0
    traits[list(failed), TRAIT["success"]] = 0.0
    return traits


def human(emulator: Emulator, traits: np.ndarray) -> tuple[Diagnosis, float, float]:
    """(diagnosis, probability that the human gap is open, its share of the cost)."""
    diagnosis = diagnose_traits(traits, emulator, seed=1, spread=small_spread(0.6))
    place = next(at for at, cause in enumerate(emulator.causes) if cause.row == HUMAN)
    open_ = float((diagnosis.explanations.sizes[:, place] > 0).mean())
    return diagnosis, open_, float(diagnosis.costs.mean[5] / max(diagnosis.costs.lost, 1e-9))


def test_an_event_in_a_few_episodes_that_fail_is_found(emulator: Emulator):
    diagnosis, open_, cost = human(emulator, log(range(4), range(3)))
    assert open_ > 0.9
    assert cost > 0.5
    assert diagnosis.costs.lost == pytest.approx(3 / 16, abs=0.02)


def test_it_is_found_where_nobody_recorded_a_person(emulator: Emulator):
    _, open_, _ = human(emulator, log(range(4), range(3), recorded=False))
    assert open_ > 0.7


def test_without_an_event_nobody_is_blamed(emulator: Emulator):
    _, open_, cost = human(emulator, log(range(0), range(3)))
    assert open_ < 0.05
    assert cost < 0.05


def test_failures_in_episodes_with_the_event_are_evidence_and_others_speak_against_it(emulator: Emulator):
    place = next(at for at, cause in enumerate(emulator.causes) if cause.row == HUMAN)
    same, other = (
        coincidences(emulator, events_of(log(range(3), failed))).evidence[place] for failed in (range(3), range(3, 6))
    )
    assert same[1:].max() > 3.0
    assert other[1:].max() < 0.1
    assert np.isneginf(same[0])
    none = coincidences(emulator, events_of(log(range(3), range(0)))).evidence[place]
    assert none[1:] == pytest.approx(0)
    others = [at for at, cause in enumerate(emulator.causes) if cause.side != "share"]
    assert np.isneginf(coincidences(emulator, events_of(log(range(3), range(3)))).evidence[others]).all()


def test_coincidence_does_not_depend_on_the_order_of_episodes(emulator: Emulator):
    traits = log(range(4), range(2, 6))
    shuffled = traits[np.random.default_rng(3).permutation(len(traits))]
    one, other = (coincidences(emulator, events_of(rows)) for rows in (traits, shuffled))
    assert one.evidence == pytest.approx(other.evidence)
    assert one.extra == pytest.approx(other.extra)


def test_probabilities_of_counts_add_up_to_one():
    counts = np.arange(17.0)
    logs = log_probability(counts, np.full(17, 16.0), np.full(17, 0.2), np.full(17, 0.01))
    assert np.exp(logs).sum() == pytest.approx(1.0)


def test_event_traits_are_counted_and_unknown_episodes_left_out():
    traits = log(range(5), range(2))
    traits[12:, TRAIT["was_moved"]] = np.nan
    events: EpisodeEvents = events_of(traits)
    place = NAMES.index("was_moved")
    assert (events.counts[place], events.trials[place]) == (5, 12)
    assert events.failed.sum() == 2
    assert {entry.about.unit for entry, is_event in zip(ENTRIES, EVENTS, strict=True) if is_event} == {"1"}


def test_rates_of_the_unchanged_twin_are_never_zero(emulator: Emulator):
    rates, variances = usual_rates(emulator)
    assert (rates[EVENTS] > 0).all()
    assert (variances[EVENTS] > 0).all()
    assert np.isnan(rates[~EVENTS]).all()
