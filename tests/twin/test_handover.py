"""Handing things to a person: the hand comes as drawn, takes what is offered, and is not hurt."""

from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import SEED_RANGES, Simulate
from twinloop.curate.failure import failures_of
from twinloop.curate.judge import judge
from twinloop.curate.limits import CurateConfig
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.randomize.human import HUMAN
from twinloop.simulate.episodes import Episodes
from twinloop.twin.assemble import assemble
from twinloop.twin.entity import Fixture
from twinloop.twin.objects import OBJECTS
from twinloop.twin.relations import lifted
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.robots.mobile_panda import MOBILE_PANDA
from twinloop.twin.tasks.handover import FROM_M, HANDOVER, PALM_AT_M, hand_poses
from twinloop.twin.twin import Twin

PEOPLE: dict[str, Distribution] = {row.name: Uniform(*row.sensible) for row in HUMAN}
LIMITS = CurateConfig(longest_s=20)


@pytest.fixture(scope="module")
def handover_twin() -> Twin:
    return assemble(FRANKA_PANDA, HANDOVER, OBJECTS["cube"])


@pytest.fixture(scope="module")
def handed(simulate: Simulate, handover_twin: Twin) -> Episodes:
    return simulate(24, of=handover_twin, ranges={**SEED_RANGES, **PEOPLE, "friction_coefficient": Uniform(0.4, 1.1)})


def test_people_of_all_kinds_are_served(handed: Episodes, handover_twin: Twin):
    assert np.mean(judge(handed, handover_twin, LIMITS).accepted) >= 0.9


def test_the_goal_that_is_recorded_is_the_hand_as_it_moves(handed: Episodes):
    first = slice(handed.starts[0], handed.starts[0] + handed.lengths[0])
    draw = {name: np.full(handed.lengths[0], values[0]) for name, values in handed.draws.values.items()}
    recorded = handed["environment"][first, 7:10]
    # A frame shows the hand as it stood in the period before.
    seconds = np.maximum(np.arange(handed.lengths[0]) - 1, 0) / 25
    np.testing.assert_allclose(recorded, hand_poses(draw, seconds)[:, :3], atol=1e-5)
    assert np.ptp(recorded, axis=0).max() > 0.2


def path(**drawn: float) -> tuple[np.ndarray, np.ndarray]:
    """(seconds, positions) of one hand."""
    seconds = np.arange(0, 30, 0.01)
    values = Sampler({name: Constant(value) for name, value in drawn.items()}, seed=0).draw(0, 1).values
    return seconds, hand_poses({name: np.full(len(seconds), value[0]) for name, value in values.items()}, seconds)[
        :, :3
    ]


def test_a_hand_comes_waits_and_goes_no_faster_than_it_says():
    seconds, where = path(hand_arrival_s=1.0, hand_speed_m_s=0.5, hand_hesitation_s=0.7, hand_patience_s=5.0)
    speed = np.linalg.norm(np.diff(where, axis=0), axis=1) / 0.01
    assert speed.max() == pytest.approx(0.5, rel=1e-6)
    there = np.linalg.norm(where - PALM_AT_M, axis=1) < 1e-9
    travel_s = np.linalg.norm(FROM_M) / 0.5
    assert seconds[there][0] == pytest.approx(1.0 + travel_s + 0.7, abs=0.02)
    assert np.ptp(seconds[there]) == pytest.approx(5.0, abs=0.03)
    np.testing.assert_allclose(where[[0, -1]], [PALM_AT_M + FROM_M] * 2)


def test_a_hand_that_gives_up_too_soon_is_not_served(simulate: Simulate, handover_twin: Twin):
    left = simulate(2, of=handover_twin, ranges={"hand_patience_s": Constant(0.5)})
    assert not left.success.any()


def test_pressing_on_a_person_is_a_verdict_of_its_own(handed: Episodes, handover_twin: Twin):
    tape = handed.tape.copy()
    tape[handed.starts[3] + 40, handed.channels["person_force"].start] = 200.0
    assert judge(replace(handed, tape=tape), handover_twin, LIMITS).reasons[3] == "person_pushed"


def test_a_robot_that_touches_the_hand_feels_it(simulate: Simulate):
    """A palm held just where the fingers are."""
    thing, palm = HANDOVER.entities
    assert isinstance(palm, Fixture)
    still = replace(palm, path=lambda _, time_s: np.tile([0.49, 0, 0.355, 1, 0, 0, 0], (len(time_s), 1)))
    in_the_way = assemble(FRANKA_PANDA, replace(HANDOVER, entities=(thing, still), fitted=None))
    touching = simulate(1, of=in_the_way, ranges={})
    assert touching["person_force"].max() > 1.0


@pytest.mark.parametrize(
    ("failure", "drawn"),
    [
        ("hand_withdrew", {"hand_patience_s": 0.5}),
        ("hand_withdrew", {"hand_patience_s": 2.7, "hand_withdrawal_s": 0.3}),  # just as it is being served
        ("no_receiver", {"hand_arrival_s": 20.0}),
        ("released_too_early", {"hand_hesitation_s": 3.8}),  # served while it pauses, and then it moves on
        ("dropped_before_release", {"friction_coefficient": 0.05, "object_mass_kg": 0.6}),
        ("never_grasped", {"grip_force_scale": 0.01}),
        ("fell_off_table", {"gravity_tilt_deg": 15.0, "friction_coefficient": 0.12}),
    ],
)
def test_what_a_person_does_is_what_the_failure_is_called(
    simulate: Simulate, handover_twin: Twin, failure: str, drawn: dict[str, float]
):
    episodes = simulate(2, of=handover_twin, ranges={name: Constant(value) for name, value in drawn.items()})
    assert failures_of(episodes, handover_twin, LIMITS) == (failure, failure)


def test_what_does_not_stay_on_a_waiting_palm_slipped_off_it(simulate: Simulate, handover_twin: Twin):
    never = replace(HANDOVER, success=(lifted("object", 10.0),))
    twin = replace(handover_twin, task=never)
    assert failures_of(simulate(2, of=twin, ranges={}), twin, LIMITS) == ("slipped_off_palm",) * 2


def test_a_hand_withdraws_in_the_time_that_is_drawn():
    for drawn_s, takes_s in ((0.4, 0.4), (0.0, np.linalg.norm(FROM_M) / 0.5)):
        seconds, where = path(hand_speed_m_s=0.5, hand_patience_s=5.0, hand_withdrawal_s=drawn_s)
        out = np.linalg.norm(where - PALM_AT_M, axis=1)
        moving = seconds[(seconds > 2) & (out > 1e-9) & (out < np.linalg.norm(FROM_M) - 1e-9)]
        assert np.ptp(moving) == pytest.approx(takes_s, abs=0.03)


def test_the_palm_of_a_mobile_arm_is_as_near_as_other_places():
    area = MOBILE_PANDA.area
    assert area is not None
    near = HANDOVER.for_robot(MOBILE_PANDA).by_name["goal"]
    assert isinstance(near, Fixture)
    assert near.path is not None
    nominal = Sampler({}, seed=0).draw(0, 1).values
    palm = near.path(nominal, np.array([5.0]))[0]
    assert area.nearest_m <= np.linalg.norm(palm[:2] - area.centre_m) <= area.farthest_m
    assert palm[2] == pytest.approx(PALM_AT_M[2])
