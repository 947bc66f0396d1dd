"""Somebody reaches in: along the drawn path, no faster than drawn; whom the robot hits is a verdict of its own."""

import numpy as np
import pytest

from tests.conftest import SEED_RANGES, Simulate
from twinloop.curate.failure import PUSHED, failures_of
from twinloop.curate.judge import judge
from twinloop.curate.limits import CurateConfig
from twinloop.randomize.bystander import BYSTANDER
from twinloop.randomize.distribution import Choice, Constant, Distribution, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.randomize.hand_path import hand_poses
from twinloop.simulate.expert import ExpertConfig
from twinloop.twin.assemble import assemble
from twinloop.twin.bystander import AWAY_M, CENTRE_XY_M, EDGE_M, distance_m
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.surroundings import Kind
from twinloop.twin.tasks.handover import HANDOVER
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

STEP_S = 0.005
SOMEBODY: frozenset[Kind] = frozenset({"bystander"})
LIMITS = CurateConfig(longest_s=20)
PEOPLE: dict[str, Distribution] = {
    **{row.name: Uniform(*row.sensible) for row in BYSTANDER if row.chance is None},
    "bystander_probability": Constant(1.0),
}
IN_THE_WAY: dict[str, Distribution] = {
    "bystander_probability": Constant(1.0),
    "bystander_side_deg": Constant(0.0),
    "bystander_reach_cm": Constant(25.0),
    "bystander_height_cm": Constant(20.0),
    "bystander_stay_s": Constant(20.0),
}
"""A hand held over the middle of the table, between where the object is and where it goes."""


@pytest.fixture(scope="module")
def visited() -> Twin:
    return assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["cube"], features=Features(surroundings=SOMEBODY))


def path(ranges: dict[str, Distribution], seconds: np.ndarray) -> np.ndarray:
    values = Sampler(ranges, seed=0).draw(0, 1).values
    return hand_poses({name: np.full(len(seconds), value[0]) for name, value in values.items()}, seconds)


def test_the_hand_comes_hesitates_stays_and_withdraws_as_drawn():
    drawn = {"bystander_probability": 1, "bystander_side_deg": 60, "bystander_offset_cm": 8, "bystander_reach_cm": 20,
             "bystander_arrival_s": 1.0, "bystander_speed_m_s": 0.5, "bystander_hesitation_s": 0.7,
             "bystander_stay_s": 1.5, "bystander_withdrawal_s": 0.6}  # fmt: skip
    seconds = np.arange(0, 12, STEP_S)
    where = path({name: Constant(float(value)) for name, value in drawn.items()}, seconds)[:, :2]
    outwards, sideways = np.array([0.5, np.sqrt(0.75)]), np.array([-np.sqrt(0.75), 0.5])
    along, beside = (where - CENTRE_XY_M) @ outwards, (where - CENTRE_XY_M) @ sideways
    np.testing.assert_allclose(beside, 0.08)
    assert along[0] == pytest.approx(EDGE_M + AWAY_M)
    assert along[-1] == pytest.approx(EDGE_M + AWAY_M)
    assert along.min() == pytest.approx(EDGE_M - 0.2)
    speed = -np.diff(along) / STEP_S
    assert speed.max() == pytest.approx(0.5, rel=0.01)
    # Phases: still before it sets out, a stop of 0.7 s half-way, 1.5 s there, and 0.6 s to be gone.
    assert seconds[np.flatnonzero(along < along[0] - 1e-4)[0]] == pytest.approx(1.0, abs=0.15)
    half_way = (np.abs(along - (EDGE_M + AWAY_M - 0.3)) < 1e-3) & (seconds < seconds[along.argmin()])
    assert np.ptp(seconds[half_way]) == pytest.approx(0.7, abs=0.2)
    there = seconds[along < EDGE_M - 0.2 + 1e-6]
    gone = seconds[(seconds > there[-1]) & (along > along[0] - 1e-6)][0]
    assert np.ptp(there) == pytest.approx(1.5, abs=0.1)
    assert gone - there[-1] == pytest.approx(0.6, abs=0.1)


