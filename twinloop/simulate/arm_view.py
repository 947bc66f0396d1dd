"""ArmView: a cell of several arms as one of its arms sees it.

Skills and relations read the tool and the fingers of one arm. With this view they work for any arm of a robot. A cell
of one arm is itself the view of that arm.
"""

from typing import TYPE_CHECKING

import numpy as np

from twinloop.simulate.view import View
from twinloop.twin.twin import ArmIndex

if TYPE_CHECKING:
    from twinloop.simulate.cell import Cell


class ArmView:
    """A View of a cell: tool, joints and fingers are those of one arm; the rest is that of the cell."""

    def __init__(self, cell: "Cell", index: ArmIndex):
        self._cell, self._index = cell, index
        self.tool_position = cell.site_position(index.tool_site)
        self.tool_axes = cell.site_axes(index.tool_site)
        self.tool_lag_m, self.table_height_m = cell.tool_lag_m, cell.table_height_m
        self.position, self.axes, self.value, self.speed_m_s = cell.position, cell.axes, cell.value, cell.speed_m_s
        self.half_extents_m, self.rest_height_m, self.form = cell.half_extents_m, cell.rest_height_m, cell.form
        self.entity_of, self.played_by, self.of_arm = cell.entity_of, cell.played_by, cell.of_arm

    @property
    def arms(self) -> tuple[View, ...]:
        return self._cell.arms

    @property
    def arm_position_rad(self) -> np.ndarray:
        return self._cell.arm_position_rad[:, self._index.columns]

    @property
    def arm_effort_nm(self) -> np.ndarray:
        return self._cell.arm_effort_nm[:, self._index.columns]

    @property
    def finger_force_n(self) -> np.ndarray:
        first = 2 * self._index.number
        return self._cell.finger_force_n[:, first : first + 2]

    @property
    def support_force_n(self) -> np.ndarray:
        return self._cell.support_force_n

    @property
    def bystander_distance_m(self) -> np.ndarray:
        return self._cell.bystander_distance_m

    def jacobian(self) -> np.ndarray:
        return self._cell.jacobian_of(self._index)


def arm_views(cell: "Cell") -> tuple[ArmView, ...]:
    return tuple(ArmView(cell, index) for index in cell.twin.arms)
