"""The laws hold with shapes, inserts, two materials, soft pads, solver settings and touch drawn together."""

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SEED_RANGES, Simulate
from twinloop.errors import ConfigError
from twinloop.randomize.distribution import Choice, Uniform
from twinloop.randomize.matter import MATTER
from twinloop.randomize.touch import TOUCH
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.twin.shapes import SHAPES

EVERYTHING = """
randomization:
  physics:
    object_mass_kg: [0.05, 0.4]
    object_shape: [box, hammer, ell, cylinder]
    object_size_scale: [0.9, 1.1]
    surface_friction_ratio: [0.5, 1.0]
    heavy_insert_share: [0.0, 0.5]
    heavy_insert_place: [-0.5, 0.5]
    pad_stiffness_n_mm: [30, 60]
    solver_impratio: [1, 5]
    solver_iterations: [20, 100]
    solver_noslip_iterations: [0, 2]
    contact_margin_mm: [0, 0.3]
observe: {touch: true}
"""


def read(text: str) -> RunConfig:
    return config_from_text(text, name="test.yaml", folder=Path())


def test_the_tape_is_the_same_at_any_width_with_everything_drawn(simulate: Simulate):
    config = read(EVERYTHING)
    twin = twin_of(config)
    whole = simulate(8, of=twin, ranges=config.randomization)
    assert whole.success.mean() > 0.7
    for width in (1, 3):
        again = simulate(8, of=twin, ranges=config.randomization, width=width)
        np.testing.assert_array_equal(again.tape, whole.tape)
    alone = simulate(5, first=4, of=twin, ranges=config.randomization)
    np.testing.assert_array_equal(alone.tape, whole.tape[whole.starts[4] :][: whole.lengths[4]])


def test_a_config_with_everything_round_trips():
    config = read(EVERYTHING)
    again = read(config.to_yaml())
    assert again == config
    assert again.digest == config.digest


def test_the_digest_of_the_default_config_is_pinned():
    plain = read("scene: {object: cube}")
    # A change here is a change of every dataset's identity: it belongs into the CHANGELOG.
    assert plain.digest == "4a7c677d21ecbb69b29a4e8e10ec9246881c5c5a4ea8b6b635c7cf056c8f1b2c"
    assert plain.digest != read("observe: {touch: true}").digest


def test_realistic_leaves_the_object_its_shape_and_soft_rows_to_soft_objects(simulate: Simulate):
    rigid, soft = read("randomization: realistic"), read("{scene: {object: sponge}, randomization: realistic}")
    assert "object_shape" not in rigid.randomization
    assert "object_stiffness_kpa" in set(soft.randomization) - set(rigid.randomization)
    assert "heavy_insert_share" in set(rigid.randomization) - set(soft.randomization)
    for config in (rigid, soft):
        episodes = simulate(4, of=twin_of(config), ranges=config.randomization)
        assert not episodes.diverged.any()
        assert episodes.success.any()


def test_shapes_are_named_in_words():
    pool = read("randomization: {physics: {object_shape: [tee, box]}}").randomization["object_shape"]
    assert pool == Choice((float(SHAPES.index("tee")), 0.0), (1.0, 1.0))
    assert read("randomization: {physics: {object_shape: tee}}").randomization["object_shape"].support() == (5, 5)
    weighted = "randomization: {physics: {object_shape: {choice: {values: [box, ell], weights: [3, 1]}}}}"
    assert read(weighted).randomization["object_shape"] == Choice((0.0, 6.0), (3.0, 1.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("randomization: {physics: {object_shape: [bix]}}", "box"),
        ("randomization: {physics: {object_shape: []}}", "a list of box, cylinder"),
        ("randomization: {physics: {object_shape: [0, 1]}}", "a list of box, cylinder"),
        ("randomization: {physics: {object_stiffness_kpa: [50, 100]}}", "the cube is rigid. Soft objects: sponge"),
        ("{scene: {object: sponge}, randomization: {physics: {object_shape: [box]}}}", "the sponge is soft"),
        ("randomization: {sensing: {touch_noise_n: [-1, 0]}}", "plausible from 0"),
        ("randomization: {physics: {heavy_insert_share: [0, 50]}}", "per cent"),
    ],
)
def test_invalid_draws_are_refused_by_name(text: str, message: str):
    with pytest.raises(ConfigError, match=r"test\.yaml") as caught:
        read(text)
    assert message in str(caught.value)


def test_rows_that_are_not_varied_do_nothing(simulate: Simulate, few):
    """A twin that can vary all rows, with none of them varied, has the success of the plain twin."""
    ranges = SEED_RANGES | {row.name: Uniform(row.nominal, row.nominal) for row in TOUCH}
    np.testing.assert_array_equal(simulate(4, ranges=ranges).tape, few.tape[: few.starts[4]])
    assert all(row.nominal == 0 for row in TOUCH)
    assert [row.name for row in MATTER if "soft" in row.only_with] == ["object_stiffness_kpa"]
