"""Grips of a mesh, proposed from its geometry.

The surface is sampled. For every approach and closing direction, and several depths, the samples that the fingers would
pass are projected on the closing direction. They form intervals, such as the two walls of a cup. A grip encloses one or
several neighbouring intervals, fits between the open fingers, has nothing else beside it where fingers are or move, and
its ends face the pads.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinloop.twin.meshes.mesh_body import MeshBody

PAD_HALF_WIDTH_M, PAD_HALF_HEIGHT_M = 0.01, 0.008
TIP_M = 0.012
"""Distance from the tool's frame to the ends of the fingers."""
PALM_M = 0.04
"""Free depth between the fingers, from the tool's frame to the palm."""
FINGER_M = 0.02  # thickness of a finger, along the closing direction
SPARE_M = 0.006
"""Fingers that are open must be this much wider than what they grip."""
GAP_M = 0.003
"""Samples closer than this along the closing direction belong together. On a large mesh, whose samples are farther
apart than `SAMPLE_M`, it grows in proportion."""
FACING = 0.8  # least cosine between the surface at the ends of a grip and the closing direction
SAMPLE_M = 0.002
MOST_SAMPLES = 60_000
TURNS = 8  # closing directions in half a turn
DEPTHS_M = (0.006, 0.012, 0.02, 0.03, 0.038)
OFF_CENTRE = 20.0  # score that one metre between grip and centre of mass costs
LEVELS = np.array([-0.03, -0.015, 0.0, 0.015, 0.03])


@dataclass(frozen=True)
class MeshGrips:
    """Poses of the tool in the frame of a mesh.

    Attributes:
        axes: (n, 3, 3) axes of the tool, as columns.
        at_m: (n, 3) positions of the tool.
        quality: (n,) score; 0 for a grip at the centre of mass, less for others.
        widths_m: (n,) distance between the pads.
        narrowest_m: width of the narrowest part that was tried, also where fingers cannot reach it.
    """

    axes: np.ndarray
    at_m: np.ndarray
    quality: np.ndarray
    widths_m: np.ndarray
    narrowest_m: float


def mesh_grips(mesh: MeshBody, opening_m: float) -> MeshGrips:
    """Grips for a gripper that opens by `opening_m`. There may be none.

    For each approach and closing direction the best grip is kept.
    """
    points, normals, pitch_m = _samples(mesh)
    gap_m = GAP_M * pitch_m / SAMPLE_M
    axes, places, quality, widths = [], [], [], []
    narrowest = np.inf
    for approach, closing in _directions():
        tool = np.stack([np.cross(closing, approach), closing, approach], axis=1)
        best: tuple[float, np.ndarray, float] | None = None
        for place, width, score in _grips_along(tool, points, normals, mesh.centre_m, gap_m, opening_m):
            narrowest = min(narrowest, width)
            if width > opening_m - SPARE_M or (best is not None and score <= best[0]):
                continue
            if _is_free(tool, points, place, width, opening_m):
                best = (score, place, width)
        if best is not None:
            # The same grip with the fingers exchanged.
            for turn in (tool, tool * np.array([-1.0, -1.0, 1.0])):
                axes.append(turn)
                places.append(best[1])
                quality.append(best[0])
                widths.append(best[2])
    return MeshGrips(
        np.array(axes).reshape(-1, 3, 3), np.array(places).reshape(-1, 3), np.array(quality), np.array(widths),
        float(narrowest),
    )  # fmt: skip


def _directions() -> list[tuple[np.ndarray, np.ndarray]]:
    """(approach, closing direction) of all tools that are tried."""
    angles = np.arange(TURNS) * np.pi / TURNS
    level = [np.array([np.cos(angle), np.sin(angle), 0.0]) for angle in angles]
    up = np.array([0.0, 0.0, 1.0])
    pairs = [(vertical * up, closing) for vertical in (-1, 1) for closing in level]
    for approach in (*level, *(-direction for direction in level)):
        pairs += [(approach, np.cross(up, approach)), (approach, up)]
    return pairs


