"""RobotView: a robot's readings in the form that the scripted expert needs.

The tool pose follows from the joints and the twin's kinematics, the object pose from the tracker, and the finger force
from the gripper's effort once the fingers have stopped. Readings of a real robot are late and noisy, so these are
estimates by `observe/estimate.py`.
"""

from collections.abc import Mapping

import numpy as np

from twinloop.deploy.robot import Reading
from twinloop.observe.estimate import NEEDED, StateEstimator
from twinloop.simulate.arm_view import arm_views
from twinloop.simulate.batched import point_jacobian
from twinloop.simulate.scene_state import SceneState
from twinloop.simulate.view import View
from twinloop.twin.twin import ArmIndex, Twin

ALONE = np.zeros(1, int)
LAG_S = 0.12
"""Time constant of the average of the tool's lag."""


class RobotView(SceneState):
    """A View of one scene, updated by `take`. All arrays have one row; tool and lag are those of the first arm."""

    def __init__(self, twin: Twin):
        super().__init__(twin, width=1)
        self._estimate = StateEstimator(twin, width=1)
        self._nothing = np.array(twin.robot.home)[None]
        self._share = 1 - float(np.exp(-twin.control_period_s / LAG_S))
        self.table_height_m = np.zeros(1)
        self.support_force_n = np.zeros(1)
        # Readings contain neither velocities of things nor positions of people.
        self._velocity = {index.name: np.zeros((1, 3)) for index in twin.things}
        self.bystander_distance_m = np.full(1, np.inf)
        self._arms: tuple[View, ...] = ()
        self.begin()

    def begin(self, chosen: Mapping[str, str] | None = None) -> None:
        """Reset for a new episode. chosen: role -> the entity that plays it, if the task has roles."""
        self._estimate.begin(ALONE)
        self._behind_m = np.zeros((len(self.twin.arms), 3))
        for role, candidates in self._roles.items():
            entity = (chosen or {}).get(role, candidates[0])
            self._chosen[role][:] = candidates.index(entity) if entity in candidates else 0

    def take(self, reading: Reading, command: np.ndarray | None) -> None:
        """Update with a reading and the last command that was sent, if any."""
        estimate, following = self._estimate, self._estimate.following
        seen = {name: reading.features[name][None] for name in NEEDED}
        estimate.take(seen, self._nothing if command is None else np.asarray(command, float)[None])
        measured_m = estimate.tools_at(following.measured_rad[0])
        self.arm_position_rad = following.believed_rad
        self.arm_effort_nm = seen["observation.effort"][:, : self.twin.joints]
        self._place(estimate.environment)
        tools_m = estimate.tools_at(following.believed_rad[0])
        self.tool_position, self.tool_axes = tools_m[:1], self.site_axes(self.twin.tool_site)
        self._behind_m += self._share * (tools_m - measured_m - self._behind_m)
        lag_m = np.sqrt(np.square(self._behind_m).sum(axis=1))
        self.tool_lag_m = lag_m[:1]
        self.finger_force_n = np.repeat(estimate.pressing_n, 2, axis=1)
        if len(lag_m) > 1:
            views = arm_views(self)
            for number, view in enumerate(views):
                view.tool_lag_m = lag_m[number : number + 1]
            self._arms = views

    @property
    def arms(self) -> tuple[View, ...]:
        return self._arms or super().arms

    def site_position(self, site: int) -> np.ndarray:
        return self._estimate.data.site_xpos[None, site].copy()

    def site_axes(self, site: int) -> np.ndarray:
        return self._estimate.data.site_xmat[site].reshape(1, 3, 3).copy()

    def _place(self, environment: np.ndarray) -> None:
        self._changed()
        if all(index.soft is None for index in self.twin.things):
            # Frames of entities follow from their poses, which the kinematics of the next call compute.
            self.twin.pose_scene(self._estimate.data, environment[0])
        for index in (*self.twin.things, *self.twin.fixtures):
            state = environment[:, index.columns]
            self._position[index.name], self._quat[index.name] = state[:, :3].copy(), state[:, 3:7].copy()
            if state.shape[1] > 7:
                self._value[index.name] = state[:, 7].copy()

    def shift(self, entity: str, by_m: np.ndarray) -> None:
        """Move an entity in this view, e.g. by a demonstrator's error of aim."""
        self._position[entity] = self._position[entity] + by_m
        self._role_position.clear()

    def _frame_position(self, name: str) -> np.ndarray:
        return self.site_position(self.twin.sites[name])

    def _frame_axes(self, name: str) -> np.ndarray:
        return self.site_axes(self.twin.sites[name])

    def jacobian(self) -> np.ndarray:
        return self.jacobian_of(self.twin.arms[0])

    def jacobian_of(self, index: ArmIndex) -> np.ndarray:
        data, joints = self._estimate.data, index.joints
        tool = self.site_position(index.tool_site)
        return point_jacobian(data.xaxis[None, joints], data.xanchor[None, joints], tool, index.slides)
