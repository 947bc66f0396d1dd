"""The likelihood of a log's entries: its fast sums are those of the terms of single entries."""

import numpy as np
import pytest

from tests.diagnose.synthetic import made_up, made_up_bank, small_spread
from twinloop.diagnose.diagnosis import diagnose_traits
from twinloop.diagnose.emulator import Emulator, addends, emulator_of
from twinloop.diagnose.events import log_beta_ratio
from twinloop.diagnose.explanations import Observed
from twinloop.diagnose.likelihood import EntryLikelihood
from twinloop.diagnose.summary import EVENTS, LOGARITHMIC

CHAINS = 4


@pytest.fixture(scope="module")
def emulator() -> Emulator:
    return emulator_of(made_up_bank())


@pytest.fixture(scope="module")
def observed(emulator: Emulator) -> Observed:
    traits = made_up({"object_shift_probability": 1.0, "object_mass_kg": 1.0}, 30, seed=2)
    return diagnose_traits(traits, emulator, seed=1, spread=small_spread()).observed


@pytest.fixture(scope="module")
def entries(emulator: Emulator, observed: Observed) -> EntryLikelihood:
    return EntryLikelihood(emulator, observed)


@pytest.fixture(scope="module")
def sums(emulator: Emulator, entries: EntryLikelihood) -> tuple[np.ndarray, ...]:
    """(total, variance) of chains, and (changes, added) of all sizes of all causes."""
    changes = addends(emulator.changes[:, :, entries.places], LOGARITHMIC[entries.places])
    added = emulator.error[:, :, entries.places]
    noise = np.tile(entries.noise(np.ones(1)), (CHAINS, 1))
    return changes[:CHAINS, 3], noise + added[:CHAINS, 3], changes, added


def test_every_known_entry_is_compared_once(entries: EntryLikelihood, observed: Observed):
    assert sorted(entries.places) == list(np.flatnonzero(observed.known))
    assert LOGARITHMIC[entries.places][entries.logarithmic].all()
    assert LOGARITHMIC[entries.places].sum() == LOGARITHMIC[observed.known].sum() > 0
    assert EVENTS[entries.places].any()


def test_the_fit_is_that_of_an_unmodelled_effect_that_changes_nothing(entries: EntryLikelihood, sums):
    """With a share, the fit is the sum of the terms of single entries."""
    total, variance, changes, added = sums
    arguments = total[0] + changes, variance[0] + added
    without, smallest = entries.fit(*arguments, 0.0), entries.fit(*arguments, 1e-300)
    assert np.ptp(without) > 100
    assert without == pytest.approx(smallest, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("affected", [(0.0, 0.0, 0.0, 0.0), (0.1, 0.0, 0.03, 0.0)])
def test_chains_together_have_the_fit_of_each_alone(entries: EntryLikelihood, sums, affected: tuple[float, ...]):
    total, variance, changes, added = sums
    together = entries.fit_each(total, variance, changes, added, np.array(affected))
    for chain, share in enumerate(affected):
        alone = entries.fit(total[chain] + changes, variance[chain] + added, share)
        assert together[chain] == pytest.approx(alone, rel=1e-9)


def test_ratios_of_beta_functions_are_those_of_scipy(rng: np.random.Generator):
    from scipy.special import betaln

    a, b = 10 ** rng.uniform(-3, 4, (2, 2000))
    m, n = rng.integers(0, 500, (2, 2000)).astype(float)
    m[:100], n[:200] = 0.0, 0.0
    assert log_beta_ratio(m, n, a, b) == pytest.approx(betaln(a + m, b + n) - betaln(a, b), rel=1e-9, abs=2e-8)
    assert (log_beta_ratio(m[:100], n[:100], a[:100], b[:100]) == 0).all()
