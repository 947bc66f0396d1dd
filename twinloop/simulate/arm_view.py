"""ArmView: a scene of several arms as one of its arms sees it.

Skills and relations read the tool and the fingers of one arm. With this view they work for any arm of a robot. A scene
of one arm is itself the view of that arm.
"""

from typing import Protocol

import numpy as np

from twinloop.simulate.view import View
from twinloop.twin.twin import ArmIndex, Twin


class ManyArmedScene(View, Protocol):
    """A scene of several arms: a simulated cell, the true state of a rehearsal cell, or a robot's readings."""

    twin: Twin

    def site_position(self, site: int) -> np.ndarray: ...

    def site_axes(self, site: int) -> np.ndarray: ...

    def jacobian_of(self, index: ArmIndex) -> np.ndarray: ...


class ArmView:
    """A View of a scene: tool, joints and fingers are those of one arm; the rest is that of the scene."""

    def __init__(self, scene: ManyArmedScene, index: ArmIndex):
        self._scene, self._index = scene, index
        self.shoulder_m = scene.twin.shoulders_m[index.number]
        self.tool_position = scene.site_position(index.tool_site)
        self.tool_axes = scene.site_axes(index.tool_site)
        self.tool_lag_m, self.table_height_m = scene.tool_lag_m, scene.table_height_m
        self.position, self.axes, self.value, self.speed_m_s = scene.position, scene.axes, scene.value, scene.speed_m_s
        self.half_extents_m, self.rest_height_m, self.form = scene.half_extents_m, scene.rest_height_m, scene.form
        self.entity_of, self.played_by, self.of_arm = scene.entity_of, scene.played_by, scene.of_arm

    @property
    def arms(self) -> tuple[View, ...]:
        return self._scene.arms

    @property
    def arm_position_rad(self) -> np.ndarray:
        return self._scene.arm_position_rad[:, self._index.columns]

    @property
    def arm_effort_nm(self) -> np.ndarray:
        return self._scene.arm_effort_nm[:, self._index.columns]

    @property
    def finger_force_n(self) -> np.ndarray:
        first = 2 * self._index.number
        return self._scene.finger_force_n[:, first : first + 2]

    @property
    def support_force_n(self) -> np.ndarray:
        return self._scene.support_force_n

    @property
    def bystander_distance_m(self) -> np.ndarray:
        return self._scene.bystander_distance_m

    def jacobian(self) -> np.ndarray:
        return self._scene.jacobian_of(self._index)


def arm_views(scene: ManyArmedScene) -> tuple[ArmView, ...]:
    return tuple(ArmView(scene, index) for index in scene.twin.arms)
