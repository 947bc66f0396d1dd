"""Grasps: poses of the tool in the frame of an object from which a parallel gripper can close on it.

The tool's z axis points towards the object, and its fingers close along y.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from twinloop.twin.meshes.mesh_grips import MeshGrips, mesh_grips
from twinloop.twin.objects import SceneObject
from twinloop.twin.shapes import SHAPES, shape_of

ROUND_DIRECTIONS = 16
TILTS_RAD = (0.0, 0.3, -0.3)
"""How far the tool may lean, for grips beside walls and neighbours."""
BLOCKED = 300.0  # score that one metre of overlap of the fingers with something costs
NARROWEST = 1.2
"""A gripper closes along the narrowest side, or along one that is wider by at most this factor."""


@dataclass(frozen=True)
class Grips:
    """Candidate grips of the shapes of one object, (forms, candidates, ...). The object's own shape is the first.

    Attributes:
        axes: (forms, candidates, 3, 3) axes of the tool in the object's frame, as columns.
        at_m: (forms, candidates, 3) positions of the tool there.
        quality: (forms, candidates) score of a candidate.
        valid: (forms, candidates) False for padding.
        widths_m: (forms, candidates) distance between the fingers that the candidate needs.
    """

    axes: np.ndarray
    at_m: np.ndarray
    quality: np.ndarray
    valid: np.ndarray
    widths_m: np.ndarray

    def choose(
        self,
        form: np.ndarray,
        object_axes: np.ndarray,
        tool_axes: np.ndarray,
        approach: np.ndarray,
        along: np.ndarray,
        blocked: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, 3) position and (n, 3, 3) axes of the best grip of each of n objects.

        Args:
            form: (n,) which shape each object has.
            approach: (n, 3) wanted direction of the tool's z axis in the world. A grip along this direction is best;
                among equals the one that turns the tool least.
            along: (3,) wanted direction of the tool's x axis in the object's frame; zero for any.
            blocked: (n, candidates) how far the open fingers would be inside something, in metres.
        """
        candidates = self.axes[form]
        world = (object_axes[:, None, :, :, None] * candidates[:, :, None, :, :]).sum(axis=3)
        towards = (world[:, :, :, 2] * approach[:, None, :]).sum(axis=2)
        alike = (world * tool_axes[:, None]).sum(axis=(2, 3))
        # Directions that differ by less than a few degrees count as equal.
        ahead = (candidates[:, :, :, 0] * along).sum(axis=2)
        score = 10 * np.round(towards, 1) + 5 * ahead + alike + self.quality[form]
        if blocked is not None:
            score = score - BLOCKED * blocked
        best = np.where(self.valid[form], score, -np.inf).argmax(axis=1)
        return self.at_m[form, best], self.axes[form, best]


@lru_cache
def grips_of(thing: SceneObject, *, shapes: bool = False, opening_m: float = np.inf) -> Grips:
    """Grips of an object and, if `shapes`, of every shape that an episode may draw for it.

    Args:
        opening_m: how wide the gripper opens; grips of a mesh are proposed for it.
    """
    if thing.mesh is not None:
        return _of_mesh(mesh_grips(thing.mesh, opening_m))
    if thing.pool:
        return _of_pool(thing)
    forms = [_axes(thing.half_extents_m, round_about_z=thing.yaw_symmetry_rad == 0)]
    extents = [thing.half_extents_m]
    if shapes:
        for name in SHAPES:
            shape = shape_of(name, thing)
            extents.append(shape.half_extents_m)
            if name == "cylinder":
                forms.append(_axes(shape.half_extents_m, round_about_z=True))
            else:
                # The grasp point of these shapes is at their origin, where only their y side is narrow.
                forms.append(_top_only(shape.yaw_symmetry_rad))
    most = max(len(axes) for axes in forms)
    padded = np.stack([np.concatenate([axes, np.repeat(axes[:1], most - len(axes), axis=0)]) for axes in forms])
    valid = np.array([[number < len(axes) for number in range(most)] for axes in forms])
    # The extent along the closing direction; of a diagonal direction of a round thing this is its diameter.
    closing = np.abs(padded[:, :, :, 1])
    widths = 2 * (closing * closing * np.array(extents)[:, None, :]).sum(axis=2)
    return Grips(padded, np.zeros((*valid.shape, 3)), np.zeros(valid.shape), valid, widths)


