"""Forward kinematics and Jacobian of one site, for many joint positions at once.

The chain from the world to the site is read from a compiled model. Joints of the chain that are not listed stay at
their reference position.
"""

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from twinloop.twin.rotation import cross

IDENTITY = np.eye(3)


@dataclass(frozen=True)
class _Segment:
    """A fixed transform in the frame of the previous joint, then a joint about or along `axis`."""

    rotation: np.ndarray
    translation_m: np.ndarray
    axis: np.ndarray
    reference: float
    slides: bool

    @cached_property
    def skew(self) -> tuple[np.ndarray, np.ndarray]:
        """(3, 3) the matrix of the cross product with the axis, and its square."""
        x, y, z = self.axis
        skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return skew, skew @ skew


@dataclass(frozen=True)
class ToolPoses:
    """Poses of the site and its Jacobians in the world frame.

    Attributes:
        position_m: (n, 3).
        rotation: (n, 3, 3), frame to world.
        jacobian: (n, 6, joints), three linear rows and three angular rows.
    """

    position_m: np.ndarray
    rotation: np.ndarray
    jacobian: np.ndarray


class KinematicChain:
    """The chain of `joints` (indices, from the base to the tool) up to `site`.

    Raises:
        ValueError: a joint does not move the site, or is not a hinge or slide joint.
    """

    def __init__(self, model: mujoco.MjModel, joints: np.ndarray, site: int):
        self._joints = [int(joint) for joint in joints]
        self._segments: dict[int, _Segment] = {}
        rotation, translation = np.eye(3), np.zeros(3)
        for body in _path_to(model, int(model.site_bodyid[site])):
            translation = translation + rotation @ model.body_pos[body]
            rotation = rotation @ _matrix(model.body_quat[body])
            first = int(model.body_jntadr[body])
            for joint in range(first, first + int(model.body_jntnum[body])):
                if joint not in self._joints:
                    continue
                kind = model.jnt_type[joint]
                slides = bool(kind == mujoco.mjtJoint.mjJNT_SLIDE.value)
                if not slides and kind != mujoco.mjtJoint.mjJNT_HINGE.value:
                    raise ValueError(f"joint {model.joint(joint).name!r} is neither a hinge nor a slide joint")
                anchor = model.jnt_pos[joint]
                reference = float(model.qpos0[model.jnt_qposadr[joint]])
                self._segments[joint] = _Segment(
                    rotation, translation + rotation @ anchor, model.jnt_axis[joint].copy(), reference, slides
                )
                rotation, translation = np.eye(3), -anchor
        still = [model.joint(joint).name for joint in self._joints if joint not in self._segments]
        if still:
            raise ValueError(f"joints {still} do not move site {model.site(site).name!r}")
        segments = self._segments.values()
        self._order = [self._joints.index(joint) for joint in self._segments]  # columns, from the base to the tool
        self._slides = [column for column, part in zip(self._order, segments, strict=True) if part.slides]
        self._references = np.array([[part.reference] for part in segments])
        self._skews = np.array([part.skew for part in segments]).transpose(1, 0, 2, 3)[:, :, None]
        self._tool_translation_m = translation + rotation @ model.site_pos[site]
        self._tool_rotation = rotation @ _matrix(model.site_quat[site])

    @property
    def base_m(self) -> np.ndarray:
        """(3,) position of the first joint in the world."""
        return next(iter(self._segments.values())).translation_m

    def constants(self) -> np.ndarray:
        """(joints + 1, 17) the chain as numbers, from the base to the site.

        A row has the rotation (9) and translation (3) before a joint, its axis (3), its reference position and 1 if it
        slides. The last row is the transform from the last joint to the site.
        """
        if list(self._segments) != self._joints:
            raise ValueError("the joints are not listed from the base to the tool")
        rows = [
            [*segment.rotation.ravel(), *segment.translation_m, *segment.axis, segment.reference, segment.slides]
            for segment in self._segments.values()
        ]
        return np.array([*rows, [*self._tool_rotation.ravel(), *self._tool_translation_m, 0, 0, 0, 0, 0]], float)

    def span_m(self, limits: np.ndarray) -> float:
        """Upper bound of the distance from the first joint to the site.

        Args:
            limits: (joints, 2) joint limits.
        """
        lengths = [float(np.linalg.norm(self._tool_translation_m))]
        lengths += [float(np.linalg.norm(segment.translation_m)) for segment in list(self._segments.values())[1:]]
        for joint, ends in zip(self._joints, limits, strict=True):
            if self._segments[joint].slides:
                lengths.append(float(np.abs(ends - self._segments[joint].reference).max()))
        return sum(lengths)

    def poses(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, 3) positions in m and (n, 3, 3) rotations of the site at (n, joints) joint positions.

        These are those of `frames`, but for rounding. All products are of one fixed matrix with all rows, which is
        several times as fast as a product for each row.
        """
        n = len(positions)
        rotation, point = np.tile(IDENTITY, (n, 1)), np.zeros((n, 3))  # (n * 3, 3): the rows of all rotations
        for joint, segment in self._segments.items():
            point += (rotation @ segment.translation_m).reshape(n, 3)
            displacement = positions[:, self._joints.index(joint)] - segment.reference
            rotation = rotation @ segment.rotation
            if segment.slides:
                point += (rotation @ segment.axis).reshape(n, 3) * displacement[:, None]
                continue
            skew, square = segment.skew
            turned = rotation @ np.concatenate([skew, square], axis=1)
            rotation += np.repeat(np.sin(displacement), 3)[:, None] * turned[:, :3]
            rotation += np.repeat(1 - np.cos(displacement), 3)[:, None] * turned[:, 3:]
        point += (rotation @ self._tool_translation_m).reshape(n, 3)
        return point, (rotation @ self._tool_rotation).reshape(n, 3, 3)

    def frames(self, positions: np.ndarray) -> ToolPoses:
        """The site at (n, joints) joint positions."""
        n, joints = len(positions), len(self._joints)
        rotation, point = np.broadcast_to(IDENTITY, (n, 3, 3)), np.zeros((n, 3))
        anchors, axes = np.empty((joints, n, 3)), np.empty((joints, n, 3))
        # Whatever does not depend on the joints before is computed for all joints at once: a call of NumPy takes longer
        # than its work for some ten poses.
        displacement = positions.T[self._order] - self._references
        turned = _turned(displacement, self._skews)
        for place, (column, segment) in enumerate(zip(self._order, self._segments.values(), strict=True)):
            point = point + rotation @ segment.translation_m
            rotation = rotation @ segment.rotation
            anchors[column], axes[column] = point, rotation @ segment.axis
            if segment.slides:
                point = point + axes[column] * displacement[place][:, None]
            else:
                rotation = rotation @ turned[place]
        point = point + rotation @ self._tool_translation_m
        jacobian = np.empty((n, 6, joints))
        jacobian[:, :3] = cross(axes, point - anchors).transpose(1, 2, 0)
        jacobian[:, 3:] = axes.transpose(1, 2, 0)
        for column in self._slides:
            jacobian[:, :3, column], jacobian[:, 3:, column] = axes[column], 0.0
        return ToolPoses(point, rotation @ self._tool_rotation, jacobian)


def _turned(angles: np.ndarray, skews: np.ndarray) -> np.ndarray:
    """(joints, n, 3, 3) rotations by (joints, n) angles about axes, by Rodrigues' formula.

    Args:
        skews: (2, joints, 1, 3, 3) `_Segment.skew` of each axis.
    """
    sine, versine = np.sin(angles)[..., None, None], (1 - np.cos(angles))[..., None, None]
    return IDENTITY + sine * skews[0] + versine * skews[1]


def _path_to(model: mujoco.MjModel, body: int) -> list[int]:
    """Bodies from the world's child to `body`."""
    path = []
    while body:
        path.append(body)
        body = int(model.body_parentid[body])
    return path[::-1]


def _matrix(quat: np.ndarray) -> np.ndarray:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quat)
    return matrix.reshape(3, 3)
