"""The safety filter: valid commands pass unchanged, others are limited for a recorded reason."""

import numpy as np
import pytest

from tests.deploy.made_up import described
from twinloop.deploy.safety.bounds import bounds_of
from twinloop.deploy.safety.filter import SafetyFilter
from twinloop.deploy.safety.force import LEAST_S, PATIENCE_S
from twinloop.deploy.safety.intention import intended
from twinloop.deploy.safety.motion import fastest
from twinloop.deploy.safety.workspace import Tool
from twinloop.twin.twin import Twin

PERIOD_S = 0.04


@pytest.fixture
def safety(twin: Twin) -> SafetyFilter:
    about = described(twin)
    made = SafetyFilter(about, bounds_of(about), twin)
    made.begin(np.array(about.home))
    return made


@pytest.fixture
def home(twin: Twin) -> np.ndarray:
    return np.array(described(twin).home)


def test_a_smooth_motion_passes_as_it_is(safety: SafetyFilter, home: np.ndarray):
    for period in range(50):
        wanted = home.copy()
        wanted[0] += 0.2 * np.sin(period * PERIOD_S * 2) ** 2
        filtered = safety.pass_on(wanted)
        np.testing.assert_allclose(filtered.command, wanted, atol=1e-9)
        assert filtered.reasons == ()


def test_a_step_is_reached_without_swinging_past(safety: SafetyFilter, home: np.ndarray):
    wanted = home.copy()
    wanted[0] += 0.3
    sent = [safety.pass_on(wanted).command[0] for _ in range(40)]
    assert max(sent) <= wanted[0] + 1e-9
    assert sent[-1] == pytest.approx(wanted[0], abs=1e-9)
    assert (np.diff(sent) >= -1e-12).all()


def test_fast_targets_are_followed_at_the_limit_and_named(safety: SafetyFilter, home: np.ndarray):
    wanted = home.copy()
    wanted[0] += 0.5
    assert "velocity" in safety.pass_on(wanted).reasons
    assert [safety.pass_on(wanted) for _ in range(60)][-1].reasons == ()
    wanted[0] -= 0.05
    assert "acceleration" in safety.pass_on(wanted).reasons


def test_out_of_range_is_clipped_and_named(safety: SafetyFilter, home: np.ndarray):
    wanted = home.copy()
    wanted[6] = 99
    filtered = safety.pass_on(wanted)
    assert "position" in filtered.reasons
    np.testing.assert_array_equal(filtered.action, wanted)


@pytest.mark.parametrize("action", [np.full(8, np.nan), np.zeros(7), "home", None, np.full(8, 1e300)])
def test_an_invalid_action_holds_the_robot(safety: SafetyFilter, home: np.ndarray, action: object):
    moving = home + 0.02
    safety.pass_on(moving)
    sent = [safety.pass_on(action) for _ in range(20)]
    assert sent[-1].reasons == (() if action is None else ("non_finite",))
    np.testing.assert_array_equal(sent[-1].command, sent[-2].command)
    np.testing.assert_array_equal(sent[-1].action, sent[-1].command)


def test_the_tool_slides_along_the_wall_of_the_workspace(safety: SafetyFilter, twin: Twin, home: np.ndarray):
    tool = Tool(twin)
    down_and_aside = home.copy()
    down_and_aside[1] += 0.9
    down_and_aside[0] += 0.4
    reasons, places = set(), []
    for _ in range(60):
        filtered = safety.pass_on(down_and_aside)
        reasons |= {*filtered.reasons}
        places.append(tool.at(filtered.command[None])[0])
    assert "workspace" in reasons
    low, high = described(twin).limits.workspace_m.T
    assert (np.array(places) >= low - 1e-9).all()
    assert (np.array(places) <= high + 1e-9).all()
    # It did not freeze at the wall: the turn that leads nowhere outside was made.
    assert places[-1][1] > places[0][1] + 0.1


def test_a_robot_outside_its_limits_may_only_move_back(twin: Twin, home: np.ndarray):
    about, tool = described(twin), Tool(twin)
    outside = home.copy()
    outside[0] = 1.4
    safety = SafetyFilter(about, bounds_of(about), twin)
    safety.begin(outside)
    further = outside.copy()
    further[0] = 2.0
    there = tool.at(outside[None])[0, 0]
    assert there < described(twin).limits.workspace_m[0, 0]
    for _ in range(20):
        assert tool.at(safety.pass_on(further).command[None])[0, 0] >= there - 1e-9
    back = [safety.pass_on(home).command for _ in range(80)]
    np.testing.assert_allclose(back[-1], home, atol=1e-6)


