"""Channels: which column of a log is which quantity of the model."""

from dataclasses import dataclass

import mujoco

from twinloop.calibrate.bench_file import EFFORT_UNITS, WIDTH, ChannelFile, Of, Refusal
from twinloop.calibrate.effort import EffortConfig, effort_config
from twinloop.calibrate.places import check_name
from twinloop.simulate.drives import FitVariable

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


def channel_map(
    file: ChannelFile, model: mujoco.MjModel, variables: dict[str, FitVariable], refuse: Refusal
) -> ChannelMap:  # fmt: skip
    """The channel of one entry of a bench file. A torque or current channel adds its fit variables to `variables`."""
    if file.joint:
        check_name(model, "joint", file.joint, "joint", refuse)
    if file.actuator:
        check_name(model, "actuator", file.actuator, "actuator", refuse)
    unit = file.unit or DEFAULT_UNIT.get(file.of, "rad")
    scale = 1.0 if file.scale is None else file.scale
    if file.is_effort:
        scale *= EFFORT_UNITS[file.of].get(unit, 1.0)
    return ChannelMap(
        name=file.name,
        column=file.column or file.name,
        elements=tuple(range(WIDTH.get(file.of, 1))) if file.elements is None else file.elements,
        joint=file.joint,
        actuator=file.actuator,
        of=file.of,
        unit=unit,
        scale=scale,
        offset=file.offset,
        compared=file.compared,
        effort=effort_config(file, variables, refuse) if file.is_effort else None,
        late_frames=file.late_frames or 0.0,
    )
