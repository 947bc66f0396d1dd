"""Rows with elements: `x.tracker_bias_mm` in the config is the range of one element."""

from pathlib import Path

import numpy as np
import pytest

from twinloop.errors import ConfigError
from twinloop.run.config import RunConfig, config_from_text


def read(rows: str) -> RunConfig:
    return config_from_text(f"randomization: {{sensing: {{{rows}}}}}", name="cell.yaml", folder=Path())


def test_an_element_has_its_own_range_and_the_others_that_of_the_row():
    config = read("x.tracker_bias_mm: [3, 5], tracker_bias_mm: [-1, 1]")
    draws = config.sampler().draw(0, 64)
    x, y = draws.values["tracker_bias_mm.x"], draws.values["tracker_bias_mm.y"]
    assert 3 <= x.min() < x.max() <= 5
    assert -1 <= y.min() < y.max() <= 1
    # Every column has its own points, so the range of one element changes no other value.
    alone = read("tracker_bias_mm: [-1, 1]").sampler().draw(0, 64)
    assert np.array_equal(y, alone.values["tracker_bias_mm.y"])
    assert draws.varied == alone.varied


def test_an_element_alone_leaves_the_others_nominal():
    draws = read("y.tracker_bias_mm: 4").sampler().draw(0, 8)
    assert set(draws.values["tracker_bias_mm.y"]) == {4.0}
    assert set(draws.values["tracker_bias_mm.x"]) == {0.0}
    assert draws.varied == ("tracker_bias_mm.x", "tracker_bias_mm.y")  # so that the row is applied


def test_it_is_written_as_it_was_read():
    config = read("x.tracker_bias_mm: [3, 5], tracker_bias_mm: [-1, 1]")
    again = config_from_text(config.to_yaml(), name="again.yaml", folder=Path())
    assert again.digest == config.digest != read("tracker_bias_mm: [-1, 1]").digest
    assert again.resolved()["randomization"]["sensing"]["x.tracker_bias_mm"] == [3.0, 5.0]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("z.tracker_bias_mm: 1", ["names the element 'z'", "x, y"]),
        ("x.tracker_bias_mm: 900", ["mm", "plausible"]),
        ("x.encoder_bias_mrad: 1", ["'x'"]),
    ],
)
def test_other_parts_are_refused(rows: str, words: list[str]):
    with pytest.raises(ConfigError) as refused:
        read(rows)
    assert all(word in str(refused.value) for word in words), str(refused.value)
