"""Poses as arrays x, y, z, quaternion w, x, y, z, and the frames of a MuJoCo model's joints."""

import mujoco
import numpy as np

HERE = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
FREE = mujoco.mjtJoint.mjJNT_FREE.value
HINGE = mujoco.mjtJoint.mjJNT_HINGE.value


def pose_of(position_m: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    unit = np.asarray(quaternion, float)
    return np.concatenate([np.asarray(position_m, float), unit / np.linalg.norm(unit)])


def composed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the pose `second`, which is given in the frame `first`, in the frame of `first`."""
    place, quat = np.zeros(3), np.zeros(4)
    mujoco.mju_rotVecQuat(place, second[:3], first[3:])
    mujoco.mju_mulQuat(quat, first[3:], second[3:])
    return np.concatenate([first[:3] + place, quat])


def rotation(quaternion: np.ndarray) -> np.ndarray:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion, float))
    return matrix.reshape(3, 3)


def joint_frames(model: mujoco.MjModel, joint: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the joint's frames on the parent body and on its own body, which coincide at coordinate 0.

    A MuJoCo body is where its own pose says at the joint's reference coordinate.
    """
    body = int(model.jnt_bodyid[joint])
    place = pose_of(model.body_pos[body], model.body_quat[body])
    anchor = pose_of(model.jnt_pos[joint], HERE[3:])
    reference, axis = float(model.qpos0[model.jnt_qposadr[joint]]), model.jnt_axis[joint]
    back = HERE.copy()
    if model.jnt_type[joint] == HINGE:
        back[3:] = [np.cos(reference / 2), *(-np.sin(reference / 2) * axis)]
    else:
        back[:3] = -reference * axis
    return composed(composed(place, anchor), back), anchor


def coupling(model: mujoco.MjModel, equality: int) -> tuple[float, float]:
    """Return ratio and offset of two coupled joints: first = ratio · second + offset."""
    constant, ratio = map(float, model.eq_data[equality, :2])
    first, second = (
        float(model.qpos0[model.jnt_qposadr[int(joint)]])
        for joint in (model.eq_obj1id[equality], model.eq_obj2id[equality])
    )
    return ratio, constant + first - ratio * second


def mesh_vertices(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """Return (n, 3) the vertices of a mesh geom in its own frame."""
    mesh = int(model.geom_dataid[geom])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    return np.array(model.mesh_vert[first : first + count], float)
