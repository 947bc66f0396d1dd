"""Cell: a batch of simulations of one twin. Each slot runs one episode; actors read its state as arrays."""

from copy import copy

import mujoco
import numpy as np
from mujoco.batch import Batch

from twinloop.randomize.draw import Draws
from twinloop.randomize.hand_path import COLUMNS as HAND_COLUMNS
from twinloop.randomize.hand_path import hand_poses, is_there
from twinloop.randomize.physics import RECOMPUTED
from twinloop.randomize.start import clutter_places, standing, start_of
from twinloop.randomize.table import APPLIED
from twinloop.simulate.arm_view import arm_views
from twinloop.simulate.batched import point_jacobian
from twinloop.simulate.cpu_engine import CpuEngine
from twinloop.simulate.engine import Engine
from twinloop.simulate.scene_state import SceneState
from twinloop.simulate.servo_drive import ServoDrive
from twinloop.simulate.view import View
from twinloop.twin import bystander
from twinloop.twin.rotation import length
from twinloop.twin.scene import Start
from twinloop.twin.shapes import drawn_form, half_extents_m, row_columns
from twinloop.twin.soft import fitted
from twinloop.twin.twin import ArmIndex, ThingIndex, Twin

UNTOUCHED_M = 0.1
"""A thing is not moved by `object_shift_cm` if the tool is closer to it than this."""


class RowsOfThing:
    """The model fields of a cell, for rows of the parameter table that act on one of its things."""

    def __init__(self, cell: "Cell", number: int):
        self._cell, self.twin = cell, cell.twin.focused_on(number)

    def __getitem__(self, field: str) -> np.ndarray:
        return self._cell[field]


