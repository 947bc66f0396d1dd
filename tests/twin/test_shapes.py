"""Shapes of the pool: they are what their box says, weigh what a solid of that shape weighs, and can be picked."""

import mujoco
import numpy as np
import pytest

from tests.conftest import SEED_RANGES, Simulate
from twinloop.randomize.distribution import Constant, choice_of
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.shapes import SHAPES, forms_of, half_extents_m
from twinloop.twin.soft import axes_of
from twinloop.twin.twin import Twin

NUMBERS = range(len(SHAPES))
RIGID = [name for name, thing in OBJECTS.items() if not thing.soft]


@pytest.fixture(scope="module")
def able(twin: Twin) -> Twin:
    return assemble(twin.robot, twin.task, twin.object, features=Features(shapes=True))


def admitted(twin: Twin, number: int, **values: float) -> Cell:
    ranges = {name: Constant(value) for name, value in values.items()} | {"object_shape": Constant(float(number))}
    cell = Cell(twin, width=1)
    cell.admit(np.array([0]), Sampler(ranges, seed=0).draw(0, 1), np.array([0]))
    assert not cell.failed.any()
    return cell


def surface_points(cell: Cell) -> np.ndarray:
    """Points of the object's surface in its own frame: where rays from all around meet what is there."""
    model, data = cell.batch.get_model(0), cell.batch.get_data(0)
    body = cell.twin.object_body
    rng = np.random.default_rng(0)
    axes, at = data.xmat[body].reshape(3, 3), data.xpos[body]
    hits = []
    for _ in range(3000):
        start, aim = rng.standard_normal(3), 0.03 * rng.uniform(-1, 1, 3)
        start = 0.2 * start / np.linalg.norm(start)
        ray = (aim - start) / np.linalg.norm(aim - start)
        nearest = np.inf
        for geom in cell.twin.object_geoms:
            if model.geom_contype[geom] == 0:
                continue
            size, kind = model.geom_size[geom], int(model.geom_type[geom])
            distance = mujoco.mju_rayGeom(
                data.geom_xpos[geom], data.geom_xmat[geom], size, at + axes @ start, axes @ ray, kind
            )
            nearest = min(nearest, distance if distance >= 0 else np.inf)
        if np.isfinite(nearest):
            hits.append(start + nearest * ray)
    return np.array(hits)


@pytest.mark.parametrize("number", NUMBERS, ids=SHAPES)
def test_a_shape_fills_its_box_and_no_more(able: Twin, number: int):
    cell = admitted(able, number, object_size_scale=1.1)
    draw = {"object_shape": np.array([number]), "object_size_scale": np.array([1.1])}
    half = half_extents_m(able.object, draw)[0]
    reached = np.abs(surface_points(cell)).max(axis=0)
    assert (reached <= half + 1e-9).all()
    assert (reached > 0.93 * half).all()
    assert cell.half_extents_m("object")[0, 2] == half[2]


@pytest.mark.parametrize("number", NUMBERS, ids=SHAPES)
def test_a_shape_stands_still_where_it_begins(able: Twin, number: int):
    cell = admitted(able, number)
    at = cell.position("object").copy()
    home = np.array([able.robot.home_rad])
    for _ in range(10):
        cell.step(None, home, np.array([[able.robot.gripper.open]]))
    assert np.abs(cell.position("object") - at).max() < 0.001
    np.testing.assert_allclose(cell.support_force_n, able.object.mass_kg * 9.81, rtol=0.05)


def test_a_hammer_weighs_what_two_boxes_weigh(able: Twin):
    """Against the parallel axis theorem, by hand."""
    cell, forms = admitted(able, SHAPES.index("hammer")), forms_of(able.object)
    form, mass = 1 + SHAPES.index("hammer"), able.object.mass_kg
    volumes = np.array([8 * np.prod(forms.size[form, part]) for part in range(2)])
    places, shares = forms.place[form], volumes / volumes.sum()
    centre = shares @ places
    tensor = np.zeros((3, 3))
    for share, place, half in zip(shares, places, forms.size[form], strict=True):
        own = np.diag(np.square(half).sum() - np.square(half)) / 3
        away = place - centre
        tensor += share * mass * (own + away @ away * np.eye(3) - np.outer(away, away))
    body = able.object_body
    axes = axes_of(cell["body_iquat"][:, body])[0]
    np.testing.assert_allclose(cell["body_ipos"][0, body], centre, atol=1e-12)
    np.testing.assert_allclose(axes @ np.diag(cell["body_inertia"][0, body]) @ axes.T, tensor, atol=1e-12)
    assert centre[0] > 0.004


@pytest.mark.parametrize("name", RIGID)
def test_every_thing_has_every_shape(name: str):
    for cut in (False, True):
        forms = forms_of(OBJECTS[name], cut=cut)
        assert len(forms.half_extents_m) == 1 + len(SHAPES)
        assert (forms.inertia > 0).all()
        # Two materials need two parts; and the fingers open 80 mm wide.
        assert forms.solid.all() or not cut
        assert (forms.half_extents_m[:, 1] < 0.04).all()


def test_the_expert_picks_every_shape(able: Twin, simulate: Simulate):
    ranges = SEED_RANGES | {
        "object_shape": choice_of(tuple(map(float, NUMBERS))),
        "friction_coefficient": Constant(0.7),
    }
    episodes = simulate(28, of=able, ranges=ranges)
    drawn = episodes.draws.values["object_shape"]
    assert set(drawn) == set(map(float, NUMBERS))
    assert episodes.success.mean() > 0.85
    assert {float(shape) for shape in drawn[episodes.success]} == set(map(float, NUMBERS))


def test_an_instruction_names_the_shape(able: Twin):
    ranges = {"object_shape": choice_of(tuple(map(float, NUMBERS)))}
    draws = Sampler(ranges, seed=0).draw(0, 32)
    for number, (instruction, words) in zip(draws.values["object_shape"], able.spoken(draws.values), strict=True):
        assert words["object"] == SHAPES[int(number)]
        assert words["object"] in instruction
    ((instruction, _),) = able.spoken(Sampler({}, seed=0).draw(0, 1).values)
    assert instruction == able.instruction
    assert able.object.name in instruction
