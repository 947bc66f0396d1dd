"""Levels of detail: a simplified mesh has fewer triangles and the same surface."""

import numpy as np
import pytest

from twinloop.observe.drawn_geoms import GeomShapes
from twinloop.observe.mesh_detail import simplified
from twinloop.observe.quality import QUALITIES
from twinloop.observe.tessellation import TriangleMesh, box, ellipsoid
from twinloop.twin.twin import Twin


def sphere(radius_m: float, slices: int) -> TriangleMesh:
    shape = ellipsoid(slices)
    return TriangleMesh(radius_m * shape.base, shape.shift, shape.normal, None, shape.triangles, closed=False)


@pytest.mark.parametrize(("cell_m", "slices"), [(0.002, 240), (0.01, 80)])
def test_no_point_moves_by_more_than_a_cell_and_normals_stay(cell_m: float, slices: int):
    whole = sphere(0.05, slices)
    less = simplified(whole, cell_m)
    assert len(less.triangles) < 0.7 * len(whole.triangles)
    assert less.triangles.max() < len(less.base)
    away = np.abs(np.linalg.norm(less.base, axis=1) - 0.05)
    assert away.max() < cell_m
    outwards = (less.base * less.normal).sum(axis=1) / np.linalg.norm(less.base, axis=1)
    assert outwards.min() > 0.8
    # The surface has no large holes: its area is that of the sphere.
    a, b, c = (less.base[less.triangles[:, corner]] for corner in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
    assert area == pytest.approx(4 * np.pi * 0.05**2, rel=0.1)


def test_small_meshes_and_the_highest_quality_are_left_alone():
    whole = sphere(0.05, 80)
    assert simplified(whole, QUALITIES["high"].mesh_cell_m) is whole
    assert simplified(box(), 1.0).triangles.shape == (12, 3)


def test_every_shape_has_a_coarse_one_with_no_more_triangles(twin: Twin):
    for quality in QUALITIES.values():
        shapes = GeomShapes(twin.model, quality)
        assert len(shapes.coarse) == len(shapes.shapes)
        for number, coarse in enumerate(shapes.coarse):
            assert len(shapes.shapes[coarse].triangles) <= len(shapes.shapes[number].triangles)
        assert (shapes.coarse == np.arange(len(shapes.shapes))).all() == (QUALITIES["default"] != quality)
