"""Where entities start: as drawn, on the table, and clear of each other."""

from dataclasses import replace

import numpy as np
import pytest

from twinloop.randomize.distribution import Uniform
from twinloop.randomize.draw import Sampler
from twinloop.twin.entity import Fixture, Thing, zone
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import CLEARANCE_M, Layout, is_clear, pushed_away
from twinloop.twin.soft import axes_of
from twinloop.twin.table import surface_m

COUNT = 200
ENTITIES = {
    "red": Thing("red", OBJECTS["cube"], "red"),
    "blue": Thing("blue", OBJECTS["cube"], "blue"),
    "can": Thing("can", OBJECTS["can"]),
    "cabinet": Fixture("cabinet", lambda *_: None, footprint_m=0.1),
    "goal": zone("goal"),
}
CLOSE = {"object_position_noise_cm": Uniform(-3.0, 3.0), "object_yaw_deg": Uniform(-90.0, 90.0)}


def draw(**ranges) -> dict[str, np.ndarray]:
    things = tuple(name for name, entity in ENTITIES.items() if isinstance(entity, Thing))
    return dict(Sampler({**CLOSE, **ranges}, seed=1, things=things).draw(0, COUNT).values)


def crowded(values: dict[str, np.ndarray]) -> Layout:
    layout = Layout(values, COUNT, ENTITIES)
    layout.fixture("cabinet", (0.5, 0.2))
    layout.zone("goal", (0.4, 0.0))
    for name in ("red", "blue", "can"):
        layout.thing(name, (0.45, 0.0))  # all at one place
    return layout


def radius_m(name: str) -> float:
    entity = ENTITIES[name]
    assert isinstance(entity, Thing)
    return float(np.hypot(*entity.object.half_extents_m[:2]))


def test_things_at_one_place_do_not_overlap():
    start = crowded(draw()).done()
    for first, second in (("red", "blue"), ("red", "can"), ("blue", "can")):
        apart = np.linalg.norm(start.poses[first][:, :2] - start.poses[second][:, :2], axis=1)
        assert (apart >= radius_m(first) + radius_m(second) + CLEARANCE_M - 1e-6).all(), (first, second)
    for name in ("red", "blue", "can"):
        away = np.linalg.norm(start.poses[name][:, :2] - start.poses["cabinet"][:, :2], axis=1)
        assert (away > 0.1 + radius_m(name)).all()


def test_things_drawn_at_the_very_same_point_do_not_overlap():
    layout = Layout(dict(Sampler({}, seed=0).draw(0, COUNT).values), COUNT, ENTITIES)
    for name in ("red", "blue", "can"):
        layout.thing(name, (0.45, 0.0))
    for first, second in (("red", "blue"), ("red", "can"), ("blue", "can")):
        apart = np.linalg.norm(layout.at(first)[:, :2] - layout.at(second)[:, :2], axis=1)
        assert (apart >= radius_m(first) + radius_m(second) + CLEARANCE_M - 1e-6).all(), (first, second)


def test_sizes_count_as_drawn():
    start = crowded(draw(object_size_scale=Uniform(1.4, 1.5))).done()
    apart = np.linalg.norm(start.poses["red"][:, :2] - start.poses["blue"][:, :2], axis=1)
    assert (apart > 1.4 * 2 * radius_m("red")).all()


def test_each_thing_draws_its_own_place_and_yaw():
    values = draw()
    layout = Layout(values, COUNT, ENTITIES)
    layout.thing("red", (0.4, -0.3))
    layout.thing("blue", (0.6, 0.3))
    red, blue = layout.at("red"), layout.at("blue")
    np.testing.assert_allclose(red[:, 0], 0.4 + values["object_position_noise_cm.x"] / 100)
    np.testing.assert_allclose(blue[:, 0], 0.6 + values["object_position_noise_cm.blue.x"] / 100)
    yaw = np.arctan2(*axes_of(blue[:, 3:])[:, [1, 0], 0].T)
    np.testing.assert_allclose(yaw, np.deg2rad(values["object_yaw_deg.blue"]), atol=1e-9)
    assert abs(np.corrcoef(red[:, 0], blue[:, 0])[0, 1]) < 0.2


@pytest.mark.parametrize("quat", [(1.0, 0.0, 0.0, 0.0), (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)], ids=["up", "lying"])
def test_things_stand_on_a_table_of_any_height_and_tilt(quat):
    values = draw(table_height_cm=Uniform(-2.0, 2.0), table_tilt_deg=Uniform(-5.0, 5.0))
    layout = Layout(values, COUNT, ENTITIES)
    layout.thing("can", (0.45, 0.1), quat=quat)
    pose, half = layout.at("can"), np.array(OBJECTS["can"].half_extents_m)
    # Half the extent along the normal of the table, seen along the vertical.
    lying = 0 if quat[0] == 1 else 1
    above = half[2 - lying]
    np.testing.assert_allclose(pose[:, 2] - surface_m(values, pose[:, :2]), above, rtol=0.01)


def test_start_names_entities_in_their_order_and_the_joints_of_fixtures():
    layout = crowded(draw())
    layout.fixture("cabinet", (0.5, 0.2), value=0.12)
    start = layout.done()
    assert tuple(start.poses) == tuple(ENTITIES)
    np.testing.assert_array_equal(start.values["cabinet"], np.full(COUNT, 0.12))
    assert len(start.occupied_m) == len(ENTITIES)


def test_fixtures_stand_and_turn_as_drawn():
    values = draw(fixture_position_noise_cm=Uniform(-2.0, 2.0), fixture_yaw_deg=Uniform(-10.0, 10.0))
    layout = Layout(values, COUNT, ENTITIES)
    layout.fixture("cabinet", (0.5, 0.2), yaw_rad=0.5)
    pose = layout.at("cabinet")
    np.testing.assert_allclose(pose[:, 1], 0.2 + values["fixture_position_noise_cm.y"] / 100)
    yaw = np.arctan2(*axes_of(pose[:, 3:])[:, [1, 0], 0].T)
    np.testing.assert_allclose(yaw, 0.5 + np.deg2rad(values["fixture_yaw_deg"]), atol=1e-9)


def test_pushed_away_is_just_clear_and_leaves_what_is_clear():
    rng = np.random.default_rng(0)
    places, points = rng.uniform(-0.2, 0.2, (2, 500, 2))
    moved = pushed_away(places, points, 0.1)
    assert is_clear(moved, points, 0.1).all()
    clear = is_clear(places, points, 0.1)
    assert 0 < clear.sum() < 500
    np.testing.assert_array_equal(moved[clear], places[clear])


def test_a_thing_in_something_stays_there():
    layout = Layout(draw(), COUNT, ENTITIES)
    layout.fixture("cabinet", (0.5, 0.2))
    layout.thing("red", (0.5, 0.2), up_m=0.05, standing=False)
    assert (np.linalg.norm(layout.at("red")[:, :2] - layout.at("cabinet")[:, :2], axis=1) < 0.05).all()
    np.testing.assert_allclose(layout.at("red")[:, 2], 0.07)


def test_a_larger_object_in_place_of_another_keeps_clear_too():
    tower = {**ENTITIES, "blue": replace(ENTITIES["blue"], object=OBJECTS["block"])}
    layout = Layout(draw(), COUNT, tower)
    for name in ("red", "blue"):
        layout.thing(name, (0.45, 0.0))
    apart = np.linalg.norm(layout.at("red")[:, :2] - layout.at("blue")[:, :2], axis=1)
    assert (apart > radius_m("red") + np.hypot(*OBJECTS["block"].half_extents_m[:2])).all()
