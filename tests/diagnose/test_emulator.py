"""The emulator between, at and beyond the simulated sizes."""

from dataclasses import replace

import numpy as np
import pytest

from tests.diagnose.synthetic import made_up, made_up_bank
from twinloop.diagnose.bank import CounterfactualCell
from twinloop.diagnose.causes import Cause, hypothesis_of
from twinloop.diagnose.emulator import MAX_BEND, Emulator, addends, emulator_of, sum_of
from twinloop.diagnose.summary import NAMES
from twinloop.diagnose.traits import TRAITS

NOISE = Cause("tracker_noise_mm", "high", (0.0, 0.0))
TRAIT = [trait.name for trait in TRAITS].index("tracker_noise")
ENTRY = NAMES.index("tracker_noise")
LEVELS = (0.75, 1.5, 3.0)


def noisy(sizes: tuple[float, ...]) -> Emulator:
    """An emulator of a tracker whose measured noise is proportional to the row's value."""
    bank = made_up_bank()

    def cell(size: float) -> np.ndarray:
        traits = made_up({}, 72, seed=0)[:24]
        traits[:, TRAIT] = 0.2 + NOISE.value(size)
        return traits

    reference = bank.reference.traits.copy()
    reference[:, TRAIT] = 0.2
    cells = tuple(CounterfactualCell(hypothesis_of([(NOISE, size)]), cell(size)) for size in sizes)
    others = tuple(one for one in bank.cells if NOISE.name not in one.hypothesis.sizes)
    return emulator_of(replace(bank, reference=replace(bank.reference, traits=reference), cells=(*others, *cells)))


def change(emulator: Emulator, size: float) -> float:
    sizes = np.zeros(len(emulator.causes))
    sizes[emulator.causes.index(NOISE)] = size
    return float(emulator.at(sizes)[0][ENTRY])


@pytest.mark.parametrize("step", range(1, 13))
def test_noise_is_interpolated_in_its_own_unit(step: int):
    """The trait is compared as a logarithm, but it is the noise that is proportional to the row."""
    emulator = noisy(LEVELS)
    size = float(emulator.sizes[emulator.causes.index(NOISE), step])
    resolution = TRAITS[TRAIT].resolution
    expected = np.log(0.2 + NOISE.value(size) + resolution) - np.log(0.2 + resolution)
    assert change(emulator, size) == pytest.approx(expected, abs=0.02)


def test_a_curved_response_has_an_error_between_the_simulated_sizes():
    bank = made_up_bank()
    place = [cause.row for cause in bank.causes].index("tracker_delay_ms")
    entry, trait = NAMES.index("tracker_late"), [trait.name for trait in TRAITS].index("tracker_late")
    cells = []
    for one in bank.cells:
        traits = one.traits.copy()
        if set(one.hypothesis.sizes) == {bank.causes[place].name}:
            traits[:, trait] = bank.paired(one)[:, trait] + 40 * one.hypothesis.sizes[bank.causes[place].name] ** 2
        cells.append(replace(one, traits=traits))
    straight, curved = emulator_of(bank), emulator_of(replace(bank, cells=tuple(cells)))
    assert curved.error[place, :, entry].max() > 10 * straight.error[place, :, entry].max()
    assert (curved.error[:, 0] == 0).all()


def test_the_error_of_sums_is_that_of_each_trait_and_small_changes_do_not_count():
    """In cells with two causes the weight is half of the sum; a change of `uneven` below its resolution is doubled."""
    bank = made_up_bank()
    weight, uneven = (
        [trait.name for trait in TRAITS].index("weight"), [trait.name for trait in TRAITS].index("uneven")
    )  # fmt: skip
    cells, small = [], 1e-3
    for one in bank.cells:
        traits = one.traits.copy()
        usual = bank.paired(one)
        together = len(one.hypothesis.sizes) > 1
        traits[:, weight] = usual[:, weight] + (0.5 if together else 1.0) * 10.0 * len(one.hypothesis.sizes)
        traits[:, uneven] = usual[:, uneven] * np.exp(small * (4 if together else 1))
        cells.append(replace(one, traits=traits))
    bend = emulator_of(replace(bank, cells=tuple(cells))).bend
    usual = float(np.median(bend))
    assert bend[NAMES.index("weight")] == MAX_BEND
    assert bend[NAMES.index("uneven")] == pytest.approx(usual)
    assert usual < MAX_BEND


def test_changes_of_two_causes_add_up_in_the_unit_of_the_trait():
    """Two causes that double a noise make it three times as large, not four times."""
    logarithmic = np.array([True, False])
    double = addends(np.array([np.log(2.0), 2.0]), logarithmic)
    assert sum_of(double + double, logarithmic) == pytest.approx([np.log(3.0), 4.0])
    assert sum_of(double, logarithmic) == pytest.approx([np.log(2.0), 2.0])
