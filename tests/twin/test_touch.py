"""Touch: the taxels add up to what the finger presses with, and feel where it is pressed."""

import numpy as np
import pytest

from tests.conftest import SEED_RANGES, Simulate
from twinloop.simulate.episodes import Episodes
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.touch import ACROSS, ALONG, FINGERS, PARTS, TAXELS
from twinloop.twin.twin import Twin


@pytest.fixture(scope="module")
def feeling(twin: Twin) -> Twin:
    return assemble(twin.robot, twin.task, twin.object, features=Features(touch=True))


@pytest.fixture(scope="module")
def felt(feeling: Twin, simulate: Simulate) -> Episodes:
    return simulate(4, of=feeling)


def taxels_of(episodes: Episodes) -> np.ndarray:
    """(frames, fingers, along, across)"""
    touch = episodes["touch"].astype(float).reshape(len(episodes.tape), len(FINGERS), -1)
    return touch[:, :, :TAXELS].reshape(-1, len(FINGERS), ALONG, ACROSS)


@pytest.mark.parametrize("name", ["cube", "can", "sponge"])
def test_taxels_and_shear_add_up_to_the_contact_force(name: str, twin: Twin, simulate: Simulate):
    able = assemble(twin.robot, twin.task, OBJECTS[name], features=Features(touch=True))
    episodes = simulate(2, of=able, ranges={})
    normal = taxels_of(episodes).sum(axis=(2, 3))
    shear = episodes["touch"].astype(float).reshape(-1, 2, TAXELS + 2)[:, :, TAXELS:]
    whole = np.sqrt(normal**2 + np.square(shear).sum(axis=2))
    assert whole.max() > 30
    np.testing.assert_allclose(whole, episodes["contact"][:, :2], atol=1e-3)


def test_a_held_object_pulls_down_on_the_fingers_by_its_weight(felt: Episodes, feeling: Twin):
    """Along the finger, towards its tip, which points down."""
    names = [phase.name for phase in feeling.task.phases]
    lengths = np.repeat(felt.draws.values["object_mass_kg"], felt.lengths)
    still = felt["phase"][:, 0] == names.index("transfer")
    along = felt["touch"][:, [PARTS.index("left.along"), PARTS.index("right.along")]].sum(axis=1)
    assert np.corrcoef(along[still], 9.81 * lengths[still])[0, 1] > 0.95
    np.testing.assert_allclose(along[still].mean(), 9.81 * lengths[still].mean(), rtol=0.2)


def test_what_touches_nothing_feels_nothing(felt: Episodes):
    free = felt["contact"][:, :2].max(axis=1) == 0
    assert free.any()
    assert not felt["touch"][free].any()


def test_touch_changes_nothing_else(felt: Episodes, simulate: Simulate):
    plain = simulate(4, ranges=SEED_RANGES)
    for channel, part in plain.channels.items():
        np.testing.assert_array_equal(felt[channel], plain.tape[:, part])


def test_a_press_is_felt_where_it_is(feeling: Twin):
    """One contact at a taxel's middle, of 5 N outwards on the left finger."""
    touch = feeling.arms[0].touch
    assert touch is not None
    for number in (0, 4, TAXELS - 1):
        x, z = touch.taxels_m[0, number]
        sensordata = np.zeros((1, feeling.model.nsensordata))
        # Force along the normal, place, normal and tangent; the tool's frame is the world's here.
        row = np.concatenate([[5, 0, 0], [x, 0, z], [0, -touch.outwards[0], 0], [1, 0, 0]])
        sensordata[0, touch.contacts[0]][:12] = row
        forces = touch.read(sensordata, np.zeros((1, 3)), np.eye(3)[None])[0]
        assert forces[:TAXELS].argmax() == number
        np.testing.assert_allclose(forces[:TAXELS].sum(), 5)
        np.testing.assert_allclose(forces[TAXELS:], 0, atol=1e-12)
