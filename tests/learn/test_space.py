"""Spaces are equal, or the table lists their differences."""

from dataclasses import replace

import pytest

from tests.learn.demonstrated import FEATURES
from twinloop.config.record import read_record, write_record
from twinloop.config.section import Section
from twinloop.dataset import Dataset
from twinloop.errors import DatasetError
from twinloop.learn.space import Space, table_of


@pytest.fixture
def space(reached) -> Space:
    return Space.of(Dataset.open(reached).header)


def test_a_space_survives_json(space):
    assert read_record(Space, Section("", "", write_record(space), {})) == space


def test_a_space_does_not_differ_from_itself(space):
    assert space.differences(space) == []


def test_order_unit_rate_and_robot_are_named(space):
    swapped = replace(FEATURES[2], names=("elbow", "shoulder"), unit="deg")
    other = replace(space, action=swapped, rate_hz=30.0, robot="so101")
    rows = {what: (here, there) for what, here, there in space.differences(other)}
    assert rows == {
        "robot": ("panda", "so101"),
        "rate": ("50 Hz", "30 Hz"),
        "action: elements": ("shoulder, elbow", "elbow, shoulder"),
        "action: unit": ("rad", "deg"),
    }
    table = table_of(space.differences(other), here="mine", there="theirs")
    assert all(word in table for word in ("mine", "theirs", "shoulder, elbow", "30 Hz"))


def test_missing_features_of_either_side_are_named(space):
    less = replace(space, inputs=space.inputs[:1])
    assert ("observation.environment_state", "7", "missing") in space.differences(less)
    assert ("observation.environment_state", "missing", "7") in less.differences(space)


def test_an_unknown_input_is_refused_with_the_valid_ones(reached):
    with pytest.raises(DatasetError, match=r"observation\.sate.*observation\.state"):
        Space.of(Dataset.open(reached).header, ("observation.sate",))
