"""Channels: which column of a log is which quantity of the model."""

from dataclasses import dataclass
from typing import Literal, get_args

import mujoco

from twinloop.calibrate.effort import QUANTITIES, EffortConfig, read_effort, unit_factor
from twinloop.calibrate.models import Knob
from twinloop.calibrate.places import named
from twinloop.config.section import Section

Of = Literal[
    "position", "velocity", "torque", "current", "place", "turn", "linear_velocity", "angular_velocity"
]  # fmt: skip
WIDTH: dict[str, int] = {"place": 3, "turn": 4, "linear_velocity": 3, "angular_velocity": 3}
"""Elements of a quantity; 1 for those that are not listed."""
DEFAULT_UNIT = {"torque": "N·m", "current": "A"}


@dataclass(frozen=True)
class ChannelMap:
    """A column, or some of its elements, as a quantity of the model: model = scale · logged + offset.

    Attributes:
        of: position, velocity, torque or motor current of a hinge or slide; place, turn (quaternion, w first), linear
            velocity or (in the body's frame) angular velocity of a free joint.
        joint: its joint; empty for a column that drives an actuator.
        unit: unit in the log, for output. The model has m, rad, s, N·m and A.
        compared: whether a replay compares it with the twin. A channel that is not compared only sets the beginning.
        effort: how a torque or current follows from the torque at the joint; None for other quantities.
        late_frames: how many frames before its stamp a logged linear velocity was true; 0.5 if the log computes it as
            the difference to the frame before. A body in free fall is faster at the stamp by this share of gravity.
    """

    name: str
    column: str
    elements: tuple[int | str, ...]
    joint: str
    actuator: str
    of: Of
    unit: str
    scale: float
    offset: float
    compared: bool
    effort: EffortConfig | None = None
    late_frames: float = 0.0


def read_channels(section: Section, model: mujoco.MjModel, knobs: dict[str, Knob]) -> tuple[ChannelMap, ...]:
    """The channels of one section. Adds the fit variables of torque and current channels to `knobs`."""
    channels = []
    for name in section:
        entry = section.section(name)
        channels.append(_read_channel(entry, name, model, knobs))
        entry.finish()
    section.finish()
    return tuple(channels)


def _read_channel(entry: Section, name: str, model: mujoco.MjModel, knobs: dict[str, Knob]) -> ChannelMap:
    of: Of = entry.one_of("of", "position", {word: word for word in get_args(Of)})
    joint, actuator = entry.text("joint", ""), entry.text("actuator", "")
    if joint:
        named(entry, "joint", model, "joint", joint)
    if actuator:
        named(entry, "actuator", model, "actuator", actuator)
    width = WIDTH.get(of, 1)
    elements = entry.raw("elements")
    if elements is None:
        elements = list(range(width))
    if not isinstance(elements, list) or len(elements) != width:
        raise entry.error("elements", f"is {elements!r}; {width} numbers or names were expected for {of}")
    unit = entry.text("unit", DEFAULT_UNIT.get(of, "rad"))
    scale, offset = entry.number("scale", 1.0, low=-1e9, high=1e9), entry.number("offset", 0.0, low=-1e9, high=1e9)
    if scale == 0:
        raise entry.error("scale", "is 0; a number other than 0 was expected")
    effort, late_frames = None, 0.0
    if of in QUANTITIES and not actuator:
        scale *= unit_factor(entry, of, unit)
        effort = read_effort(entry, name, of, joint, knobs)
    if of == "linear_velocity":
        late_frames = entry.number("late_frames", 0.0, low=0.0, high=100.0)
    return ChannelMap(
        name=name,
        column=entry.text("column", name),
        elements=tuple(elements),
        joint=joint,
        actuator=actuator,
        of=of,
        unit=unit,
        scale=scale,
        offset=offset,
        compared=entry.flag("compared", True),
        effort=effort,
        late_frames=late_frames,
    )
