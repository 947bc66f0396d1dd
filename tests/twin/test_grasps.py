"""Grips: the tool closes along a narrow side, comes from where it is asked to, and turns as little as it must."""

from pathlib import Path

import numpy as np
import pytest

from tests.twin.test_mesh import box, obj
from twinloop.twin.grasps import NARROWEST, grips_of
from twinloop.twin.meshes.mesh_body import mesh_object
from twinloop.twin.meshes.mesh_grips import _enclosed
from twinloop.twin.objects import OBJECTS, SceneObject
from twinloop.twin.rotation import DOWN, about_z, pointing_down, product
from twinloop.twin.shapes import SHAPES

RIGID = {name: thing for name, thing in OBJECTS.items() if not thing.soft}
UPRIGHT = np.eye(3)


def chosen(thing: SceneObject, yaw: np.ndarray, tool: np.ndarray, approach: np.ndarray, form: int = 0) -> np.ndarray:
    """(n, 3, 3) axes of the tool in the world."""
    grips = grips_of(thing, shapes=form > 0)
    axes = product(about_z(yaw), np.broadcast_to(UPRIGHT, (len(yaw), 3, 3)))
    approaches = np.broadcast_to(approach, (len(yaw), 3))
    at_m, chosen_axes = grips.choose(np.full(len(yaw), form), axes, tool, approaches, np.zeros(3))
    assert (at_m == 0).all()  # the grips of primitives are at their origin
    return product(axes, chosen_axes)


@pytest.mark.parametrize("shapes", [False, True])
@pytest.mark.parametrize("name", RIGID)
def test_candidates_are_rotations(name: str, shapes: bool):
    grips = grips_of(RIGID[name], shapes=shapes)
    assert len(grips.axes) == (1 + len(SHAPES) if shapes else 1)
    assert grips.valid.any(axis=1).all()
    axes = grips.axes.reshape(-1, 3, 3)
    np.testing.assert_allclose(product(axes, axes.swapaxes(1, 2)), np.broadcast_to(np.eye(3), axes.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(axes), 1.0)


@pytest.mark.parametrize("name", RIGID)
def test_from_above_the_tool_points_down_and_closes_along_a_narrow_side(name: str):
    thing, yaw = RIGID[name], np.linspace(-3, 3, 25)
    tool = pointing_down(np.zeros(25))
    axes = chosen(thing, yaw, tool, DOWN)
    np.testing.assert_allclose(axes[:, :, 2], np.broadcast_to(DOWN, (25, 3)), atol=1e-9)
    closing = (about_z(yaw).swapaxes(1, 2) * axes[:, None, :, 1]).sum(axis=2)
    width = (np.abs(closing) * thing.half_extents_m).sum(axis=1)
    if thing.yaw_symmetry_rad:  # a round thing is as wide in all directions
        assert (width <= NARROWEST * min(thing.half_extents_m[:2]) + 1e-9).all()


def test_of_equal_grips_the_tool_turns_least():
    """A cube can be gripped in four ways from above: no yaw needs more than 45 degrees."""
    yaw = np.linspace(-3, 3, 61)
    tool = pointing_down(np.full(61, 0.3))
    axes = chosen(RIGID["cube"], yaw, tool, DOWN)
    cosine = (axes[:, :, 0] * tool[:, :, 0]).sum(axis=1)
    assert (cosine >= np.cos(np.pi / 4) - 1e-9).all()
    other_way_round = (axes[:, :, 0] * pointing_down(np.full(61, 0.3 + np.pi))[:, :, 0]).sum(axis=1)
    assert (cosine >= other_way_round).all()


def test_from_the_side_the_tool_comes_level():
    tool = pointing_down(np.zeros(1))
    axes = chosen(RIGID["can"], np.zeros(1), tool, np.array([1.0, 0, 0]))
    np.testing.assert_allclose(axes[0, :, 2], [1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(axes[0, 2, 1], 0, atol=1e-9)  # fingers level too: a tall can is closed on from two sides


@pytest.mark.parametrize("form", range(1, 1 + len(SHAPES)), ids=SHAPES)
def test_drawn_shapes_are_gripped_from_above(form: int):
    axes = chosen(RIGID["cube"], np.linspace(-1, 1, 9), pointing_down(np.zeros(9)), DOWN, form=form)
    np.testing.assert_allclose(axes[:, :, 2], np.broadcast_to(DOWN, (9, 3)), atol=1e-9)


def test_grips_enclose_neighbouring_parts_only_as_far_as_the_fingers_open():
    comb = [(0.01 * number, 0.01 * number + 0.002) for number in range(1000)]
    enclosed = list(_enclosed(comb, opening_m=0.035))
    assert len(enclosed) == pytest.approx(4 * len(comb), abs=8)
    assert max(high - low for low, high in enclosed) <= 0.035
    assert list(_enclosed([(0.0, 0.5), (0.6, 0.7)], opening_m=0.035)) == [(0.0, 0.5), (0.6, 0.7)], "single ones count"


def test_a_large_mesh_is_sampled_coarsely_and_its_sides_stay_whole(tmp_path: Path):
    (tmp_path / "crate.obj").write_bytes(obj(box(0.9, 0.9, 0.05)))
    grips = grips_of(mesh_object(tmp_path / "crate.obj", tmp_path), opening_m=0.08)
    assert grips.widths_m[0] == pytest.approx(0.05, abs=1e-3), "only the thin side fits between the fingers"
