"""Distance of a robot's links from each other."""

import mujoco
import numpy as np

MARGIN_M = 0.005


class SelfCollision:
    """Pairs of geoms of one arm that may collide.

    A pair is left out if fewer than two arm joints lie between its geoms, or if it is closer than `margin_m` in the
    reference posture: there the model itself lets neighbouring parts overlap. Geoms without contacts are used only for
    bodies that have no others, because a visual mesh is larger than the part it shows.

    Args:
        joints: arm joints, from the base to the tool.
        reference: (joints,) a posture without collisions, usually home.
    """

    def __init__(self, model: mujoco.MjModel, joints: np.ndarray, reference: np.ndarray, *, margin_m: float = MARGIN_M):
        self._model, self._data = model, mujoco.MjData(model)
        self._qpos = model.jnt_qposadr[joints]
        self._margin_m = margin_m
        stages = _stages(model, joints)
        geoms = [geom for geom in range(model.ngeom) if _counts(model, geom, stages)]
        stage = stages[model.geom_bodyid[geoms]]
        first, second = np.nonzero(stage[:, None] <= stage[None, :] - 2)
        self._first, self._second = np.array(geoms, int)[first], np.array(geoms, int)[second]
        self._place(reference)
        apart = [
            mujoco.mj_geomDistance(model, self._data, int(a), int(b), margin_m, None) >= margin_m
            for a, b in zip(self._first, self._second, strict=True)
        ]
        self._first, self._second = self._first[apart], self._second[apart]
        self._rbound = model.geom_rbound[self._first] + model.geom_rbound[self._second]

    def colliding(self, positions: np.ndarray) -> tuple[str, str] | None:
        """Names of the two bodies that are closer than the margin at (joints,) positions. None if there are none."""
        self._place(positions)
        centres = self._data.geom_xpos
        spheres_m = np.linalg.norm(centres[self._first] - centres[self._second], axis=1) - self._rbound
        for pair in np.flatnonzero(spheres_m < self._margin_m):
            first, second = int(self._first[pair]), int(self._second[pair])
            if mujoco.mj_geomDistance(self._model, self._data, first, second, self._margin_m, None) < self._margin_m:
                bodies = self._model.geom_bodyid[[first, second]]
                return self._model.body(bodies[0]).name, self._model.body(bodies[1]).name
        return None

    def _place(self, positions: np.ndarray) -> None:
        self._data.qpos[self._qpos] = positions
        mujoco.mj_kinematics(self._model, self._data)


def _stages(model: mujoco.MjModel, joints: np.ndarray) -> np.ndarray:
    """(bodies,) number of arm joints between each body and the base; -1 for bodies that are not part of the robot."""
    arm = {int(model.jnt_bodyid[joint]) for joint in joints}
    base = int(model.body_parentid[model.jnt_bodyid[joints[0]]])
    stages = np.full(model.nbody, -1)
    if base:
        stages[base] = 0
    for body in range(1, model.nbody):
        parent = int(model.body_parentid[body])
        if body in arm:
            stages[body] = max(stages[parent], 0) + 1
        elif stages[parent] > 0 and body != base:
            stages[body] = stages[parent]
    return stages


def _counts(model: mujoco.MjModel, geom: int, stages: np.ndarray) -> bool:
    body = int(model.geom_bodyid[geom])
    if stages[body] < 0 or model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE.value:
        return False
    start, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    touches = (model.geom_contype[start : start + count] > 0) | (model.geom_conaffinity[start : start + count] > 0)
    return bool(touches[geom - start]) or not touches.any()
