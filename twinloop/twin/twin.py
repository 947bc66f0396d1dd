"""Twin: a compiled cell, with indices into its arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import mujoco
import numpy as np

from twinloop.twin.control_rate import ControlRate
from twinloop.twin.entity import Fixture, Thing, state_names
from twinloop.twin.grasps import Grips
from twinloop.twin.language import filled
from twinloop.twin.objects import SceneObject
from twinloop.twin.robot import Robot, RobotArm
from twinloop.twin.robot_drive import RobotDrive
from twinloop.twin.scene import Start
from twinloop.twin.shapes import OWN, SHAPES, Forms, name_of, product_of
from twinloop.twin.soft import SoftIndex
from twinloop.twin.surroundings import Kind
from twinloop.twin.task import Task
from twinloop.twin.touch import TouchIndex

SPOKEN = ("task_choice", "instruction_choice", "object_shape")
"""Columns of a draw that decide the instruction of every task."""
NO_WORDS: Mapping[str, str] = {}


@dataclass(frozen=True)
class ThingIndex:
    """Indices of a thing. The body of a soft one is the frame that fits its corners; its geom is for images only.

    Attributes:
        geoms: all geoms of the thing.
        qpos, dof: first position and velocity of its free joint.
        columns: its pose in the environment state.
        grips: poses from which a gripper can close on it.
        forms: the shapes that an episode may draw.
        soft: indices of the corners of a soft thing.
    """

    thing: Thing
    body: int
    geoms: np.ndarray
    qpos: int
    dof: int
    columns: slice
    grips: Grips
    forms: Forms | None = None
    soft: SoftIndex | None = None

    @property
    def name(self) -> str:
        return self.thing.name

    @property
    def object(self) -> SceneObject:
        return self.thing.object

    @property
    def has_shapes(self) -> bool:
        """Whether an episode may draw its shape (row `object_shape`)."""
        return self.forms is not None and not self.object.pool


@dataclass(frozen=True)
class FixtureIndex:
    """Indices of a fixture.

    Attributes:
        mocap: row in the engine's array of mocap bodies.
        joint_qpos, joint_dof: position and velocity of its moving part; -1 if it has none.
        columns: pose, and then the joint's coordinate, in the environment state.
    """

    fixture: Fixture
    body: int
    mocap: int
    joint_qpos: int
    joint_dof: int
    columns: slice

    @property
    def name(self) -> str:
        return self.fixture.name


@dataclass(frozen=True)
class ArmIndex:
    """Indices of one arm.

    Attributes:
        number: its place among the arms of the robot.
        joints: (axes,) joints of the model.
        fingers: names of its two contact sensors.
        slides: places of its slide joints among its joints.
    """

    arm: RobotArm
    number: int
    joints: np.ndarray
    gripper_qpos: np.ndarray
    gripper_dofs: np.ndarray
    tool_site: int
    fingers: tuple[str, str]
    touch: TouchIndex | None = None
    slides: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.arm.name

    @property
    def columns(self) -> slice:
        """Its part of arrays over the joints of all arms."""
        return self.arm.joints

    @cached_property
    def joint_range(self) -> slice | np.ndarray:
        """`joints` as a slice, which selects without a copy, if they are consecutive."""
        first, last = int(self.joints[0]), int(self.joints[-1])
        return slice(first, last + 1) if np.array_equal(self.joints, np.arange(first, last + 1)) else self.joints


@dataclass(frozen=True)
class Twin(ControlRate):
    """A robot, a task and its entities on a table, compiled once and simulated many times.

    Index arrays refer to the model's joints, state and controls; sensor ranges refer to `sensordata`. Those that begin
    with `arm_` have the joints of all arms, one arm after the other. States and actions have these joints, and then the
    opening of each gripper.

    Attributes:
        arms: one record per arm.
        gripper_controls: one per arm.
        arm_filters: activations of actuators that filter their commands; -1 for actuators that do not.
        focus: the thing that rows of the parameter table act on. See `focused_on`.
        sites: frame of an entity -> site.
        drive: the servo law that is simulated, with the values of every driven joint; None for the position actuators
            of the model.
    """

    robot: Robot
    task: Task
    arm_joints: np.ndarray
    arm_qpos: np.ndarray
    arm_dofs: np.ndarray
    arm_controls: np.ndarray
    arm_filters: np.ndarray
    gripper_controls: np.ndarray
    arms: tuple[ArmIndex, ...]
    table_body: int
    things: tuple[ThingIndex, ...]
    fixtures: tuple[FixtureIndex, ...]
    sites: Mapping[str, int]
    clutter_mocaps: np.ndarray
    sensors: dict[str, slice]
    longest_delay_s: float = 0.0
    focus: int = 0
    layout: tuple[str, ...] = ()
    pad_geoms: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    surroundings: frozenset[Kind] = frozenset()
    drive: RobotDrive | None = None

    @property
    def arm_limits_rad(self) -> np.ndarray:
        """(joints, 2) lower and upper position limits."""
        return self.model.jnt_range[self.arm_joints]

    @property
    def joints(self) -> int:
        """Number of arm joints. The openings of the grippers come behind them in states and actions."""
        return len(self.arm_joints)

    @property
    def tool_site(self) -> int:
        """The tool of the first arm."""
        return self.arms[0].tool_site

    @property
    def has_wrist_sensors(self) -> bool:
        return self.arms[0].arm.named("force") in self.sensors

    @property
    def has_touch(self) -> bool:
        return self.arms[0].touch is not None

    def arm(self, name: str) -> ArmIndex:
        return next(index for index in self.arms if index.name == name)

    @property
    def has_person(self) -> bool:
        """True if there is a person that the robot may touch: the task's person or a bystander."""
        return bool(self.task.people) or "bystander" in self.surroundings

    @property
    def longest_ticks(self) -> int:
        return round(self.task.longest_s * self.control_hz)

    # The thing in focus. Rows of the parameter table and code for tasks with one thing read these.

    def focused_on(self, number: int) -> "Twin":
        """This twin with another thing in focus."""
        return self if number == self.focus else replace(self, focus=number)

    @property
    def object(self) -> SceneObject:
        return self.things[self.focus].object

    @property
    def object_body(self) -> int:
        return self.things[self.focus].body

    @property
    def object_geoms(self) -> np.ndarray:
        return self.things[self.focus].geoms

    @property
    def forms(self) -> Forms | None:
        return self.things[self.focus].forms

    @property
    def soft(self) -> SoftIndex | None:
        return self.things[self.focus].soft

    # The environment state.

    @cached_property
    def home_tools(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """(3,) position and (3, 3) axes of each arm's tool at home."""
        data = mujoco.MjData(self.model)
        data.qpos[self.arm_qpos] = self.robot.home_rad
        mujoco.mj_kinematics(self.model, data)
        sites = [index.tool_site for index in self.arms]
        return tuple((data.site_xpos[site].copy(), data.site_xmat[site].reshape(3, 3).copy()) for site in sites)

    @cached_property
    def shoulders_m(self) -> tuple[np.ndarray, ...]:
        """(3,) position of each arm's first joint."""
        data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, data)
        return tuple(data.xanchor[index.joints[0]].copy() for index in self.arms)

    @cached_property
    def travel_m(self) -> np.ndarray:
        """(2, 2) how far a mobile base goes from its start: lowest and highest x and y; 0 for an arm that stands."""
        ends = np.zeros((2, 2))
        for name, joint in zip(self.robot.arm_joints, self.arm_joints, strict=True):
            if name in self.robot.travels:
                reach = np.outer(self.model.jnt_range[joint], self.model.jnt_axis[joint, :2])
                ends += np.sort(reach, axis=0)
        return ends

    @cached_property
    def environment_names(self) -> tuple[str, ...]:
        """Names of the elements. In a run of several tasks it has the entities of all of them; absent ones are 0."""
        return self.layout or state_names(self.task.entities)

    @property
    def environment_size(self) -> int:
        return len(self.environment_names)

    def pose_columns(self, name: str) -> slice:
        """Columns of an entity's pose in the environment state."""
        start = self._index(name).columns.start
        return slice(start, start + 7)

    def _index(self, name: str) -> ThingIndex | FixtureIndex:
        return next(index for index in (*self.things, *self.fixtures) if index.name == name)

    def mocap(self, body: str) -> int:
        """Index of a body in the engine's array of mocap bodies."""
        return int(self.model.body_mocapid[self.model.body(body).id])

    def environment_at(self, start: Start) -> np.ndarray:
        """(n, elements) the environment state of n starts, followed by the corners of soft things."""
        count = len(next(iter(start.poses.values())))
        environment = np.zeros((count, self.environment_size))
        for index in (*self.things, *self.fixtures):
            environment[:, self.pose_columns(index.name)] = start.poses[index.name]
            if isinstance(index, FixtureIndex) and index.joint_qpos >= 0:
                environment[:, index.columns.stop - 1] = start.values[index.name]
        parts = [environment]
        for index in self.things:
            if index.soft is not None:
                nodes = index.soft.put(start.poses[index.name]) + index.soft.home_m
                parts.append(nodes.reshape(len(nodes), -1))
        return np.concatenate(parts, axis=1)

    def pose_robot(self, data: mujoco.MjData, position: np.ndarray) -> None:
        """Set the joints of all arms and grippers from one row of recorded states."""
        data.qpos[self.arm_qpos] = position[: self.joints]
        for index, opening in zip(self.arms, position[self.joints :], strict=True):
            data.qpos[index.gripper_qpos] = opening / len(index.gripper_qpos)

    def pose_scene(self, data: mujoco.MjData, environment: np.ndarray) -> None:
        """Set the poses of all entities from one row of recorded states; corners of a soft thing are last."""
        nodes = self.environment_size
        for index in self.things:
            pose = environment[index.columns]
            if index.soft is None:
                data.qpos[index.qpos : index.qpos + 7] = pose
                continue
            frame = int(self.model.body_mocapid[index.body])
            data.mocap_pos[frame], data.mocap_quat[frame] = pose[:3], pose[3:]
            size = index.soft.qpos.size
            corners = environment[nodes : nodes + size].reshape(-1, 3)
            data.qpos[index.soft.qpos] = corners - index.soft.home_m
            nodes += size
        for index in self.fixtures:
            state = environment[index.columns]
            data.mocap_pos[index.mocap], data.mocap_quat[index.mocap] = state[:3], state[3:7]
            if index.joint_qpos >= 0:
                data.qpos[index.joint_qpos] = state[7]

    # Language.

    def words_of(self, draw_shape: float, choice: int, products: Mapping[str, str] = NO_WORDS) -> dict[str, str]:
        """Slot -> words of an episode.

        Args:
            draw_shape: the drawn shape of the first thing.
            choice: which candidate plays each role.
            products: things of a pool -> name of the drawn product.
        """
        words = {**self._entity_words, **products}
        first = self.things[0]
        if first.has_shapes:
            words[first.name] = f"{first.thing.colour} {name_of(first.object, draw_shape)}".strip()
        for role in self.task.roles:
            words[role.name] = (role.words[choice] if role.words else "") or words[role.candidates[choice]]
        return words

    @property
    def spoken_columns(self) -> tuple[str, ...]:
        """Columns of a draw that decide the instruction."""
        pooled = [number for number, index in enumerate(self.things) if index.object.pool]
        return (*SPOKEN, *(f"product_mix.{self.things[number].name}" if number else "product_mix" for number in pooled))

    def _products(self, draw: Mapping[str, np.ndarray], row: int) -> dict[str, str]:
        """Things of a pool -> name of the product that an episode has drawn."""
        names = {}
        for number, index in enumerate(self.things):
            if index.object.pool:
                column = f"product_mix.{index.name}" if number else "product_mix"
                mix = np.array([draw[column][row] if column in draw else 0.0])
                names[index.name] = index.object.pool[int(product_of(index.object, mix)[0])].words
        return names

    @cached_property
    def _entity_words(self) -> dict[str, str]:
        """Entity -> words, without what an episode draws."""
        words = {thing.name: thing.words for thing in self.task.things}
        return words | {fixture.name: fixture.words or fixture.name.replace("_", " ") for fixture in self.task.fixtures}

    def spoken(self, draw: Mapping[str, np.ndarray]) -> list[tuple[str, dict[str, str]]]:
        """Instruction and words of the slots of each episode of a draw."""
        chosen = self.task.choices(draw["task_choice"])
        out = []
        choice = next(iter(chosen.values())) if chosen else np.zeros(len(draw["task_choice"]), int)
        for row, chance in enumerate(draw["instruction_choice"]):
            words = self.words_of(float(draw["object_shape"][row]), int(choice[row]), self._products(draw, row))
            out.append((filled(self.task.language.choose(float(chance)), words), words))
        return out

    @cached_property
    def subtasks(self) -> tuple[str, ...]:
        """The sub-tasks of all episodes in words, each once."""
        return tuple(dict.fromkeys(text for texts in self._subtask_texts.values() for text in texts))

    @cached_property
    def _subtask_texts(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """(which entities play the roles, drawn shape) -> the words of every phase."""
        choices = len(self.task.roles[0].candidates) if self.task.roles else 1
        shapes = range(OWN, len(SHAPES)) if self.things[0].has_shapes else (OWN,)
        texts = {}
        for choice in range(choices):
            for shape in shapes:
                words = self.words_of(float(shape), choice)
                texts[choice, shape] = tuple(filled(phase.words or phase.name, words) for phase in self.task.phases)
        return texts

    def subtask_numbers(self, draw: Mapping[str, np.ndarray]) -> np.ndarray:
        """(n, phases) index into `subtasks` of every phase of n episodes."""
        number = {text: place for place, text in enumerate(self.subtasks)}
        chosen = self.task.choices(draw["task_choice"])
        choice = next(iter(chosen.values())) if chosen else np.zeros(len(draw["task_choice"]), int)
        shaped = self.things[0].has_shapes
        shape = np.round(draw["object_shape"]).astype(int) if shaped else np.full(len(choice), OWN)
        pairs = zip(choice.tolist(), shape.tolist(), strict=True)
        return np.array([[number[text] for text in self._subtask_texts[pair]] for pair in pairs])

    @property
    def instruction(self) -> str:
        """The canonical instruction, with the first candidate of every role."""
        return filled(self.task.language.canonical, self.words_of(-1.0, 0))
