"""Terrain: the engine's ground has the heights that the terrain gives, and starts are level."""

import mujoco
import numpy as np
import pytest

from twinloop.errors import ModelError
from twinloop.twin.legs.quadruped import QUADRUPED
from twinloop.twin.legs.terrain import CELL_M, KINDS, LEVELS, PATCH_M, START_M, make_terrain
from twinloop.twin.legs.walk_twin import assemble_walk

FASTEST_M_S = 1.08
"""Fastest command of the examples: 1 m/s forward and 0.4 m/s sideways."""


@pytest.mark.parametrize("name", KINDS)
def test_heights_match_rays_of_the_engine(name: str):
    terrain = make_terrain(name)
    twin = assemble_walk(QUADRUPED, terrain)
    data = mujoco.MjData(twin.model)
    data.qpos[:3] = 100, 100, 5  # out of the way
    mujoco.mj_kinematics(twin.model, data)
    # Beside grid points, where triangles and bilinear surface agree. A ray through a corner may miss all triangles.
    places = np.random.default_rng(0).integers(-200, 200, (40, 2)) * CELL_M + CELL_M / 2 + [1e-3, 2e-3]
    for place in places:
        geom = np.zeros(1, np.int32)
        down = mujoco.mj_ray(twin.model, data, np.array([*place, 10.0]), np.array([0, 0, -1.0]), None, 1, -1, geom)
        assert 10 - down == pytest.approx(terrain.height_at(place), abs=5e-3)


@pytest.mark.parametrize("name", ["rough", "stepped", "mixed"])
def test_starts_are_level_and_levels_grow(name: str):
    terrain = make_terrain(name, seed=3)
    spreads = []
    around = np.stack(np.meshgrid(*2 * [np.linspace(-0.4, 0.4, 9) * START_M]), axis=-1)
    wide = np.stack(np.meshgrid(*2 * [np.linspace(-3, 3, 41)]), axis=-1)
    for level in range(LEVELS):
        for start in terrain.starts_m[level]:
            assert np.ptp(terrain.height_at(start + around)) < 1e-9
        spreads.append(np.mean([np.ptp(terrain.height_at(start + wide)) for start in terrain.starts_m[level]]))
    assert (np.diff(spreads) > 0).all()


@pytest.mark.parametrize("name", ["rough", "stepped", "mixed"])
def test_a_robot_cannot_walk_over_the_edge_in_an_episode(name: str):
    terrain = make_terrain(name)
    assert terrain.heights_m is not None
    edge_m = (np.array(terrain.heights_m.shape) - 1) * CELL_M / 2
    assert (edge_m - np.abs(terrain.starts_m).max(axis=(0, 1)) > FASTEST_M_S * 20).all()


def test_ground_beyond_the_patches_is_as_rough_as_the_patches_beside_it():
    terrain = make_terrain("rough")
    outermost = terrain.starts_m[-1]
    mirrored = outermost + np.array([PATCH_M, 0])
    around = np.stack(np.meshgrid(*2 * [np.linspace(-3, 3, 41)]), axis=-1)
    spreads = [
        np.mean([np.ptp(terrain.height_at(start + around)) for start in starts]) for starts in (outermost, mirrored)
    ]
    assert spreads[1] == pytest.approx(spreads[0], rel=0.05)


def test_the_seed_decides_the_ground():
    places = np.random.default_rng(0).uniform(-20, 20, (50, 2))
    one, same, other = (make_terrain("rough", seed=seed).height_at(places) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_an_unknown_terrain_is_refused_with_the_valid_names():
    with pytest.raises(ModelError, match=r"terrain 'steped'.*stepped"):
        make_terrain("steped")