class Cell(SceneState):
    """`width` simulations of one twin.

    Every attribute is an array with one row per slot. `admit` and `step` update them. Positions are in the world
    frame. Rows of slots without an episode keep their last values.

    Args:
        threads: threads of the default engine.
        engine: steps the physics and has the same width; by default MuJoCo on the CPU.
    """

    def __init__(self, twin: Twin, *, width: int, threads: int = 1, engine: Engine | None = None):
        super().__init__(twin, width=width)
        self.engine = engine or CpuEngine(twin.model, width=width, threads=threads)
        self.engine.read_forces_every(twin.substeps)
        self._fields: dict[str, np.ndarray] = {}
        bind = self.engine.bind
        self.time_s = bind("time")
        self._qpos, self._qvel, self._ctrl = bind("qpos"), bind("qvel"), bind("ctrl")
        self._act = bind("act")
        self._sensors, self._forces = bind("sensordata"), bind("actuator_force")
        self._mocap_pos, self._mocap_quat = bind("mocap_pos"), bind("mocap_quat")
        self._anchors, self._hinges = bind("xanchor"), bind("xaxis")
        self._site_pos, self._site_axes = bind("site_xpos"), bind("site_xmat")
        self.tool_position, self.tool_axes = self.site_position(twin.tool_site), self.site_axes(twin.tool_site)
        self._fingers = [name for index in twin.arms for name in index.fingers]
        grippers = [index.arm.gripper for index in twin.arms]
        self._closed, self._closed_control = (
            np.array([getattr(gripper, name) for gripper in grippers]) for name in ("closed", "closed_control")
        )
        self._control_slope = np.array([gripper.control_slope for gripper in grippers])
        self._people = [name for name in twin.sensors if name.startswith(("bystander", "person"))]
        self._bind_entities()
        self.table_height_m = np.zeros(width)
        self.tool_lag_m = np.zeros(width)  # the tool is where it is
        # One arm sees the cell itself, which needs no reference: a cycle would keep the engine alive for longer.
        self._arms: tuple[View, ...] = arm_views(self) if len(twin.arms) > 1 else ()
        self._drawn: dict[str, np.ndarray] = {}
        self._paths = {index.mocap: index.fixture.path for index in twin.fixtures if index.fixture.path is not None}
        self._history = _history_at_home(twin)
        self._delayed = bool(twin.model.actuator_history[:, 0].any())
        self._bystander = twin.mocap(bystander.NAME) if "bystander" in twin.surroundings else None
        self._to_be_moved, self._massless = np.zeros(width, bool), np.zeros(width, bool)
        self.servo = ServoDrive(self) if twin.drive is not None else None
        self._look()

    def _bind_entities(self) -> None:
        for index in self.twin.things:
            if index.soft is None:
                self._position[index.name] = self._qpos[:, index.qpos : index.qpos + 3]
                self._quat[index.name] = self._qpos[:, index.qpos + 3 : index.qpos + 7]
                self._velocity[index.name] = self._qvel[:, index.dof : index.dof + 3]
        for index in self.twin.fixtures:
            self._position[index.name] = self._mocap_pos[:, index.mocap]
            self._quat[index.name] = self._mocap_quat[:, index.mocap]
            if index.joint_qpos >= 0:
                self._value[index.name] = self._qpos[:, index.joint_qpos]

    @property
    def arms(self) -> tuple[View, ...]:
        return self._arms or super().arms

    def site_position(self, site: int) -> np.ndarray:
        """(width, 3) a live view."""
        return self._site_pos[:, site]

    def site_axes(self, site: int) -> np.ndarray:
        """(width, 3, 3) a live view of the axes, as columns."""
        return self._site_axes[:, site].reshape(self.width, 3, 3)

    def _frame_position(self, name: str) -> np.ndarray:
        return self.site_position(self.twin.sites[name])

    def _frame_axes(self, name: str) -> np.ndarray:
        return self.site_axes(self.twin.sites[name])

    def __getitem__(self, field: str) -> np.ndarray:
        """The (width, ...) values of a model field. After the first access each slot has its own values."""
        if field not in self._fields:
            self._fields[field] = self.engine.expand(field)
        return self._fields[field]

    def varies(self, field: str) -> bool:
        """Whether the values of a model field may differ between slots."""
        return field in self._fields

    @property
    def batch(self) -> Batch:
        """The batch of the CPU engine, for code that needs more than the attributes of a cell."""
        assert isinstance(self.engine, CpuEngine)
        return self.engine.batch

    @property
    def failed(self) -> np.ndarray:
        """(width,) slots in which the engine has raised or warned."""
        return self.engine.failed() | self._massless

    def admit(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        """Begin episodes `rows` of `draws` in slots `ids`."""
        twin = self.twin
        self.engine.reset(ids)
        self._restore(ids)
        values = {column: array[rows] for column, array in draws.values.items()}
        self._apply(ids, draws, rows)
        moved = twin.soft is None and "object_shift_probability" in draws.varied
        self._to_be_moved[ids] = moved and values["object_shift_probability"] > 0.5
        if self._paths or self._bystander is not None or moved:
            for column, array in values.items():
                # Slots that never had an episode get valid values too, because zeros may be invalid.
                self._drawn.setdefault(column, np.full(self.width, array[0]))[ids] = array
        start = start_of(twin, values, len(ids))
        self._qpos[np.ix_(ids, twin.arm_qpos)] = twin.robot.home_rad
        for index in twin.arms:
            self._qpos[np.ix_(ids, index.gripper_qpos)] = index.arm.gripper.open / len(index.gripper_qpos)
        self._place(ids, start, values)
        if len(twin.clutter_mocaps):
            self._mocap_pos[np.ix_(ids, twin.clutter_mocaps)] = clutter_places(values, start)
        if twin.surroundings:
            for body, places in standing(values, start, twin.object, twin.surroundings).items():
                self._mocap_pos[ids, twin.mocap(body)] = places
        if self._bystander is not None:
            self._place_bystander(ids)
        if self.servo is not None:
            self.servo.set_values(ids, draws, rows)
            self.servo.begin(ids, self._qpos[np.ix_(ids, self.servo.qpos)])
        self._ctrl[np.ix_(ids, twin.arm_controls)] = twin.robot.home_rad
        filtered = twin.arm_filters >= 0
        self._act[np.ix_(ids, twin.arm_filters[filtered])] = np.array(twin.robot.home_rad)[filtered]
        self._ctrl[np.ix_(ids, twin.gripper_controls)] = [arm.gripper.open_control for arm in twin.robot.arms]
        if self._delayed:
            self.engine.bind("history")[ids] = self._history
        self.table_height_m[ids] = values["table_height_cm"] / 100
        for role, chosen in twin.task.choices(values["task_choice"]).items():
            self._chosen[role][ids] = chosen
        self._massless[ids] = False
        if "body_mass" in self._fields:
            # The engine does not check masses at run time, and it divides by them.
            massless = ~(self["body_mass"][ids] > mujoco.mjMINVAL) & (twin.model.body_mass > mujoco.mjMINVAL)
            self._massless[ids] = massless.any(axis=1)
        if not RECOMPUTED.isdisjoint(self._fields):
            self.engine.set_const(ids)
        self.engine.forward(ids)
        self._look()

    def _apply(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        """Write the drawn values of all rows into the model fields. Rows of things act on each thing by itself."""
        for parameter in APPLIED:
            if parameter.apply is None:
                continue
            if parameter.columns[0] in draws.varied:
                parameter.apply(self, ids, draws.elements(parameter)[rows])
            if not parameter.of_thing:
                continue
            for number, index in enumerate(self.twin.things[1:], start=1):
                if parameter.columns_of(index.name)[0] in draws.varied:
                    values = draws.elements(parameter, thing=index.name)[rows]
                    parameter.apply(RowsOfThing(self, number), ids, values)

    def _place(self, ids: np.ndarray, start: Start, values: dict[str, np.ndarray]) -> None:
        """Put all entities where the episodes begin."""
        for number, index in enumerate(self.twin.things):
            pose = start.poses[index.name]
            if index.soft is None:
                self._qpos[ids, index.qpos : index.qpos + 7] = pose
            else:
                self._qpos[ids[:, None, None], index.soft.qpos] = index.soft.put(pose)
            drawn = row_columns(values, "" if number == 0 else index.name, len(ids))
            self._half_extents_m[index.name][ids] = half_extents_m(index.object, drawn)
            if index.forms is not None:
                self._form[index.name][ids] = drawn_form(index.object, drawn)
        for index in self.twin.fixtures:
            pose = start.poses[index.name]
            self._mocap_pos[ids, index.mocap], self._mocap_quat[ids, index.mocap] = pose[:, :3], pose[:, 3:]
            if index.joint_qpos >= 0:
                self._qpos[ids, index.joint_qpos] = start.values.get(index.name, 0.0)

    def _restore(self, ids: np.ndarray) -> None:
        for field, values in self._fields.items():
            source = self.twin.model.opt if field.startswith("opt.") else self.twin.model
            values[ids] = getattr(source, field.removeprefix("opt."))

    def model_of(self, slot: int) -> mujoco.MjModel:
        """A copy of the twin's model with the values that the episode in this slot has drawn."""
        model = copy(self.twin.model)
        for field, values in self._fields.items():
            owner = model.opt if field.startswith("opt.") else model
            name = field.removeprefix("opt.")
            # Assignment works for numbers and for arrays.
            setattr(owner, name, values[slot])
        return model

    def step(self, ids: np.ndarray | None, arm_rad: np.ndarray, opening: np.ndarray) -> None:
        """Simulate one control period with these commands in slots `ids` (None: all).

        Args:
            arm_rad: (width, joints of all arms).
            opening: (width, arms).
        """
        twin = self.twin
        self._ctrl[:, twin.arm_controls] = arm_rad
        self._ctrl[:, twin.gripper_controls] = self._closed_control + (opening - self._closed) * self._control_slope
        for mocap, path in self._paths.items():
            poses = path(self._drawn, self.time_s)
            self._mocap_pos[:, mocap], self._mocap_quat[:, mocap] = poses[:, :3], poses[:, 3:]
        if self._to_be_moved.any():
            self._move_objects()
        if self.servo is not None:
            self.servo.step(ids, arm_rad, opening, before=self._place_bystanders)
        elif self._bystander is None:
            self.engine.step(ids, twin.substeps)
        else:
            self._step_beside_people(np.arange(self.width) if ids is None else ids)
        self._look()

    def _move_objects(self) -> None:
        """Move the first thing once at the drawn time, unless the tool is already close to it."""
        first = self.twin.things[0]
        due = np.flatnonzero(self._to_be_moved & (self.time_s >= self._drawn["object_shift_at_s"]))
        self._to_be_moved[due] = False
        apart = [length(self.position(first.name)[due] - arm.tool_position[due]) for arm in self.arms]
        ids = due[np.min(apart, axis=0) > UNTOUCHED_M]
        if len(ids):
            shift_cm = np.column_stack([self._drawn[f"object_shift_cm.{axis}"][ids] for axis in "xy"])
            self._qpos[ids, first.qpos : first.qpos + 2] += shift_cm / 100
            self.engine.forward(ids)

    def _step_beside_people(self, ids: np.ndarray) -> None:
        """Step the physics; where there is a bystander, move the hand before every physics step.

        A hand that moved once per control period could jump into the robot and cause very large contact forces.
        """
        visited = is_there(self._drawn)[ids]
        alone, beside = ids[~visited], ids[visited]
        if len(alone):
            self.engine.step(alone, self.twin.substeps)
        for _ in range(self.twin.substeps if len(beside) else 0):
            self._place_bystander(beside)
            self.engine.step(beside, 1)

    def _place_bystanders(self) -> None:
        if self._bystander is not None:
            self._place_bystander(np.flatnonzero(is_there(self._drawn)))

    def _place_bystander(self, ids: np.ndarray) -> None:
        # Only these slots: in the others the hand stays where it was in their last step.
        poses = hand_poses({name: self._drawn[name][ids] for name in HAND_COLUMNS}, self.time_s[ids])
        self._mocap_pos[ids, self._bystander], self._mocap_quat[ids, self._bystander] = poses[:, :3], poses[:, 3:]

    def diverged(self, expected_time_s: np.ndarray) -> np.ndarray:
        """(width,) slots whose physics is invalid: the engine warned or raised, or time did not advance."""
        stalled = np.abs(self.time_s - expected_time_s) > self.twin.model.opt.timestep / 2
        return stalled | self.failed

    def jacobian(self) -> np.ndarray:
        """(6, joints, width) Jacobian of the first tool in the world frame: linear rows, then angular rows."""
        return self.jacobian_of(self.twin.arms[0])

    def jacobian_of(self, index: ArmIndex) -> np.ndarray:
        """(6, joints, width) Jacobian of the tool of one arm."""
        joints, tool = index.joint_range, self._site_pos[:, index.tool_site]
        return point_jacobian(self._hinges[:, joints], self._anchors[:, joints], tool, index.slides)

    def _look(self) -> None:
        """Compute the quantities that actors, checks and recordings read, once per control period."""
        twin, sensors = self.twin, self._sensors
        self.arm_position_rad = self._qpos[:, twin.arm_qpos]
        self.arm_velocity_rad_s = self._qvel[:, twin.arm_dofs]
        self.arm_effort_nm = self._forces[:, twin.arm_controls]
        self.opening = _sums(self._qpos, [index.gripper_qpos for index in twin.arms])
        self.opening_velocity = _sums(self._qvel, [index.gripper_dofs for index in twin.arms])
        self.gripper_effort_n = self._forces[:, twin.gripper_controls]
        if self.servo is not None:
            self.arm_effort_nm = self.servo.effort_nm[:, : twin.joints]
            if self.servo.grippers:
                self.gripper_effort_n[:, self.servo.grippers] = self.servo.effort_nm[:, twin.joints :]
        self.finger_force_n = np.empty((self.width, len(self._fingers)))
        for number, name in enumerate(self._fingers):
            self.finger_force_n[:, number] = length(sensors[:, twin.sensors[name]])
        self.support_force_n = length(sensors[:, twin.sensors["support"]])
        self.hardest_contact_n = length(sensors[:, twin.sensors["hardest"]])
        self.penetration_m = np.maximum(-sensors[:, twin.sensors["deepest"].start], 0)
        self._changed()
        for index in twin.things:
            if index.soft is not None:
                self._fit(index)
        if twin.has_person:
            self.person_force_n = np.max([length(sensors[:, twin.sensors[name]]) for name in self._people], axis=0)
        if self._bystander is not None:
            here = np.concatenate([self._mocap_pos[:, self._bystander], self._mocap_quat[:, self._bystander]], axis=1)
            apart = [bystander.distance_m(here, arm.tool_position) for arm in self.arms]
            self.bystander_distance_m = np.min(apart, axis=0)
        if twin.has_wrist_sensors:
            self.wrench = _columns(sensors, twin, ("force", "torque"))
            self.inertial = _columns(sensors, twin, ("acceleration", "turn_rate"))
        if twin.has_touch:
            felt = [
                index.touch.read(sensors, arm.tool_position, arm.tool_axes)
                for index, arm in zip(twin.arms, self.arms, strict=True)
                if index.touch is not None
            ]
            self.touch_n = np.concatenate(felt, axis=1)

    def _fit(self, index: ThingIndex) -> None:
        """Set the pose of a soft thing to the best fit to its corners."""
        soft = index.soft
        assert soft is not None
        self.nodes = soft.nodes(self._qpos)
        self._position[index.name], self._quat[index.name] = fitted(self.nodes, soft.rest_m)
        self._velocity[index.name] = self._qvel[:, soft.dofs].mean(axis=1)

    def environment(self) -> np.ndarray:
        """(width, elements) the state of all entities, as recorded."""
        out = np.zeros((self.width, self.twin.environment_size))
        for index in (*self.twin.things, *self.twin.fixtures):
            first, last = index.columns.start, index.columns.stop
            out[:, first : first + 3], out[:, first + 3 : first + 7] = (
                self._position[index.name],
                self._quat[index.name],
            )
            if index.name in self._value:
                out[:, last - 1] = self._value[index.name]
        return out

    def thing_velocities(self) -> np.ndarray:
        """(width, 3 times the number of things)."""
        return np.concatenate([self._velocity[index.name] for index in self.twin.things], axis=1)


def _columns(sensors: np.ndarray, twin: Twin, names: tuple[str, ...]) -> np.ndarray:
    """(width, elements) these sensors of every arm."""
    return np.concatenate(
        [sensors[:, twin.sensors[index.arm.named(name)]] for index in twin.arms for name in names], axis=1
    )


def _sums(values: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    """(width, parts) sums over the columns of each part."""
    out = np.empty((len(values), len(parts)))
    for number, columns in enumerate(parts):
        out[:, number] = values[:, columns].sum(axis=1)
    return out


def _history_at_home(twin: Twin) -> np.ndarray:
    """Delay lines filled with the commands that hold the arm at home. By default the engine fills them with zeros."""
    data = mujoco.MjData(twin.model)
    home = {
        **dict(zip(twin.arm_controls, twin.robot.home_rad, strict=True)),
        **{
            control: arm.gripper.open_control
            for control, arm in zip(twin.gripper_controls, twin.robot.arms, strict=True)
        },
    }
    for actuator, control in home.items():
        samples = int(twin.model.actuator_history[actuator, 0])
        if samples:
            mujoco.mj_initCtrlHistory(twin.model, data, int(actuator), None, np.full(samples, control))
    return data.history.copy()
