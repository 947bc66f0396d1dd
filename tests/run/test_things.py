"""Rows of single things: `red_cube.object_mass_kg` in the config, a column of its own in the draw."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from twinloop.errors import ConfigError
from twinloop.randomize.distribution import Constant, Uniform
from twinloop.randomize.table import TABLE
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell

SCENE = "scene: {things: {mug: {kind: can}, red_cube: {kind: cube, colour: red}}}\n"


def read(rows: str, *, group: str = "physics", scene: str = SCENE) -> RunConfig:
    return config_from_text(f"{scene}randomization: {{{group}: {{{rows}}}}}", name="cell.yaml", folder=Path())


def masses(config: RunConfig, count: int = 64) -> dict[str, np.ndarray]:
    """Thing -> (count,) its mass in the simulation."""
    twin = twin_of(config)
    cell = Cell(twin, width=count)
    cell.admit(np.arange(count), config.sampler().draw(0, count), np.arange(count))
    return {index.name: cell["body_mass"][:, index.body] for index in twin.things}


def test_a_row_of_one_thing_acts_on_that_thing_only():
    config = read("red_cube.object_mass_kg: [0.3, 0.4]")
    mass = masses(config)
    assert (mass["red_cube"] >= 0.3).all()
    assert np.ptp(mass["red_cube"]) > 0.05
    for name in ("object", "mug"):
        np.testing.assert_allclose(mass[name], twin_of(config).model.body(name).mass[0])


def test_a_row_without_a_name_acts_on_all_things_each_with_its_own_value():
    mass = masses(read("object_mass_kg: [0.1, 0.2]"))
    for values in mass.values():
        assert ((values >= 0.1) & (values <= 0.2)).all()
    assert len(np.unique(np.round([values[0] for values in mass.values()], 9))) == 3
    assert abs(np.corrcoef(mass["mug"], mass["red_cube"])[0, 1]) < 0.35


def test_the_range_of_one_thing_wins_over_that_of_all():
    config = read("object_mass_kg: [0.1, 0.2], mug.object_mass_kg: 0.5")
    assert config.randomization["object_mass_kg.mug"] == Constant(0.5)
    mass = masses(config)
    np.testing.assert_allclose(mass["mug"], 0.5)
    assert (mass["red_cube"] <= 0.2).all()


def test_the_first_thing_may_be_named_too():
    config = read("object.object_mass_kg: [0.3, 0.4]")
    mass = masses(config)
    assert (mass["object"] >= 0.3).all()
    assert np.ptp(mass["mug"]) == 0
    same = read("object_mass_kg: [0.3, 0.4]", scene="")
    np.testing.assert_array_equal(
        config.sampler().draw(0, 32).values["object_mass_kg"], same.sampler().draw(0, 32).values["object_mass_kg"]
    )


def test_naming_one_thing_changes_no_other_value():
    plain, named = read("object_mass_kg: [0.1, 0.2]"), read("object_mass_kg: [0.1, 0.2], mug.object_mass_kg: 0.3")
    before, after = plain.sampler().draw(0, 32).values, named.sampler().draw(0, 32).values
    assert before.keys() == after.keys()
    for column in before:
        if column != "object_mass_kg.mug":
            np.testing.assert_array_equal(before[column], after[column], err_msg=column)


def test_draws_of_single_things_are_the_same_at_any_block():
    sampler = read("object_mass_kg: [0.1, 0.2], mug.object_yaw_deg: {normal: {mean: [-5, 5], std: 3}}").sampler()
    whole, part = sampler.draw(0, 50).values, sampler.draw(17, 23).values
    for column in whole:
        np.testing.assert_array_equal(whole[column][17:23], part[column], err_msg=column)


def test_a_resolved_config_reads_back_the_same():
    config = read("red_cube.object_mass_kg: [0.3, 0.4], object_mass_kg: [0.1, 0.2]")
    again = config_from_text(config.to_yaml(), name="again.yaml", folder=Path())
    assert again.randomization == config.randomization
    assert again.digest == config.digest
    assert config.digest != read("red_cube.object_mass_kg: [0.3, 0.41], object_mass_kg: [0.1, 0.2]").digest
    assert config.randomization["object_mass_kg.red_cube"] == Uniform(0.3, 0.4)


@pytest.mark.parametrize(
    ("rows", "group", "words"),
    [
        ("red_cub.object_mass_kg: 0.2", "physics", ["red_cub", "did you mean red_cube"]),
        ("goal.object_mass_kg: 0.2", "physics", ["'goal'", "object", "mug", "red_cube"]),
        ("red_cube.object_mas_kg: 0.2", "physics", ["object_mas_kg", "did you mean object_mass_kg"]),
        ("red_cube.object_mass_kg: 20", "physics", ["kg", "plausible"]),
        ("red_cube.table_height_cm: 1", "physics", ["table_height_cm", "not a property of one thing", "'red_cube'"]),
        ("red_cube.object_mass_kg: 0.2", "visual", ["belongs under randomization.physics"]),
        ("object_mass_kg.red_cube: 0.2", "physics", ["object_mass_kg"]),
        (".object_mass_kg: 0.2", "physics", ["names the thing ''"]),
    ],
)
def test_bad_names_are_refused_with_the_valid_ones(rows: str, group: str, words: list[str]):
    with pytest.raises(ConfigError) as refusal:
        read(rows, group=group)
    message = str(refusal.value)
    for word in ("cell.yaml:2", *words):
        assert word in message, message
    assert "\n" not in message


def test_every_row_of_a_thing_reaches_a_second_thing():
    """Rows that say they act on a thing change the model or the start of whichever thing is named."""
    rows = [row for row in TABLE if row.of_thing and not {"soft", "products"} & set(row.only_with)]
    assert len(rows) > 5
    for row in rows:
        needs = f", {row.needs}: {row.sensible[1]}" if row.needs and row.needs != row.name else ""
        value = row.words[0] if row.words else max(row.sensible, key=lambda end: abs(end - row.nominal))
        config = read(f"mug.{row.name}: {value}{needs}", group=row.group)
        draws = config.sampler().draw(0, 1)
        twin = twin_of(config)
        cell, plain = Cell(twin, width=1), Cell(twin, width=1)
        cell.admit(np.array([0]), draws, np.array([0]))
        nominal = {**draws.values, **{column: np.full(1, row.nominal) for column in row.columns_of("mug")}}
        plain.admit(np.array([0]), type(draws)(draws.attempts, nominal, draws.varied), np.array([0]))
        fields = sorted(cell._fields)
        assert any(not np.array_equal(cell[name], plain[name]) for name in fields) or not np.array_equal(
            cell.environment(), plain.environment()
        ), row.name
        others = [index.body for index in twin.things if index.name != "mug"]
        np.testing.assert_array_equal(cell["body_mass"][:, others], plain["body_mass"][:, others], err_msg=row.name)


def test_a_thing_has_a_body_of_its_name():
    model = twin_of(read("object_mass_kg: 0.2")).model
    for name in ("object", "mug", "red_cube"):
        assert mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) > 0
