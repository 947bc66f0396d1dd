"""ServoDrive: the servo law of `simulate/drives` in the slots of a cell, in place of the engine's position actuators.

The law needs load, speed and the play of the gears in every physics step, so the physics is stepped one by one. For a
batch the law itself costs a few per cent of the physics.

Rows of the table that change the engine's actuators (`servo_stiffness_scale`, `motor_strength_scale`,
`joint_friction_nm`, `action_delay_ms`, ...) change the servo in the same proportion, or by the same amount.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.randomize.servo import NOTHING_HELD, PREFIX
from twinloop.simulate.drives.goal_line import GoalLine
from twinloop.simulate.drives.nominal import joint_values
from twinloop.simulate.drives.servo import DRIVES
from twinloop.twin.compose import PREFIX as ROBOT

if TYPE_CHECKING:
    from twinloop.simulate.cell import Cell

HELD = "held_rad"
LIMITS = ("torque_limit_nm", "duty_limit")


class ServoDrive:
    """The servos of all slots of a cell.

    Attributes:
        joints: names of the driven joints: those of the arms, and those of the grippers that have a servo too.
        grippers: numbers of the arms whose gripper has a servo.
        effort_nm: (width, joints) motor torque in the last physics step.
        encoder_bias_rad: (width, joints) how far the encoders read too high.
    """

    def __init__(self, cell: "Cell"):
        twin, drive = cell.twin, cell.twin.drive
        assert drive is not None
        self._cell, self._drive, self.joints = cell, drive, tuple(drive.joints)
        model, width, count = twin.model, cell.width, len(drive.joints)
        numbers = [model.joint(ROBOT + joint).id for joint in self.joints]
        self.qpos, self._dofs = model.jnt_qposadr[numbers], model.jnt_dofadr[numbers]
        self.grippers = [index.number for index in twin.arms if index.arm.gripper.joints[0] in drive.joints]
        self._controls = np.array([*twin.arm_controls, *twin.gripper_controls[self.grippers]])
        kind = DRIVES[drive.kind]
        self._nominal = {variable.name: joint_values(drive, variable.name) for variable in kind.variables}
        self._values = {name: np.tile(values, (width, 1)) for name, values in self._nominal.items()}
        inputs = {name: np.tile(joint_values(drive, name), (width, 1)) for name in kind.inputs}
        self._servo = kind(self._values, inputs, np.zeros((width, count)))
        self._limit = {name: self._values[name].copy() for name in LIMITS if name in self._values}
        self._line = GoalLine(width, count, rate_hz=twin.control_hz, substeps=twin.substeps)
        engine = cell.engine
        self._position, self._velocity = engine.bind("qpos"), engine.bind("qvel")
        self._bias, self._applied = engine.bind("qfrc_bias"), engine.bind("qfrc_applied")
        self.effort_nm = np.zeros((width, count))

    @property
    def encoder_bias_rad(self) -> np.ndarray:
        return self._values["encoder_bias_rad"]

    def set_values(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        """Take the values of these episodes: drawn for the joint, drawn for all joints, or nominal.

        Call it after the rows of the table have been applied to the model's fields.
        """
        for name, nominal in self._nominal.items():
            column = PREFIX + name
            values = np.tile(nominal, (len(ids), 1))
            if column in draws.varied:
                values[:] = draws.values[column][rows][:, None]
            for place, joint in enumerate(self.joints):
                if f"{column}.{joint}" in draws.varied:
                    values[:, place] = draws.values[f"{column}.{joint}"][rows]
            if name == HELD:
                values[:] = NOTHING_HELD  # a twin has objects to close on
            self._values[name][ids] = values
        self._take_over(ids)
        self._write_armature(ids)

    def hold(self, ids: np.ndarray, held_rad: np.ndarray) -> None:
        """Close the jaws on something at this position, for logs whose objects are not known."""
        if HELD in self._values:
            self._values[HELD][ids] = held_rad

    def begin(self, ids: np.ndarray, goal_rad: np.ndarray) -> None:
        """Begin episodes whose encoders read the current positions and that were commanded `goal_rad` before."""
        self._line.fill(ids, goal_rad)
        self._servo.restart(ids, goal_rad)
        self._position[np.ix_(ids, self.qpos)] -= self.encoder_bias_rad[ids]
        self._applied[ids] = 0
        self.effort_nm[ids] = 0

    def _take_over(self, ids: np.ndarray) -> None:
        """Apply the changes of the engine's actuators to the servo, and switch these actuators off."""
        cell, model, values, controls = self._cell, self._cell.twin.model, self._values, self._controls
        cells = np.ix_(ids, controls)
        gain, bias = cell["actuator_gainprm"], cell["actuator_biasprm"]
        for name, now, nominal in (
            ("stiffness_nm_rad", gain[(*cells, 0)], model.actuator_gainprm[controls, 0]),
            ("braking_nms_rad", bias[(*cells, 2)], model.actuator_biasprm[controls, 2]),
        ):
            if name in values:
                values[name][ids] *= np.where(nominal == 0, 1.0, now / np.where(nominal == 0, 1.0, nominal))
        gain[cells], bias[cells] = 0, 0
        for name, field in (("coulomb_nm", "dof_frictionloss"), ("viscous_nms_rad", "dof_damping")):
            if cell.varies(field):
                values[name][ids] += cell[field][np.ix_(ids, self._dofs)] - getattr(model, field)[self._dofs]
        for name, limit in self._limit.items():
            limit[ids] = values[name][ids]

    def _write_armature(self, ids: np.ndarray) -> None:
        self._cell["dof_armature"][np.ix_(ids, self._dofs)] = self._values["armature_kgm2"][ids]

    def step(
        self, ids: np.ndarray | None, arm_rad: np.ndarray, opening: np.ndarray, *, before: Callable[[], None]
    ) -> None:
        """Simulate one control period with these commands. `before` is called before every physics step."""
        cell, twin, dofs = self._cell, self._cell.twin, self._dofs
        goal = np.column_stack([arm_rad, opening[:, self.grippers]]) if self.grippers else arm_rad
        self._line.put(goal)
        delay_s, step_s = self._delays_s(), float(twin.model.opt.timestep)
        friction, damping = cell["dof_frictionloss"], cell["dof_damping"]
        # Slots without an episode may hold a diverged state; their results are not used.
        with np.errstate(all="ignore"):
            self._weaken()
            for substep in range(twin.substeps):
                before()
                position, speed = self._position[:, self.qpos], self._velocity[:, dofs]
                push = self._servo.push(
                    self._line.at(substep, delay_s), np.ones(1), position, speed, self._bias[:, dofs], step_s
                )
                self._applied[:, dofs] = push.torque_nm
                friction[:, dofs], damping[:, dofs] = push.friction_nm, push.damping_nms_rad
                self.effort_nm = push.motor_nm - push.braking_nms_rad * speed
                cell.engine.step(ids, 1)

    def _delays_s(self) -> np.ndarray:
        delay_s = self._values["delay_ms"] / 1000
        if self._cell.varies("actuator_delay"):
            delay_s = delay_s + self._cell["actuator_delay"][:, self._controls]
        return delay_s

    def _weaken(self) -> None:
        """Scale the motors' limits as `motor_strength_scale` and `heat_fade_share` scale those of the engine."""
        if not self._cell.varies("actuator_forcerange"):
            return
        nominal = self._cell.twin.model.actuator_forcerange[self._controls, 1]
        now = self._cell["actuator_forcerange"][:, self._controls, 1]
        share = np.where(nominal == 0, 1.0, now / np.where(nominal == 0, 1.0, nominal))
        for name, limit in self._limit.items():
            self._values[name][:] = limit * share