def test_no_draw_is_faster_than_it_says_on_its_way_in():
    draws = Sampler(PEOPLE, seed=1).draw(0, 64)
    seconds = np.arange(0, 12, STEP_S)
    for row in range(64):
        values = {name: np.full(len(seconds), value[row]) for name, value in draws.values.items()}
        where = hand_poses(values, seconds)[:, :2]
        moved = np.linalg.norm(np.diff(where, axis=0), axis=1) / STEP_S
        coming = np.diff(np.linalg.norm(where - CENTRE_XY_M, axis=1)) < 0
        assert moved[coming].max() <= draws.values["bystander_speed_m_s"][row] * 1.001


def test_where_nobody_comes_nothing_is_felt_or_seen(visited: Twin, simulate: Simulate):
    alone = simulate(6, of=visited, ranges={**SEED_RANGES, "bystander_probability": Constant(0.0)})
    assert alone["person_force"].max() == 0
    np.testing.assert_array_equal(alone["action"], simulate(6)["action"])


def test_distance_is_to_the_whole_arm():
    pose = path({"bystander_probability": Constant(1.0), "bystander_side_deg": Constant(90.0)}, np.array([100.0, 0.0]))
    tip = pose[:, :3]
    points = tip + np.array([[0.1, 0.3, 0.0], [0.0, -0.2, 0.0]])
    np.testing.assert_allclose(distance_m(pose, points), [0.1, 0.2], atol=1e-9)
    nobody = path({}, np.array([0.0]))
    assert distance_m(nobody, np.zeros((1, 3)))[0] == np.inf


def test_a_hand_in_the_robots_way_is_a_verdict_and_a_failure_of_its_own(visited: Twin, simulate: Simulate):
    hit = simulate(3, of=visited, ranges=IN_THE_WAY)
    assert (hit["person_force"].max(axis=1).max()) > LIMITS.person_force_n
    verdicts = judge(hit, visited, LIMITS)
    assert verdicts.reasons == ("person_pushed",) * 3
    assert failures_of(hit, visited, LIMITS) == (PUSHED,) * 3


def test_an_expert_that_yields_pushes_fewer_people_and_still_gets_its_work_done(visited: Twin, simulate: Simulate):
    pushed = {}
    for yields in (False, True):
        episodes = simulate(48, of=visited, ranges=PEOPLE, expert=ExpertConfig(yields_to_people=yields))
        pushed[yields] = sum(name == PUSHED for name in failures_of(episodes, visited, LIMITS))
        assert episodes.success.mean() > 0.9
    assert pushed[True] < pushed[False]


@pytest.mark.parametrize("task", [PICK_AND_PLACE, HANDOVER], ids=lambda task: task.name)
def test_the_tape_is_the_same_at_any_width(task, simulate: Simulate):
    kinds: frozenset[Kind] = frozenset({"bystander", "distractors", "item"})
    twin = assemble(FRANKA_PANDA, task, OBJECTS["cube"], features=Features(clutter=True, surroundings=kinds))
    sometimes = Choice((0.0, 1.0), (0.5, 0.5))
    ranges = {**SEED_RANGES, **PEOPLE, "bystander_probability": sometimes, "unexpected_item_probability": sometimes,
              "distractor_count": Uniform(0.0, 4.0), "clutter_count": Uniform(0.0, 4.0),
              "table_tilt_deg": Uniform(-1.0, 1.0), "hand_withdrawal_s": Uniform(0.3, 1.5)}  # fmt: skip
    together = simulate(6, of=twin, ranges=ranges, expert=ExpertConfig(yields_to_people=True))
    for width in (1, 4):
        again = simulate(6, width=width, of=twin, ranges=ranges, expert=ExpertConfig(yields_to_people=True))
        np.testing.assert_array_equal(again.tape, together.tape)
