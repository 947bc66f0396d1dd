"""TrueScene: the true state of a rehearsal cell, in the form that a task's relations read.

Poses of frames on things and fixtures follow from the cell's own model by MuJoCo's kinematics, whatever the engine.
"""

import mujoco
import numpy as np

from twinloop.deploy.rehearsal.cell_build import CellBuild
from twinloop.simulate.arm_view import arm_views
from twinloop.simulate.batched import point_jacobian
from twinloop.simulate.scene_state import SceneState
from twinloop.simulate.view import View
from twinloop.twin.twin import ArmIndex


class TrueScene(SceneState):
    """A batch of one scene. `take` sets its state."""

    def __init__(self, build: CellBuild, chosen: dict[str, str]):
        super().__init__(build.twin, width=1)
        self._build, self.data = build, mujoco.MjData(build.model)
        for role, candidates in self._roles.items():
            self._chosen[role][:] = candidates.index(chosen[role])
        self.table_height_m = np.array([build.table[2]])
        self.support_force_n = np.zeros(1)
        self.finger_force_n = np.zeros((1, 2 * len(build.twin.arms)))
        self.tool_lag_m = np.zeros(1)
        self.bystander_distance_m = np.full(1, np.inf)
        self.arm_position_rad = np.array(build.twin.robot.home_rad)[None]
        self.arm_effort_nm = np.zeros_like(self.arm_position_rad)  # no relation reads efforts
        self._arms: tuple[View, ...] = ()
        self.tool_position, self.tool_axes = np.zeros((1, 3)), np.eye(3)[None]

    def take(self, qpos: np.ndarray, qvel: np.ndarray, placed: dict[int, np.ndarray]) -> None:
        """Set the state. placed: body of a fixture -> its pose."""
        twin, data, model = self.twin, self.data, self._build.model
        data.qpos[:] = qpos
        for body, pose in placed.items():
            mocap = int(model.body_mocapid[body])
            data.mocap_pos[mocap], data.mocap_quat[mocap] = pose[:3], pose[3:]
        mujoco.mj_kinematics(model, data)
        self._changed()
        for index in twin.things:
            self._position[index.name] = qpos[None, index.qpos : index.qpos + 3].copy()
            self._quat[index.name] = qpos[None, index.qpos + 3 : index.qpos + 7].copy()
            self._velocity[index.name] = qvel[None, index.dof : index.dof + 3].copy()
        for index in twin.fixtures:
            pose = placed[index.body]
            self._position[index.name], self._quat[index.name] = pose[None, :3].copy(), pose[None, 3:].copy()
            if index.joint_qpos >= 0:
                self._value[index.name] = qpos[None, index.joint_qpos].copy()
        self.arm_position_rad = qpos[None, twin.arm_qpos].copy()
        self.tool_position, self.tool_axes = self.site_position(twin.tool_site), self.site_axes(twin.tool_site)
        if len(twin.arms) > 1:
            self._arms = arm_views(self)

    @property
    def arms(self) -> tuple[View, ...]:
        return self._arms or super().arms

    def site_position(self, site: int) -> np.ndarray:
        return self.data.site_xpos[None, site].copy()

    def site_axes(self, site: int) -> np.ndarray:
        return self.data.site_xmat[site].reshape(1, 3, 3).copy()

    def jacobian(self) -> np.ndarray:
        return self.jacobian_of(self.twin.arms[0])

    def jacobian_of(self, index: ArmIndex) -> np.ndarray:
        axes, anchors = self.data.xaxis[None, index.joints], self.data.xanchor[None, index.joints]
        return point_jacobian(axes, anchors, self.site_position(index.tool_site), index.slides)

    def environment(self) -> np.ndarray:
        """Return the environment state, as recorded."""
        out = np.zeros(self.twin.environment_size)
        for index in (*self.twin.things, *self.twin.fixtures):
            first = index.columns.start
            out[first : first + 3], out[first + 3 : first + 7] = self._position[index.name], self._quat[index.name]
            if index.name in self._value:
                out[index.columns.stop - 1] = self._value[index.name][0]
        return out

    def _frame_position(self, name: str) -> np.ndarray:
        return self.site_position(self.twin.sites[name])

    def _frame_axes(self, name: str) -> np.ndarray:
        return self.site_axes(self.twin.sites[name])
