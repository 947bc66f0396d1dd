"""PredictedView: a View of a cell after one of its arms has followed its last commands. The scripted expert uses it.

Motors lag behind their commands; the lag grows with delay and with softer servos. A controller that uses the current
tool position commands too much and oscillates. One that uses the commanded position does not. The commanded tool
position follows from the joints to first order, through the Jacobian. This is accurate because the remaining distance
is short and shrinks towards the target.
"""

import numpy as np

from twinloop.simulate.batched import weighted_sum
from twinloop.simulate.joint_predictor import JointPredictor
from twinloop.simulate.program import phases_in
from twinloop.simulate.view import View
from twinloop.twin.phase import Phase
from twinloop.twin.rotation import cross, length
from twinloop.twin.twin import Twin


class PredictedView:
    """A View of the predicted state after the last commands. `look` updates it."""

    def __init__(self, twin: Twin, home_rad: np.ndarray, *, width: int):
        self._following = JointPredictor(home_rad, width=width, period_s=twin.control_period_s)

    def begin(self, ids: np.ndarray) -> None:
        self._following.begin(ids)

    def look(self, cell: View, sent_rad: np.ndarray, phases: tuple[Phase, ...], phase: np.ndarray) -> "PredictedView":
        """Update the view and return it.

        Args:
            sent_rad: (width, joints) the last commands.
            phase: (width,) current phase of each slot. What it carries moves with the tool.
        """
        following, jacobian = self._following, cell.jacobian()
        following.take(cell.arm_position_rad, sent_rad)
        missing = following.believed_rad - cell.arm_position_rad
        way = np.ascontiguousarray(weighted_sum(jacobian, np.ascontiguousarray(missing.T)).T)
        self._cell, self._jacobian, self._way_m = cell, jacobian, way[:, :3]
        self._carried: dict[str, np.ndarray] = {}
        self._carried_position: dict[str, np.ndarray] = {}
        for number in phases_in(phase):
            name = phases[number].carrying.partition(".")[0]
            if name:
                self._carried[name] = self._carried.get(name, False) | (phase == number)
        self.arm_position_rad = following.believed_rad
        self.tool_position = cell.tool_position + way[:, :3]
        self.tool_axes = cell.tool_axes + cross(way[:, None, 3:], cell.tool_axes.transpose(0, 2, 1)).transpose(0, 2, 1)
        self.tool_lag_m = length(way[:, :3])
        self.table_height_m, self.shoulder_m = cell.table_height_m, cell.shoulder_m
        self.finger_force_n, self.support_force_n = cell.finger_force_n, cell.support_force_n
        self.axes, self.value, self.speed_m_s = cell.axes, cell.value, cell.speed_m_s
        self.half_extents_m, self.rest_height_m = cell.half_extents_m, cell.rest_height_m
        self.form, self.entity_of, self.played_by = cell.form, cell.entity_of, cell.played_by
        self.arms, self.of_arm = cell.arms, cell.of_arm
        if hasattr(cell, "bystander_distance_m"):
            self.bystander_distance_m = cell.bystander_distance_m
        return self

    def position(self, name: str) -> np.ndarray:
        if name not in self._carried_position:
            carried = self._carried.get(name.partition(".")[0])
            position = self._cell.position(name)
            if carried is None:
                return position
            self._carried_position[name] = position + np.where(carried[:, None], self._way_m, 0)
        return self._carried_position[name]

    @property
    def measured_rad(self) -> np.ndarray:
        """(width, joints) measured positions without encoder error."""
        return self._following.measured_rad

    @property
    def arm_effort_nm(self) -> np.ndarray:
        return self._cell.arm_effort_nm

    def jacobian(self) -> np.ndarray:
        return self._jacobian
