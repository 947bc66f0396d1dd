"""Parameter: one row of the parameter table. Every quantity that can vary is declared once, as such a record.

A row states what it needs of the model, how it acts, where it applies, how diagnosis perturbs it, what a rehearsal cell
may set, and how the docs show it. No other module knows its name. `randomize/hooks.py` describes how a row acts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from twinloop.randomize.hooks import OnBase, OnCommand, OnReading, OnStart, Rows
from twinloop.randomize.imaging import OnImage
from twinloop.randomize.uses import CellTruth, Condition, Picture
from twinloop.twin.robot import Robot

Gap = Literal["contact", "visual", "sensing", "object", "environment", "human", "actuation", "latency"]
GAPS: tuple[Gap, ...] = get_args(Gap)

Group = Literal["visual", "physics", "actuation", "latency", "sensing", "human", "environment"]
GROUPS: tuple[Group, ...] = get_args(Group)

Part = Literal[
    "rolling_friction", "off_centre_mass", "shapes", "two_materials", "soft_pads", "clutter", "distractors", "item",
    "bystander", "occluders",
]  # fmt: skip
"""A part of the model that a twin has only if a row of its config needs it."""

Presence = Literal[
    "cameras", "wrist", "touch", "person", "soft", "rigid", "one_part", "primitives", "hole", "no_hole", "roles",
    "products",
]  # fmt: skip
"""A property of a cell without which some rows have no effect: a sensor, a person in the task, a kind of object."""

Morphology = Literal["arm", "legs", "wheels"]
"""What a robot moves with. A row acts on robots of the kinds that it names."""
DRIVEN: tuple[Morphology, ...] = ("arm", "legs")
"""Robots with position-controlled joints."""
MOBILE: tuple[Morphology, ...] = ("legs", "wheels")
"""Robots with a free base."""
ALL_ROBOTS: tuple[Morphology, ...] = get_args(Morphology)


@dataclass(frozen=True)
class Parameter:
    """A quantity that a config may vary.

    name: the config key; its last word is the unit.
    gap: which of the eight sim-to-real gaps it belongs to.
    touches: what it changes, in words.
    nominal: the value of an episode that does not vary it, for each element.
    sensible: a range to start from, and `source` says why that range.
    most_for: the largest sensible value for a robot, where `sensible` is too much for a weaker one. None: any robot.
    scale_for: factor on `sensible` for a robot, where things are made smaller for its hand. None: 1 for any robot.
    plausible: beyond this a value is a mistake of unit or scale, and is refused.
    elements: () for a number; ("x", "y") for one number a direction, drawn independently.
    pool: the config gives a count N; an episode draws one of 0..N-1.
    words: what the numbers 0, 1, ... are called in a config: an episode draws one of them.
    beside: columns of other rows that `apply` is also told; they follow its own elements.
    early: applied before the rows that come before it in the table: it sets what they scale.
    of_thing: acts on one thing. In a scene of several things each draws its own value, and a config may give a range
        for one of them by its name: `red_cube.object_mass_kg`.
    of_joint: acts on one driven joint of the robot, with a nominal value of each joint. A config may give a range for
        one of them by its name: `elbow_flex.servo_coulomb_nm`.
    realistic: part of the preset `realistic`; not so where it would make another task of it.
    chance: the config gives a probability; an episode draws 1 with it, else 0. This one is a sensible probability,
        and `sensible` and `plausible` are those of what is drawn: 0 to 1.
    needs: the row without which this one does nothing.
    apply: (rows, ids, values) writes (n,) or (n, elements) values into the model fields of simulations
        `ids`, which hold the twin's own values before. None where the row acts in another way.
    on_command: changes commands on their way to the servos, in each control period.
    on_reading: adds errors to the sensors of an episode.
    on_image: changes the settings of an episode's images. It is not called for nominal values.
    on_start: changes where entities stand when an episode begins. It is not called for nominal values.
    on_base: changes the motion of a robot's free base, in each control period.
    builds: parts of the model that a twin has only if its config varies this row.
    delay_line_ms: how long the delay lines of the motors must be for a value of 1.
    robots: kinds of robots that the row acts on.
    only_with: the row has no effect in a cell that lacks one of these.
    always_with: a cell that has this varies the row over its sensible range, even if its config does not name it.
    lays_out: the row lays out a scene. Counterfactuals keep the config's range, so that their episodes differ.
    reach: how far hypotheses of diagnosis go, as a multiple of the distance from nominal to the end of `sensible`.
        0 where the row is no property of a cell: a setting of the physics engine, or what is asked for.
    scattered: a size whose direction is drawn in every episode, although it is constant on a robot. Fits leave it out:
        from such data a policy learns to infer the direction from its first readings, which fails on a robot.
    shown_by: what in a demonstration tells the row, if anything does (`calibrate/sensor_offsets.py`). "grasps": where
        the gripper closes on a thing, and where it is seen. "rest": what encoders read while commands rest.
    worsens: a row that may get worse when this one is low, on a robot but not in the twin: a camera-based tracker loses
        things in the dark. Diagnosis has a hypothesis with both.
    condition: what a lab would note down about an episode with a given value.
    truth: what a rehearsal cell may set; None where cells do not model it.
    picture: how the docs show the row's effect, where the usual way does not show it.

    Example:
        >>> def set_gravity_compensation(rows, ids, share):
        ...     rows["body_gravcomp"][ids] *= share[:, None]
        >>> row = tl.Parameter(
        ...     name="gravity_compensation_share", group="actuation", gap="actuation", unit="1",
        ...     touches="how much of its weight the arm carries", nominal=1.0, sensible=(0.9, 1.1),
        ...     source="mass errors of payloads", plausible=(0.0, 2.0), apply=set_gravity_compensation,
        ... )
        >>> row.columns
        ('gravity_compensation_share',)
    """

    name: str
    group: Group
    gap: Gap
    unit: str
    touches: str
    nominal: float
    sensible: tuple[float, float]
    source: str
    plausible: tuple[float, float]
    elements: tuple[str, ...] = ()
    pool: bool = False
    chance: float | None = None
    needs: str = ""
    apply: Callable[[Rows, np.ndarray, np.ndarray], None] | None = None
    words: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    early: bool = False
    of_thing: bool = False
    of_joint: bool = False
    realistic: bool = True
    on_command: OnCommand | None = None
    on_reading: OnReading | None = None
    on_image: OnImage | None = None
    on_start: OnStart | None = None
    on_base: OnBase | None = None
    builds: tuple[Part, ...] = ()
    delay_line_ms: float = 0.0
    robots: tuple[Morphology, ...] = ("arm",)
    only_with: tuple[Presence, ...] = ()
    always_with: Presence | None = None
    lays_out: bool = False
    reach: float = 1.6
    scattered: bool = False
    shown_by: Literal["", "grasps", "rest"] = ""
    worsens: str = ""
    condition: Condition | None = None
    truth: CellTruth | None = None
    picture: Picture | None = field(default=None, compare=False)
    most_for: Callable[[Robot], float] | None = None
    scale_for: Callable[[Robot], float] | None = None

    def sensible_for(self, robot: Robot | None) -> tuple[float, float]:
        """The sensible range for a robot."""
        low, high = self.sensible
        if robot is None:
            return low, high
        scale = 1.0 if self.scale_for is None else self.scale_for(robot)
        most = np.inf if self.most_for is None else self.most_for(robot)
        return scale * low, min(scale * high, most)

    @property
    def functions(self) -> tuple[Callable, ...]:
        """The functions that the row consists of. A config's digest covers those of other packages."""
        hooks = (self.apply, self.on_command and self.on_command.act, self.on_reading, self.on_image, self.on_start,
                 self.on_base)  # fmt: skip
        return tuple(function for function in hooks if function is not None)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the parameter's drawn values, as stored with each episode."""
        return tuple(f"{self.name}.{element}" for element in self.elements) or (self.name,)

    def columns_of(self, thing: str) -> tuple[str, ...]:
        """Names of the values that are drawn for another thing than the first: `object_yaw_deg.blue_cube`."""
        return tuple(f"{self.name}.{thing}.{element}" for element in self.elements) or (f"{self.name}.{thing}",)