def _samples(mesh: MeshBody) -> tuple[np.ndarray, np.ndarray, float]:
    """(n, 3) points evenly over the surface, (n, 3) its normals there, and the distance between neighbours."""
    corners = mesh.vertices[mesh.faces]
    sides = corners[:, 1:] - corners[:, :1]
    cross = np.cross(sides[:, 0], sides[:, 1])
    area = np.linalg.norm(cross, axis=1) / 2
    pitch = max(SAMPLE_M, float(np.sqrt(area.sum() / MOST_SAMPLES)))
    counts = np.maximum(np.ceil(area / pitch**2).astype(int), 1)
    face = np.repeat(np.arange(len(area)), counts)
    number = np.arange(len(face)) - np.repeat(np.cumsum(counts) - counts, counts)
    # An evenly spread sequence in the unit square, folded into the triangle.
    u = (0.5 + number * 0.7548776662466927) % 1
    v = (0.5 + number * 0.5698402909980532) % 1
    folded = u + v > 1
    u, v = np.where(folded, 1 - u, u), np.where(folded, 1 - v, v)
    points = corners[face, 0] + u[:, None] * sides[face, 0] + v[:, None] * sides[face, 1]
    return points, (cross / np.maximum(2 * area, 1e-12)[:, None])[face], pitch


def _grips_along(
    tool: np.ndarray, points: np.ndarray, normals: np.ndarray, centre: np.ndarray, gap_m: float, opening_m: float
):
    """Candidate grips of one orientation of the tool: position in the body's frame, width and score."""
    local, facing = points @ tool, np.abs(normals @ tool[:, 1])
    first, last = float(local[:, 2].min()), float(local[:, 2].max())
    middle = centre @ tool
    # The tips must not reach below the thing, where the table may be.
    deepest = last - TIP_M
    depths = sorted({min(first + depth, deepest) for depth in (*DEPTHS_M, min(float(middle[2]) - first, PALM_M))})
    for across in middle[0] + LEVELS:
        strip = np.abs(local[:, 0] - across) < PAD_HALF_WIDTH_M
        if not strip.any():
            continue
        for depth in depths:
            # Everything from the palm to the tips is between or beside the fingers.
            passed = strip & (local[:, 2] < depth + TIP_M)
            pad = strip & (np.abs(local[:, 2] - depth) < PAD_HALF_HEIGHT_M)
            for low, high in _enclosed(_intervals(local[passed, 1], gap_m), opening_m):
                ends = [pad & (np.abs(local[:, 1] - end) < gap_m) for end in (low, high)]
                if not all(end.any() and facing[end].max() > FACING for end in ends):
                    continue
                place = np.array([across, (low + high) / 2, depth])
                quality = -OFF_CENTRE * float(np.linalg.norm(place - middle))
                yield tool @ place, high - low, quality


def _enclosed(intervals: list[tuple[float, float]], opening_m: float) -> Iterator[tuple[float, float]]:
    """Single intervals, and neighbouring ones together where they fit between the open fingers."""
    for number, (low, high) in enumerate(intervals):
        yield low, high
        for _, farther in intervals[number + 1 :]:
            if farther - low > opening_m:
                break
            yield low, farther


def _intervals(values: np.ndarray, gap_m: float) -> list[tuple[float, float]]:
    """Runs of values without a gap."""
    if not len(values):
        return []
    ordered = np.sort(values)
    breaks = np.flatnonzero(np.diff(ordered) > gap_m)
    starts, stops = np.append(0, breaks + 1), np.append(breaks, len(ordered) - 1)
    return [(float(ordered[a]), float(ordered[b])) for a, b in zip(starts, stops, strict=True)]


def _is_free(tool: np.ndarray, points: np.ndarray, place: np.ndarray, width: float, opening_m: float) -> bool:
    """Whether nothing but the gripped part is where the open fingers are and where they close."""
    local = (points - place) @ tool
    near = (np.abs(local[:, 0]) < PAD_HALF_WIDTH_M) & (local[:, 2] < TIP_M)
    beside = np.abs(local[:, 1])
    in_the_way = near & (beside > width / 2 + 0.5 * GAP_M) & (beside < opening_m / 2 + FINGER_M)
    at_the_palm = (local[:, 2] < -PALM_M) & (np.abs(local[:, :2]) < opening_m / 2).all(axis=1)
    return not (in_the_way | at_the_palm).any()
