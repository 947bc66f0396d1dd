"""What stands about: where it may, as often as it says, and never in what it must not."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from tests.conftest import SEED_RANGES, Simulate
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.randomize.start import standing
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.distractors import colours_for
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.surroundings import Kind
from twinloop.twin.table import surface_m
from twinloop.twin.tasks.handover import HANDOVER
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

BOTH: frozenset[Kind] = frozenset({"distractors", "item"})
EVERYWHERE: dict[str, Distribution] = {
    "clutter_count": Uniform(0.0, 4.0),
    "clutter_place_cm": Uniform(-30.0, 30.0),
    "distractor_count": Uniform(0.0, 4.0),
    "distractor_place_cm": Uniform(-30.0, 30.0),
    "unexpected_item_probability": Constant(1.0),
    "unexpected_item_place_cm": Uniform(-30.0, 30.0),
    "object_position_noise_cm": Uniform(-10.0, 10.0),
    "target_position_noise_cm": Uniform(-10.0, 10.0),
}


@pytest.fixture(scope="module")
def furnished() -> Twin:
    return assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["tower"], features=Features(clutter=True, surroundings=BOTH))


@pytest.mark.parametrize("task", [PICK_AND_PLACE, HANDOVER], ids=lambda task: task.name)
def test_nothing_starts_in_the_robot_the_object_or_the_goal(task):
    twin = assemble(FRANKA_PANDA, task, OBJECTS["tower"], features=Features(clutter=True, surroundings=BOTH))
    model, data = twin.model, mujoco.MjData(twin.model)
    draws = Sampler(EVERYWHERE, seed=2).draw(0, 64)
    begin = task.start(draws.values, 64, twin.task.by_name)
    environment = twin.environment_at(begin)
    places = standing(draws.values, begin, twin.object, BOTH)
    ours = [model.geom(body).id for body in places]
    bodies = [model.body(number).name for number in range(model.nbody)]
    kept_free = [
        number for number in range(model.ngeom)
        if bodies[model.geom_bodyid[number]].startswith(("robot/", "object", "goal"))
    ]  # fmt: skip
    data.qpos[twin.arm_qpos] = twin.robot.home_rad
    nearest = np.inf
    for row in range(64):
        twin.pose_scene(data, environment[row])
        for body, where in places.items():
            data.mocap_pos[twin.mocap(body)] = where[row]
        mujoco.mj_kinematics(model, data)
        distances = [mujoco.mj_geomDistance(model, data, a, b, 0.5, None) for a in ours for b in kept_free]
        nearest = min(nearest, *distances)
    assert nearest > 0.005 - 1e-9


def test_as_many_distractors_stand_as_are_drawn_and_they_look_alike_but_for_the_colour(furnished: Twin):
    ranges = {"distractor_count": Uniform(0.0, 4.0), "distractor_place_cm": Uniform(-6.0, 6.0), **SEED_RANGES}
    draws = Sampler(ranges, seed=0).draw(0, 256)
    begin = PICK_AND_PLACE.start(draws.values, 256, furnished.task.by_name)
    places = standing(draws.values, begin, furnished.object, frozenset({"distractors"}))
    stand = np.sum([where[:, 2] > 0 for where in places.values()], axis=0)
    np.testing.assert_array_equal(stand, np.round(draws.values["distractor_count"]))
    model = furnished.model
    for body in places:
        geom = model.geom(body)
        assert geom.type == model.geom("object").type
        np.testing.assert_array_equal(geom.size, model.geom("object").size)
        assert np.abs(geom.rgba - model.geom("object").rgba).max() > 0.2


@pytest.mark.parametrize("name", OBJECTS)
def test_no_distractor_has_the_objects_colour(name: str):
    assert all(np.linalg.norm(np.subtract(rgb, OBJECTS[name].rgba[:3])) > 0.25 for rgb in colours_for(OBJECTS[name]))


def test_an_expert_works_among_distractors(simulate: Simulate, furnished: Twin):
    ranges = {**SEED_RANGES, "distractor_count": Constant(4.0), "distractor_place_cm": Uniform(-6.0, 6.0)}
    assert simulate(24, of=furnished, ranges=ranges).success.mean() >= 0.9


def test_the_unexpected_comes_as_often_as_it_says_and_as_tall():
    rows = "{unexpected_item_probability: 0.2, unexpected_item_height_cm: [5, 20], unexpected_item_place_cm: [-12, 12]}"
    config = config_from_text(f"randomization: {{environment: {rows}}}", name="cell.yaml", folder=Path())
    twin = twin_of(config)
    draws = Sampler(config.randomization, seed=3).draw(0, 4096)
    drawn = draws.values["unexpected_item_probability"]
    assert set(drawn) == {0.0, 1.0}
    assert drawn.mean() == pytest.approx(0.2, abs=0.01)
    begin = PICK_AND_PLACE.start(draws.values, 4096, twin.task.by_name)
    (where,) = standing(draws.values, begin, twin.object, twin.surroundings).values()
    there = where[:, 2] > -1
    np.testing.assert_array_equal(there, drawn == 1)
    half = twin.model.geom("item").size[1]
    np.testing.assert_allclose((where[:, 2] + half)[there], draws.values["unexpected_item_height_cm"][there] / 100)


def test_the_cell_puts_things_where_they_stand(furnished: Twin):
    draws = Sampler(EVERYWHERE, seed=0).draw(0, 3)
    cell = Cell(furnished, width=3)
    cell.admit(np.arange(3), draws, np.arange(3))
    begin = PICK_AND_PLACE.start(draws.values, 3, furnished.task.by_name)
    where = cell.batch.bind("xpos")
    for body, places in standing(draws.values, begin, furnished.object, BOTH).items():
        np.testing.assert_allclose(where[:, furnished.model.body(body).id], places)


def test_a_tilted_table_carries_what_stands_on_it(simulate: Simulate):
    """The object starts on the surface: it neither falls nor is pushed out, and a level one is where it was."""
    ranges: dict[str, Distribution] = {"table_tilt_deg": Uniform(-5.0, 5.0), "table_height_cm": Uniform(-1.0, 1.0)}
    tilted = simulate(12, ranges={**SEED_RANGES, **ranges, "friction_coefficient": Constant(0.8)})
    start = tilted["environment"][tilted.starts, :3]
    later = tilted["environment"][tilted.starts + 5, :3]
    # The contact is soft: a cube sinks in by its weight, a tenth of a millimetre.
    assert np.abs(later - start).max() < 1e-3
    under = surface_m(tilted.draws.values, start[:, :2].astype(float))
    assert np.ptp(under - tilted.draws.values["table_height_cm"] / 100) > 0.005
    np.testing.assert_allclose(start[:, 2] - under, 0.02, atol=2e-3)
    assert tilted.success.all()
    contact = tilted["contact"][tilted.starts + 5, 2]
    assert (contact > 0).all()
