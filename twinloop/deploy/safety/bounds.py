"""Bounds: a robot's limits for the safety filter, checked and optionally narrowed.

A limit that is missing or NaN is an error. Options may only narrow the limits; wider limits need a change in the
description of the robot.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from twinloop.config.compound import Keyed, Mapped, Span
from twinloop.config.fields import mapped, number, of_kind
from twinloop.config.kinds import Number
from twinloop.config.record import read_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import read_yaml
from twinloop.deploy.robot import Description
from twinloop.errors import RobotError, UsageError, nearest
from twinloop.gate.stage_limits import StageLimits

FORCE_N = 140.0
"""Force at the wrist sensor above which the robot backs off: the limit of ISO/TS 15066 for pressing a hand."""

AXES = ("x", "y", "z")
ONLY_NARROWER = "; a limits file may only narrow it"


@dataclass(frozen=True)
class Bounds:
    """Limits with one row per element of the action.

    Units are those of the action, per second (velocity) and per second squared (acceleration). Position limits are
    finite. The other limits are infinite where the robot enforces them itself.

    Attributes:
        names: names of the action's elements.
        workspace_m: (3, 2) low and high of x, y, z of the tool.
        force_n: limit of the force at the wrist, for robots with a wrist sensor.
        of_speeds: commands are speeds, so that `position` limits speeds and `velocity` their change.
        speed: share of the speed that a robot with a free base is asked for.
    """

    names: tuple[str, ...]
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    workspace_m: np.ndarray
    force_n: float = FORCE_N
    of_speeds: bool = False
    speed: float = 1.0


def _sizes(what: str) -> Mapped:
    return Mapped(item=Number(low=0, above=True), what="joint", help=f"largest {what} of a joint, in its unit")


@dataclass(frozen=True)
class LimitsFile:
    """The content of a limits file. Limits may only be narrower than those of the robot."""

    position: dict[str, tuple[float, float]] = mapped(Span(), what="joint", help="limits of a joint's position")
    velocity: dict[str, float] = of_kind(_sizes("speed"), default_factory=dict)
    acceleration: dict[str, float] = of_kind(_sizes("acceleration"), default_factory=dict)
    effort: dict[str, float] = of_kind(_sizes("effort"), default_factory=dict)
    workspace_m: dict[str, tuple[float, float]] = of_kind(
        Keyed(kinds={axis: Span(unit="m") for axis in AXES}, help="limits of the tool"), default_factory=dict
    )
    force_n: float | None = number(None, low=0, above=True, unit="N", help="limit of the force at the wrist")


def bounds_of(about: Description) -> Bounds:
    """Return the bounds of a robot's description. Raise RobotError if a limit is missing or invalid."""
    limits, names = about.limits, about.joints
    count = about.action.shape[0]
    shapes = {"position": (count, 2), "velocity": (count,), "acceleration": (count,), "effort": (count,)}
    arrays = {}
    for kind, shape in {**shapes, "workspace_m": (3, 2)}.items():
        values = np.asarray(getattr(limits, kind), float)
        if values.shape != shape:
            raise RobotError(f"{about.id}: limits.{kind} has shape {values.shape}; {shape} was expected")
        if np.isnan(values).any():
            which = (AXES if kind == "workspace_m" else names)[int(np.argwhere(np.isnan(values))[0][0])]
            raise RobotError(f"{about.id}: limits.{kind} of {which} is missing; without it no command is sent")
        arrays[kind] = values
    if len(names) != count:
        raise RobotError(f"{about.id}: the action has {count} elements and {len(names)} names")
    _refuse(about.id, "position", names, ~np.isfinite(arrays["position"]).all(axis=1), "must be finite")
    for kind, labels in (("position", names), ("workspace_m", AXES)):
        low, high = arrays[kind].T
        _refuse(about.id, kind, labels, low >= high, "must be [low, high] with low < high")
    for kind in ("velocity", "acceleration", "effort"):
        _refuse(about.id, kind, names, arrays[kind] <= 0, "must be more than 0")
    if not 0 < about.rate_hz < np.inf:
        raise RobotError(f"{about.id}: rate_hz is {about.rate_hz}; it must be more than 0")
    return Bounds(names, **arrays, of_speeds=about.commands == "speeds")


def _refuse(robot: str, kind: str, labels: tuple[str, ...], wrong: np.ndarray, why: str) -> None:
    if wrong.any():
        raise RobotError(f"{robot}: limits.{kind} of {labels[int(np.argmax(wrong))]} {why}")


def slowed(bounds: Bounds, speed: float) -> Bounds:
    """Return the bounds with velocity and acceleration multiplied by `speed`, which must be in (0, 1].

    For a robot that is commanded speeds, the limits of its commands are multiplied. The speed that a robot with legs is
    asked for is multiplied too.
    """
    if not 0 < speed <= 1:
        raise UsageError(
            f"--speed: {speed:g} was given; a number above 0 and at most 1 was expected, because options "
            "may only narrow the limits"
        )
    bounds = replace(bounds, speed=bounds.speed * speed)
    if bounds.of_speeds:
        return replace(bounds, position=bounds.position * speed)
    return replace(bounds, velocity=bounds.velocity * speed, acceleration=bounds.acceleration * speed)


def permitted(bounds: Bounds, limits: StageLimits) -> Bounds:
    """Return the bounds narrowed to what a decision of the gate allows."""
    bounds = slowed(bounds, limits.speed)
    low, high = bounds.workspace_m.T
    workspace_m = np.column_stack([low + limits.margin_m, high - limits.margin_m])
    if np.any(workspace_m[:, 0] >= workspace_m[:, 1]):
        axis = AXES[int(np.argmax(workspace_m[:, 0] >= workspace_m[:, 1]))]
        raise RobotError(
            f"limits.workspace_m of {axis}: nothing is left of it with the margin of {limits.margin_m:g} m that the "
            "decision of the gate demands (canary.margin_m of the rules)"
        )
    return replace(bounds, workspace_m=workspace_m, force_n=min(bounds.force_n, limits.force_n))


def narrowed(bounds: Bounds, path: Path) -> Bounds:
    """Return the bounds narrowed by a limits file. An example file:

    position: {joint4: [-2.5, -0.5]}
    velocity: {joint1: 1.0}             # acceleration, effort: alike
    workspace_m: {z: [0.02, 0.5]}
    force_n: 60
    """
    root = Section(str(path), "", *read_yaml(path))
    file = read_record(LimitsFile, root)
    limits = {}
    for key in ("position", "workspace_m", "velocity", "acceleration", "effort"):
        limits[key] = getattr(bounds, key).copy()
        labels = AXES if key == "workspace_m" else bounds.names
        for label, value in getattr(file, key).items():
            if label not in labels:
                raise root.error(f"{key}.{label}", f"is unknown; {nearest(label, labels)}")
            row = limits[key][labels.index(label)]
            low, high = row if np.ndim(row) else (0.0, row)
            allowed = f"{low:g} to {high:g}" if np.ndim(row) else f"{high:g} at most"
            if np.min(value) < low or np.max(value) > high:
                raise root.error(f"{key}.{label}", f"is {value}; the robot allows {allowed}{ONLY_NARROWER}")
            limits[key][labels.index(label)] = value
    force_n = bounds.force_n if file.force_n is None else file.force_n
    if force_n > bounds.force_n:
        raise root.error("force_n", f"is {force_n:g}; the robot allows {bounds.force_n:g} at most{ONLY_NARROWER}")
    return replace(bounds, force_n=force_n, **limits)
