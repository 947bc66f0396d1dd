"""Rotations and rigid transforms. Quaternions are w, x, y, z; a transform is a (4, 4) matrix to the outer frame."""

import mujoco
import numpy as np


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    quat = np.zeros(4)
    mujoco.mju_mulQuat(quat, np.asarray(a, float), np.asarray(b, float))
    return quat


def conjugate(quat: np.ndarray) -> np.ndarray:
    return np.asarray(quat) * (1, -1, -1, -1)


def rotated(vector: np.ndarray, quat: np.ndarray) -> np.ndarray:
    turned = np.zeros(3)
    mujoco.mju_rotVecQuat(turned, np.asarray(vector, float), np.asarray(quat, float))
    return turned


def matrix(quat: np.ndarray) -> np.ndarray:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, np.asarray(quat, float))
    return flat.reshape(3, 3)


def quaternion(rotation: np.ndarray) -> np.ndarray:
    """Quaternion with w ≥ 0 of a (3, 3) rotation."""
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, np.ascontiguousarray(rotation, float).ravel())
    return -quat if quat[0] < 0 else quat


def transform(pos: np.ndarray, quat: np.ndarray = np.array([1.0, 0, 0, 0])) -> np.ndarray:  # noqa: B008
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix(quat), pos
    return pose


def inverse(pose: np.ndarray) -> np.ndarray:
    back = np.eye(4)
    back[:3, :3] = pose[:3, :3].T
    back[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return back


def turn(axis: np.ndarray, angle_rad: float) -> np.ndarray:
    """Transform of a rotation about an axis through the origin."""
    quat = np.zeros(4)
    mujoco.mju_axisAngle2Quat(quat, np.asarray(axis, float), angle_rad)
    return transform(np.zeros(3), quat)


def rotation_to(axis: np.ndarray) -> np.ndarray:
    """Quaternion of the shortest rotation that turns the x axis to `axis`."""
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    if axis[0] < -1 + 1e-12:
        return np.array([0.0, 0, 0, 1])
    quat = np.array([1 + axis[0], 0, -axis[2], axis[1]])
    return quat / np.linalg.norm(quat)


def roll_pitch_yaw(rotation: np.ndarray) -> np.ndarray:
    """Angles about the fixed axes x, y, z, as in URDF's `rpy`."""
    pitch = np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0]))
    if abs(np.cos(pitch)) < 1e-9:
        # Roll and yaw turn about the same axis here, so yaw is set to 0.
        roll = np.arctan2(-rotation[1, 2], rotation[1, 1])
        return np.array([roll, pitch, 0.0])
    return np.array([np.arctan2(rotation[2, 1], rotation[2, 2]), pitch, np.arctan2(rotation[1, 0], rotation[0, 0])])
