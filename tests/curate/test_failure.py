"""Failures have names that follow from the episode. Every failed attempt has one, and no other."""

from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import SEED_RANGES, Simulate
from twinloop.curate.failure import DIVERGED, TIMEOUT, failures_of
from twinloop.curate.limits import CurateConfig
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import ExpertConfig
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.failure import COMMON
from twinloop.twin.objects import OBJECTS
from twinloop.twin.relations import at
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

LIMITS = CurateConfig()


def names(simulate: Simulate, twin: Twin, *, count: int = 2, **drawn: float) -> tuple[str, ...]:
    ranges: dict[str, Distribution] = {name: Constant(value) for name, value in drawn.items()}
    return failures_of(simulate(count, of=twin, ranges=ranges, expert=ExpertConfig(retries=0)), twin, LIMITS)


def test_success_has_no_name_and_every_failure_has_one(simulate: Simulate, twin: Twin):
    mixed = simulate(48, ranges={**SEED_RANGES, "friction_coefficient": Uniform(0.01, 0.05)})
    assert 0 < mixed.success.mean() < 1
    failure_names = np.array(failures_of(mixed, twin, LIMITS))
    np.testing.assert_array_equal(failure_names == "", mixed.success)
    assert set(failure_names) <= {"", TIMEOUT, *(failure.name for failure in COMMON)}


@pytest.mark.parametrize(
    ("failure", "drawn"),
    [
        ("never_grasped", {"grip_force_scale": 0.01}),  # too weak to hold anything
        ("dropped_in_lift", {"object_size_scale": 2.2}),  # 88 mm do not fit: the fingers close on the top and slip off
        ("dropped_in_lift", {"friction_coefficient": 0.05, "object_mass_kg": 0.6}),  # slips through them
        ("fell_off_table", {"gravity_tilt_deg": 15.0, "friction_coefficient": 0.12}),  # a slide
        ("timeout", {"target_position_noise_cm": 25.0}),  # farther than the arm reaches
    ],
)
def test_a_failure_has_the_name_of_its_cause(simulate: Simulate, twin: Twin, failure: str, drawn: dict):
    assert names(simulate, twin, **drawn) == (failure, failure)


def test_an_arm_too_weak_to_move_never_reaches_the_object(simulate: Simulate, twin: Twin):
    held_back = replace(twin, robot=replace(twin.robot, velocity_limits_rad_s=(0.001,) * 7))
    episodes = simulate(1, of=held_back)
    assert failures_of(episodes, held_back, LIMITS) == ("never_reached",)


def test_an_object_put_down_elsewhere_missed_the_goal(simulate: Simulate, twin: Twin):
    """A zone so small that the expert's aim is not good enough."""
    exacting = replace(twin, task=replace(PICK_AND_PLACE, success=(at("object", "goal", within_m=1e-6),)))
    assert failures_of(simulate(2, of=exacting), exacting, LIMITS) == ("missed_goal",) * 2


def test_an_object_lost_on_the_way_was_dropped_in_transfer(few: Episodes, twin: Twin):
    """An episode cut short in its transfer, with nothing between the fingers any more."""
    stop = int(np.flatnonzero(few["phase"][: few.lengths[0], 0] == 4)[8])
    tape = few.tape[:stop].copy()
    tape[-3:, few.channels["contact"]] = 0
    lost = replace(
        few, tape=tape, lengths=np.append(stop, np.zeros(11, int)), success=np.zeros(12, bool), lost=np.ones(12, bool)
    )
    assert failures_of(lost, twin, LIMITS)[0] == "dropped_in_transfer"
    # The fingers still touch the object, but the attempt was given up.
    gripped = replace(lost, tape=few.tape[:stop])
    assert failures_of(gripped, twin, LIMITS)[0] == "dropped_in_transfer"
    # Gripped to the end of its time.
    assert failures_of(replace(gripped, lost=np.zeros(12, bool)), twin, LIMITS)[0] == TIMEOUT


def test_obstacles_make_some_episodes_fail(simulate: Simulate):
    obstructed = assemble(
        FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["cube"], features=Features(surroundings=frozenset({"item"}))
    )
    ranges: dict[str, Distribution] = {
        "unexpected_item_probability": Constant(1.0),
        "unexpected_item_place_cm": Uniform(-12.0, 12.0),
        "unexpected_item_height_cm": Uniform(5.0, 20.0),
    }
    assert 0.4 < simulate(48, of=obstructed, ranges=ranges).success.mean() < 1


def test_a_diverged_episode_without_frames_is_called_diverged(few: Episodes, twin: Twin):
    diverged = np.zeros(12, bool)
    diverged[[0, 5]] = True
    lengths = few.lengths.copy()
    lengths[0] = 0
    broken = replace(
        few, diverged=diverged, lengths=lengths, tape=few.tape[few.lengths[0] :], success=few.success & ~diverged
    )
    failure_names = failures_of(broken, twin, LIMITS)
    assert [number for number, name in enumerate(failure_names) if name == DIVERGED] == [0, 5]
    nothing = replace(few, diverged=np.ones(12, bool), lengths=np.zeros(12, int), tape=few.tape[:0])
    assert set(failures_of(nothing, twin, LIMITS)) == {DIVERGED}
