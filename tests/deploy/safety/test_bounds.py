"""Limits: a missing limit is an error, and options can only narrow limits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.made_up import described
from twinloop.deploy.robot import Description
from twinloop.deploy.safety.bounds import FORCE_N, bounds_of, narrowed, slowed
from twinloop.deploy.safety.filter import SafetyFilter
from twinloop.errors import RobotError, UsageError
from twinloop.twin.twin import Twin


def with_limit(about: Description, kind: str, change: object) -> Description:
    values = np.array(getattr(about.limits, kind), float)
    if callable(change):
        values = change(values)
    else:
        values.flat[0] = change
    return replace(about, limits=replace(about.limits, **{kind: values}))


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("velocity", np.nan, "limits.velocity of joint1 is missing"),
        ("position", np.nan, "limits.position of joint1 is missing"),
        ("position", np.inf, "limits.position of joint1 must be finite"),
        ("position", 9.0, r"limits.position of joint1 must be \[low, high\]"),
        ("acceleration", 0.0, "limits.acceleration of joint1 must be more than 0"),
        ("effort", -1.0, "limits.effort of joint1 must be more than 0"),
        ("workspace_m", np.nan, "limits.workspace_m of x is missing"),
        ("velocity", lambda values: values[:-1], r"limits.velocity has shape \(7,\); \(8,\) was expected"),
    ],
)
def test_limits_that_are_missing_or_none_are_refused(twin: Twin, kind: str, change: object, message: str):
    with pytest.raises(RobotError, match=message):
        bounds_of(with_limit(described(twin), kind, change))


def test_a_workspace_without_a_model_to_hold_it_is_refused(twin: Twin):
    about = described(twin)
    with pytest.raises(RobotError, match="no model of franka_panda"):
        SafetyFilter(about, bounds_of(about), None)


def test_slower_is_slower_and_faster_is_refused(twin: Twin):
    bounds = bounds_of(described(twin))
    half = slowed(bounds, 0.5)
    np.testing.assert_array_equal(half.velocity, bounds.velocity / 2)
    np.testing.assert_array_equal(half.acceleration, bounds.acceleration / 2)
    np.testing.assert_array_equal(half.position, bounds.position)
    for wider in (1.01, 0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="may only narrow"):
            slowed(bounds, wider)


def test_a_file_narrows(twin: Twin, tmp_path: Path):
    path = tmp_path / "narrow.yaml"
    path.write_text(
        "position: {joint4: [-2.5, -0.5]}\nvelocity: {joint1: 1.0, gripper: 0.1}\neffort: {joint7: 5}\n"
        "workspace_m: {z: [0.02, 0.5]}\nforce_n: 60\n"
    )
    bounds = bounds_of(described(twin))
    result = narrowed(bounds, path)
    assert result.position[3].tolist() == [-2.5, -0.5]
    assert (result.velocity[0], result.velocity[7], result.effort[6], result.force_n) == (1.0, 0.1, 5.0, 60.0)
    assert result.workspace_m[2].tolist() == [0.02, 0.5]
    np.testing.assert_array_equal(result.acceleration, bounds.acceleration)
    assert bounds.force_n == FORCE_N


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("velocity:\n  joint1: 3\n", r"limits.yaml:2: velocity.joint1: is 3.0; the robot allows 2.175 at most"),
        ("position: {joint4: [-9, -1]}\n", "may only narrow"),
        ("workspace_m: {z: [-1, 0.5]}\n", "may only narrow"),
        ("force_n: 500\n", "may only narrow"),
        ("velocity: {joint1: .inf}\n", "may only narrow|a number above 0|finite"),
        ("velocity: {joint1: -1}\n", "velocity.joint1: is -1; it must be above 0"),
        ("velocity: {joint11: 1}\n", "joint11.*did you mean joint1"),
        ("position: {joint4: 1}\n", r"\[low, high\] was expected"),
        ("speed: 2\n", "speed: is not a key"),
    ],
)
def test_a_file_that_widens_or_is_wrong_is_refused(twin: Twin, tmp_path: Path, text: str, message: str):
    path = tmp_path / "limits.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        narrowed(bounds_of(described(twin)), path)
