"""Spaces are equal, or the table lists their differences."""

from dataclasses import replace

import numpy as np
import pytest

from tests.learn.demonstrated import FEATURES
from twinloop.config.record import read_record, write_record
from twinloop.config.section import Section
from twinloop.dataset import Dataset
from twinloop.errors import DatasetError
from twinloop.learn.demonstrations import load_demonstrations
from twinloop.learn.space import Space, camera_misfit, table_of
from twinloop.observe.history import HISTORY
from twinloop.observe.instruction import instruction_feature
from twinloop.observe.recording import Feature


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


def test_a_history_averages_the_vectors_that_the_policy_reads(reached):
    header = Dataset.open(reached).header
    state, history = "observation.state", HISTORY
    assert Space.of(header, (state,)).remembered == ()
    space = Space.of(header, (state, history))
    assert space.remembered == space.sensed == (state,)
    demonstrations = load_demonstrations(reached, (state, history))
    recent = demonstrations.vectors[state][:4, :2].mean(axis=0)  # 0.08 s at 50 Hz
    np.testing.assert_allclose(demonstrations.vectors[history][4, :2], recent, atol=1e-6)
    with pytest.raises(DatasetError, match=r"has no input 'observation\.history'"):
        Space.of(header, (history,))


def test_an_unknown_input_is_refused_with_the_valid_ones(reached):
    with pytest.raises(DatasetError, match=r"observation\.sate.*observation\.state"):
        Space.of(Dataset.open(reached).header, ("observation.sate",))


def test_missing_cameras_and_other_sizes_are_named_with_the_available_ones(space):
    front, wrist = (Feature(f"observation.images.{name}", "video", (96, 96, 3)) for name in ("front", "wrist"))
    seeing = replace(space, inputs=(*space.inputs, front, wrist))
    assert camera_misfit(seeing, [front, wrist], where="cell.yaml") == ""
    blind = camera_misfit(seeing, space.inputs, where="cell.yaml")
    assert "observation.images.front (96 × 96 × 3, RGB), which cell.yaml does not have" in blind
    assert "Cameras of cell.yaml: none" in blind
    larger = camera_misfit(seeing, [front, replace(wrist, shape=(128, 128, 3))], where="the robot")
    assert "observation.images.wrist (96 × 96 × 3, RGB), but the robot has 128 × 128 × 3" in larger
    assert "front" not in larger.partition("Cameras of")[0]


def test_a_dataset_without_the_requested_camera_lists_its_own(reached):
    with pytest.raises(DatasetError, match=r"has no image 'observation\.images\.front'; its images: none\. Generate"):
        Space.of(Dataset.open(reached).header, ("observation.state", "observation.images.front"))


def test_another_version_of_the_instruction_is_one_line(space):
    now = replace(space, inputs=(*space.inputs, instruction_feature()))
    old = replace(instruction_feature(), shape=(64,), names=instruction_feature().names[:64])
    before = replace(space, inputs=(*space.inputs, old))
    assert before.differences(now) == [("observation.instruction: size", "64", "256")]