def test_a_loaded_joint_is_not_pushed_on_but_may_go_back(safety: SafetyFilter, twin: Twin, home: np.ndarray):
    limit = described(twin).limits.effort
    effort = np.zeros(8)
    effort[1] = 0.9 * limit[1]
    pushing, back = home.copy(), home.copy()
    pushing[1] += 0.2
    back[1] -= 0.2
    filtered = safety.pass_on(pushing, {"observation.effort": effort})
    assert "effort" in filtered.reasons
    assert filtered.command[1] == home[1]
    assert safety.pass_on(back, {"observation.effort": effort}).command[1] < home[1]
    effort[1] = np.nan
    safety.begin(home)
    held = [safety.pass_on(wanted, {"observation.effort": effort}).command[1] for wanted in (pushing, back)]
    assert held == [home[1], home[1]]


@pytest.mark.parametrize("sensor", ["effort", "wrist"])
def test_too_much_force_backs_off_the_way_it_came(safety: SafetyFilter, twin: Twin, home: np.ndarray, sensor: str):
    effort, wrench = np.zeros(8), np.zeros(6)
    wanted = home.copy()
    way = []
    for _ in range(15):
        wanted[0] += 0.01
        way.append(safety.pass_on(wanted, {"observation.effort": effort}).command[0])
    if sensor == "effort":
        effort[3] = described(twin).limits.effort[3]
    else:
        wrench[2] = 200
    loaded = {"observation.effort": effort, "observation.force_torque": wrench}
    on = wanted + np.array([0.1, *np.zeros(7)])
    if sensor == "effort":  # for one reading, this may be a servo that catches up
        assert "force" not in safety.pass_on(wanted, loaded).reasons
    backing = [safety.pass_on(on, loaded) for _ in range(20)]
    assert all("force" in filtered.reasons for filtered in backing)
    assert backing[-1].command[0] < way[-6]
    # The robot waits until the load is gone, then the episode continues.
    assert backing[-1].command[0] == pytest.approx(backing[-2].command[0], abs=1e-12)
    free = {"observation.effort": np.zeros(8), "observation.force_torque": np.zeros(6)}
    on_again = [safety.pass_on(on, free).command[0] for _ in range(60)]
    assert on_again[-1] == pytest.approx(on[0], abs=1e-6)


def test_a_robot_that_has_pressed_for_long_backs_off_until_it_is_free(safety: SafetyFilter, home: np.ndarray):
    """The last commands press as well, so the way back is longer. The gripper keeps what it holds."""
    wanted, command, contact, grasp = home.copy(), home, home[0] + 0.2, 0.03
    for _ in range(40):
        wanted[0] += 0.01
        if wanted[0] > contact:
            wanted[-1] = grasp
        command = safety.pass_on(wanted).command
    assert command[-1] == pytest.approx(grasp, abs=1e-3)
    periods = 0
    while command[0] > contact:
        command = safety.pass_on(wanted, {"observation.force_torque": np.array([0, 0, 500.0, 0, 0, 0])}).command
        assert command[-1] == pytest.approx(grasp, abs=1e-3)
        periods += 1
        assert not safety.hopeless
    assert periods > LEAST_S / PERIOD_S
    assert safety.pass_on(wanted, {"observation.force_torque": np.zeros(6)}).command[0] > command[0]


def test_a_force_that_stays_is_hopeless(safety: SafetyFilter, home: np.ndarray):
    loaded = {"observation.force_torque": np.array([0, 0, 500.0, 0, 0, 0])}
    for _ in range(round(PATIENCE_S / PERIOD_S) + 1):
        assert not safety.hopeless
        safety.pass_on(home, loaded)
    assert safety.hopeless
    safety.begin(home)
    assert not safety.hopeless


def test_a_gripper_may_press(safety: SafetyFilter, twin: Twin, home: np.ndarray):
    effort = np.zeros(8)
    effort[-1] = -described(twin).limits.effort[-1]
    assert "force" not in safety.pass_on(home, {"observation.effort": effort}).reasons


def test_fastest_is_just_fast_enough():
    """Against the sum itself: braking by a step each period from that speed uses up the distance, and no more."""
    step, period_s = np.full(200, 0.3), PERIOD_S
    distance = np.linspace(0, 0.5, 200)
    speed = fastest(distance, step, period_s)
    for total, first in zip(distance, speed, strict=True):
        way, left = 0.0, first
        while left > 0:
            way, left = way + left * period_s, left - 0.3
        assert way == pytest.approx(total, abs=1e-9)


def test_intended_accepts_only_valid_actions():
    np.testing.assert_array_equal(intended([1, 2.5], 2), [1.0, 2.5])
    np.testing.assert_array_equal(intended(np.array([1, 2], object), 2), [1.0, 2.0])
    for output in ([1], [[1, 2]], ["1", "2"], [True, False], [1, 2j], [np.nan, 0], [1, -np.inf], [1e7, 0], None, {}):
        assert intended(output, 2) is None
