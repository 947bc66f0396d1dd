"""The sponge: it gives under the grip as its modulus says, and everything downstream sees one pose of it."""

import numpy as np
import pytest

from tests.conftest import Simulate
from twinloop.curate.judge import judge
from twinloop.curate.limits import CurateConfig
from twinloop.observe.features import observe
from twinloop.observe.sensors import ObserveConfig
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.simulate.episodes import Episodes
from twinloop.twin.assemble import assemble
from twinloop.twin.objects import OBJECTS
from twinloop.twin.soft import axes_of, fitted, quaternions_of, turned
from twinloop.twin.twin import Twin

RANGES: dict[str, Distribution] = {
    "object_position_noise_cm": Uniform(-2, 2),
    "object_yaw_deg": Uniform(-40, 40),
    "friction_coefficient": Uniform(0.5, 1.0),
}


@pytest.fixture(scope="module")
def spongy(twin: Twin) -> Twin:
    return assemble(twin.robot, twin.task, OBJECTS["sponge"])


@pytest.fixture(scope="module")
def squeezed(spongy: Twin, simulate: Simulate) -> Episodes:
    return simulate(6, of=spongy, ranges=RANGES)


def widths_m(episodes: Episodes, twin: Twin) -> np.ndarray:
    """How wide the block is, along the axis on which it is gripped."""
    assert twin.soft is not None
    nodes = episodes["nodes"].astype(float).reshape(-1, 8, 3)
    place, quat = fitted(nodes, twin.soft.rest_m)
    inside = ((nodes - place[:, None])[..., :, None] * axes_of(quat)[:, None]).sum(axis=2)[..., 1]
    far = twin.soft.rest_m[:, 1] > 0
    return inside[:, far].mean(axis=1) - inside[:, ~far].mean(axis=1)


def held(episodes: Episodes, twin: Twin) -> np.ndarray:
    transfer = [phase.name for phase in twin.task.phases].index("transfer")
    return episodes["phase"][:, 0] == transfer


def test_a_pose_is_found_again_from_turned_corners():
    rng = np.random.default_rng(0)
    quat = rng.standard_normal((50, 4))
    quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    quat *= np.sign(quat[:, :1])
    np.testing.assert_allclose(quaternions_of(axes_of(quat)), quat, atol=1e-12)
    rest = rng.uniform(-0.02, 0.02, (8, 3))
    rest -= rest.mean(axis=0)
    place = rng.uniform(-1, 1, (50, 3))
    position, turn = fitted(place[:, None] + turned(rest, axes_of(quat)), rest)
    np.testing.assert_allclose(position, place, atol=1e-12)
    np.testing.assert_allclose(turn, quat, atol=1e-9)


def test_squeezing_and_flattening_leave_the_pose():
    rest = np.array([[x, y, z] for x in (-3, 3) for y in (-2, 2) for z in (-2, 2)], float) / 100
    squeezed = rest * [1.1, 0.6, 0.9]
    place, turn = fitted(squeezed[None], rest)
    np.testing.assert_allclose(place, 0, atol=1e-12)
    np.testing.assert_allclose(turn, [[1, 0, 0, 0]], atol=1e-12)


def test_the_expert_picks_and_places_it(squeezed: Episodes, spongy: Twin):
    assert squeezed.success.mean() >= 5 / 6
    assert not squeezed.diverged.any()
    assert judge(squeezed, spongy, CurateConfig()).accepted.mean() >= 5 / 6


def test_it_gives_as_hooke_says(squeezed: Episodes, spongy: Twin):
    """Strain is pressure over modulus; on the table it is as wide as it was made."""
    thing, wide, grip = spongy.object, widths_m(squeezed, spongy), held(squeezed, spongy)
    free = squeezed["phase"][:, 0] == 0
    np.testing.assert_allclose(wide[free], 2 * thing.half_extents_m[1], rtol=0.03)
    face_m2 = 4 * thing.half_extents_m[0] * thing.half_extents_m[2]
    force_n = squeezed["contact"][grip, :2].mean()
    strain = force_n / face_m2 / (1000 * thing.young_kpa)
    np.testing.assert_allclose(1 - wide[grip].mean() / wide[free].mean(), strain, rtol=0.15)
    assert strain > 0.1


def test_a_stiffer_one_gives_less(spongy: Twin, simulate: Simulate):
    give = []
    for young in (60.0, 300.0):
        episodes = simulate(2, of=spongy, ranges=RANGES | {"object_stiffness_kpa": Constant(young)})
        assert episodes.success.all()
        give.append(2 * spongy.object.half_extents_m[1] - widths_m(episodes, spongy)[held(episodes, spongy)].mean())
    assert 3 < give[0] / give[1] < 7


def test_its_mass_is_what_the_table_bears(spongy: Twin, simulate: Simulate):
    episodes = simulate(1, of=spongy, ranges={"object_mass_kg": Constant(0.2)})
    np.testing.assert_allclose(episodes["contact"][5:15, 2], 0.2 * 9.81, rtol=0.05)


def test_the_tape_is_the_same_at_any_width(squeezed: Episodes, spongy: Twin, simulate: Simulate):
    for width in (1, 4):
        again = simulate(6, of=spongy, ranges=RANGES, width=width)
        np.testing.assert_array_equal(again.tape, squeezed.tape)


def test_its_corners_are_recorded(squeezed: Episodes, spongy: Twin):
    recording = observe(squeezed, spongy, ObserveConfig(), seed=0)
    corners = recording.frames["object_nodes"].reshape(-1, 8, 3)
    np.testing.assert_allclose(
        corners.mean(axis=1), recording.frames["observation.environment_state"][:, :3], atol=1e-6
    )
