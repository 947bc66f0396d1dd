"""Causes: every size of every cause is plausible, and a larger size is farther from nominal."""

from dataclasses import replace

import numpy as np
import pytest

from twinloop.diagnose.causes import Cause, causes_of, hypothesis_of
from twinloop.diagnose.hypothesis_set import causes_in, hypotheses_of, sizes_of, usual_of
from twinloop.randomize.distribution import Uniform
from twinloop.randomize.draw import Sampler
from twinloop.randomize.parameter import GAPS
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.run.default import embedded_config

CAUSES = causes_of(TABLE, laid_out={})


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_every_draw_is_plausible(cause: Cause):
    low, high = cause.parameter.plausible
    for size in sizes_of(cause, 3):
        values = Sampler(hypothesis_of([(cause, size)]).ranges, seed=3).draw(0, 32).values
        for column in cause.parameter.columns:
            inside = (values[column] >= low - 1e-9) & (values[column] <= high + 1e-9)
            assert (inside | (values[column] == cause.nominal)).all(), (cause.name, size)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_a_larger_size_is_farther_from_nominal(cause: Cause):
    base = 0.0 if cause.side in ("share", "spread") else cause.nominal
    distances = [abs(cause.value(size) - base) for size in sizes_of(cause, 3)]
    assert distances == sorted(distances)
    assert distances[-1] > 0


def test_one_element_of_a_row_can_be_wrong_alone():
    cause = next(cause for cause in CAUSES if cause.row == "tracker_bias_mm" and cause.element == "x")
    hypothesis = hypothesis_of([(cause, 1.0)])
    assert set(hypothesis.elements) == {"tracker_bias_mm.x"}
    draws = Sampler(hypothesis.ranges, seed=3).draw(0, 1)
    assert draws.values["tracker_bias_mm.x"] == cause.value(1.0)
    assert draws.values["tracker_bias_mm.y"] == 0.0
    assert {"tracker_bias_mm.x", "tracker_bias_mm.y"} <= set(draws.varied)


def test_an_error_of_an_element_starts_at_its_value_in_the_twin_and_leaves_the_others():
    """After a round, the twin has a range of its own for the element that was found to be wrong."""
    rows = {"tracker_bias_mm.x": Uniform(5.0, 7.0), "tracker_bias_mm": Uniform(-1.0, 1.0)}
    config = replace(embedded_config(), randomization=rows)
    causes = {cause.name: cause for cause in causes_in(config) if cause.row == "tracker_bias_mm"}
    assert causes["tracker_bias_mm.x (high)"].nominal == 6.0
    assert causes["tracker_bias_mm.y (high)"].nominal == 0.0
    for element, x_mm, y_mm in (("x", None, 0.0), ("y", 6.0, None)):
        cause = causes[f"tracker_bias_mm.{element} (high)"]
        expected = [cause.value(1.0) if value is None else value for value in (x_mm, y_mm)]
        values = Sampler({**usual_of(config), **hypothesis_of([(cause, 1.0)]).ranges}, seed=3).draw(0, 1).values
        assert [values["tracker_bias_mm.x"][0], values["tracker_bias_mm.y"][0]] == expected


def test_rows_that_depend_on_another_are_opened_with_it():
    cause = next(cause for cause in CAUSES if cause.row == "clutter_count")
    assert "clutter_place_cm" in hypothesis_of([(cause, 1.0)]).ranges
    assert all(cause.row != "clutter_place_cm" for cause in CAUSES)


def test_a_layout_can_only_be_wider():
    laid_out = causes_of([BY_NAME["object_position_noise_cm"]], laid_out={"object_position_noise_cm": (-2.0, 2.0)})
    assert [cause.side for cause in laid_out] == ["spread"]
    low, high = laid_out[0].distribution(0.5).support()
    assert low < -2.0 < 2.0 < high


def test_a_bank_has_every_gap_that_the_cell_can_show():
    config = embedded_config()
    assert {cause.gap for cause in causes_in(config)} == set(GAPS)
    hypotheses = hypotheses_of(config, levels=2, seed=1)
    assert {hypothesis.gap for hypothesis in hypotheses} == {None, *GAPS}
    assert sum(len(hypothesis.sizes) > 1 for hypothesis in hypotheses) >= 4
    assert np.all([max(item.sizes.values()) > 0 for item in hypotheses if item.sizes])


def test_darkness_has_a_hypothesis_in_which_the_tracker_gets_worse_too():
    plain, both = (cause for cause in CAUSES if cause.row == "lighting_intensity" and cause.side == "low")
    assert (plain.worse, both.worse) == ("", "tracker_loss_share")
    assert both.gap == "visual"
    assert "tracker_loss_share" not in hypothesis_of([(plain, 1.0)]).ranges
    (dim, dark) = (hypothesis_of([(both, size)]).ranges["tracker_loss_share"].support()[1] for size in (0.5, 1.0))
    assert 0 < dim < dark < BY_NAME["tracker_loss_share"].plausible[1]
    # A cause of the tracker's own row sets the row itself.
    own = next(cause for cause in CAUSES if cause.row == "tracker_loss_share")
    together = hypothesis_of([(both, 1.0), (own, 0.2)])
    assert together.ranges["tracker_loss_share"] == own.distribution(0.2)