def _of_mesh(grips: MeshGrips) -> Grips:
    if not len(grips.axes):
        nowhere = np.zeros((1, 1))
        return Grips(np.eye(3)[None, None], np.zeros((1, 1, 3)), nowhere, nowhere > 0, nowhere + grips.narrowest_m)
    valid = np.ones((1, len(grips.axes)), bool)
    return Grips(grips.axes[None], grips.at_m[None], grips.quality[None], valid, grips.widths_m[None])


def _of_pool(thing: SceneObject) -> Grips:
    """Grips of every product of a pool: from above at its origin, upright or tilted about the closing direction."""
    forms = []
    for product in thing.pool:
        symmetry = product.yaw_symmetry_rad
        upright = _top_round() if symmetry == 0 else _top_only(symmetry)
        forms.append(np.concatenate([upright @ _about_y(tilt) for tilt in TILTS_RAD]))
    most = max(len(axes) for axes in forms)
    padded = np.stack([np.concatenate([axes, np.repeat(axes[:1], most - len(axes), axis=0)]) for axes in forms])
    valid = np.array([[number < len(axes) for number in range(most)] for axes in forms])
    widths = np.array([[2 * product.half_extents_m[1]] * most for product in thing.pool])
    return Grips(padded, np.zeros((*valid.shape, 3)), np.zeros(valid.shape), valid, widths)


def _about_y(angle: float) -> np.ndarray:
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]])


def _top_round() -> np.ndarray:
    angles = np.arange(ROUND_DIRECTIONS) * 2 * np.pi / ROUND_DIRECTIONS
    return np.array([_frame(_direction(angle), np.array([0.0, 0.0, -1.0])) for angle in angles])


def _axes(half_m: tuple[float, float, float], *, round_about_z: bool) -> np.ndarray:
    if not round_about_z:
        return _box_axes(half_m)
    angles = np.arange(ROUND_DIRECTIONS) * 2 * np.pi / ROUND_DIRECTIONS
    out = []
    for angle in angles:
        radial, tangent = _direction(angle), _direction(angle + np.pi / 2)
        up = np.array([0.0, 0.0, 1.0])
        out += [_frame(radial, -up), _frame(radial, up), _frame(tangent, -radial)]
        if half_m[2] <= NARROWEST * half_m[0]:
            out += [_frame(up, -radial), _frame(-up, -radial)]
    return np.array(out)


def _box_axes(half_m: tuple[float, float, float]) -> np.ndarray:
    out = []
    basis = np.eye(3)
    for approach in range(3):
        sides = [axis for axis in range(3) if axis != approach]
        narrowest = min(half_m[axis] for axis in sides)
        for closing in sides:
            if half_m[closing] <= NARROWEST * narrowest:
                out += [
                    _frame(first * basis[closing], second * basis[approach]) for first in (1, -1) for second in (1, -1)
                ]
    return np.array(out)


def _top_only(symmetry_rad: float) -> np.ndarray:
    turns = 2 if symmetry_rad >= np.pi else 4
    return np.array(
        [_frame(_direction(np.pi / 2 + turn * 2 * np.pi / turns), np.array([0.0, 0.0, -1.0])) for turn in range(turns)]
    )


def _direction(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _frame(closing: np.ndarray, approach: np.ndarray) -> np.ndarray:
    """(3, 3) axes of a tool that closes along the first direction and approaches along the second."""
    return np.stack([np.cross(closing, approach), closing, approach], axis=1)
