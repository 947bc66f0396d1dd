"""Bin picking: every episode has its own products, which start apart from each other inside the bin."""

from pathlib import Path

import numpy as np
import pytest

from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.finger_room import blocked_m
from twinloop.simulate.rollout import rollout
from twinloop.twin.packing import packed
from twinloop.twin.phase import FingerRoom
from twinloop.twin.products.pool import POOL, products
from twinloop.twin.tasks.bin_picking import BIN_PICKING, HALF_M, NAMED, SLOTS, WALL_M

WIDTH = 24


@pytest.fixture(scope="module")
def config() -> RunConfig:
    rows = "object_position_noise_cm: [-2, 2], object_yaw_deg: [-45, 45]"
    text = f"scene: {{task: bin_picking}}\nrandomization: {{physics: {{{rows}}}}}"
    return config_from_text(text, name="bin.yaml", folder=Path())


@pytest.fixture(scope="module")
def cell(config: RunConfig) -> Cell:
    cell = Cell(twin_of(config), width=WIDTH)
    cell.admit(np.arange(WIDTH), config.sampler().draw(0, WIDTH), np.arange(WIDTH))
    return cell


def test_the_slots_together_have_the_whole_pool():
    pools = [thing.object.pool for thing in BIN_PICKING.things]
    assert len(pools) == len(SLOTS)
    assert sorted(one.name for pool in pools for one in pool) == sorted(one.name for one in products())
    families = [{one.words for one in pool} for pool in pools]
    assert sum(map(len, families)) == len(set().union(*families)), "no family is in two slots"
    assert sum(map(len, pools)) == POOL


def test_products_differ_from_episode_to_episode_in_one_model(cell: Cell):
    for index in cell.twin.things:
        form = cell.form(index.name)
        assert len(np.unique(form)) > 4
        for slot, number in enumerate(form[:4]):
            one = index.object.pool[number]
            np.testing.assert_allclose(cell["body_mass"][slot, index.body], one.mass_kg)
            np.testing.assert_allclose(cell.half_extents_m(index.name)[slot], one.half_extents_m)
            touching = cell["geom_contype"][slot, index.geoms] > 0
            assert touching.sum() == len(one.parts)


def test_products_start_apart_and_inside_the_bin(cell: Cell):
    assert (cell.penetration_m < 0.002).all()
    floor, axes = cell.position("bin.floor"), cell.axes("bin.floor")
    for index in cell.twin.things:
        offset = np.einsum("nji,nj->ni", axes, cell.position(index.name) - floor)
        assert (np.abs(offset[:, :2]) < np.array(HALF_M)).all()
        assert (offset[:, 2] > 0).all()


def test_the_instruction_names_the_product_or_asks_for_any(config: RunConfig, cell: Cell):
    twin = cell.twin
    draws = config.sampler().draw(0, 64)
    asked = twin.task.choices(draws.values["task_choice"])["asked"]
    for row, (instruction, words) in enumerate(twin.spoken(draws.values)):
        slot = SLOTS[asked[row] % len(SLOTS)]
        if asked[row] < NAMED * len(SLOTS):
            pool = next(thing.object.pool for thing in twin.task.things if thing.name == slot)
            assert words["asked"] in {one.words for one in pool}
        else:
            assert words["asked"] == "product of your choice"
        assert words["asked"] in instruction
    assert (asked >= NAMED * len(SLOTS)).any()


def test_only_the_named_product_fulfils_the_instruction(cell: Cell):
    twin, zone = cell.twin, cell.position("zone").copy()
    success = twin.task.success[0]
    assert not success.holds(cell).any()
    first = twin.things[0]
    named = cell._chosen["asked"] % len(SLOTS) == 0
    of_choice = cell._chosen["asked"] >= NAMED * len(SLOTS)
    before = cell._position[first.name].copy()
    cell._position[first.name][:] = zone + np.array([0, 0, 0.03])
    cell._changed()
    np.testing.assert_array_equal(success.holds(cell), named | of_choice)
    cell._position[first.name][:] = before
    cell._changed()


def test_fingers_beside_a_wall_or_a_neighbour_are_blocked(cell: Cell):
    rows = np.arange(WIDTH)
    room = FingerRoom(SLOTS, "bin.floor", HALF_M, WALL_M)
    free = blocked_m(cell.twin, cell, FingerRoom(), SLOTS[0], rows)
    assert (free == 0).all()
    blocked = blocked_m(cell.twin, cell, room, SLOTS[0], rows)
    assert (blocked > 0).any(axis=1).sum() > WIDTH // 4
    assert (blocked >= blocked_m(cell.twin, cell, FingerRoom(SLOTS), SLOTS[0], rows)).all()


def test_packing_does_not_depend_on_other_episodes():
    rng = np.random.default_rng(0)
    half = [np.full((9, 2), 0.03)] * 5
    shift = [rng.random((9, 3)) for _ in range(5)]
    order = rng.random((9, 5))
    place, yaw = packed(half, shift, order, inside_m=(0.15, 0.15), gap_m=0.01)
    part = slice(4, 6)
    alone = packed(
        [one[part] for one in half], [one[part] for one in shift], order[part], inside_m=(0.15, 0.15), gap_m=0.01
    )
    np.testing.assert_array_equal(place[part], alone[0])
    np.testing.assert_array_equal(yaw[part], alone[1])
    distance = np.linalg.norm(place[:, :, None] - place[:, None], axis=3) + np.eye(5)
    assert distance.min() > 0.06


def test_the_expert_takes_products_out(config: RunConfig):
    twin = twin_of(config)
    cell, expert = Cell(twin, width=WIDTH), Expert(twin, config.expert, width=WIDTH, seed=0)
    (episodes,) = rollout(cell, iter([config.sampler().draw(0, WIDTH)]), expert, seed=0)
    assert episodes.success.mean() >= 0.8
