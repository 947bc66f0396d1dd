"""Bounds: a robot's limits for the safety filter, checked and optionally narrowed.

A limit that is missing or NaN is an error. Options may only narrow the limits; wider limits need a change in the
description of the robot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from twinloop.config.section import Section, is_number
from twinloop.config.yaml_file import read_yaml
from twinloop.deploy.robot import Description
from twinloop.errors import RobotError, UsageError, nearest

FORCE_N = 140.0
"""Force at the wrist sensor above which the robot backs off: the limit of ISO/TS 15066 for pressing a hand."""

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Bounds:
    """Limits with one row per element of the action.

    Units are those of the action, per second (velocity) and per second squared (acceleration). Position limits are
    finite. The other limits are infinite where the robot enforces them itself.

    Attributes:
        names: names of the action's elements.
        workspace_m: (3, 2) low and high of x, y, z of the tool.
        force_n: limit of the force at the wrist, for robots with a wrist sensor.
    """

    names: tuple[str, ...]
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    workspace_m: np.ndarray
    force_n: float = FORCE_N


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
            raise RobotError(f"{about.id}: limits.{kind}: that of {which} is not a number; without it nothing is sent")
        arrays[kind] = values
    if len(names) != count:
        raise RobotError(f"{about.id}: the action has {count} elements and {len(names)} names")
    _refuse(about.id, "position", names, ~np.isfinite(arrays["position"]).all(axis=1), "must be finite")
    for kind, labels in (("position", names), ("workspace_m", AXES)):
        low, high = arrays[kind].T
        _refuse(about.id, kind, labels, low >= high, "must be from a lower to a higher value")
    for kind in ("velocity", "acceleration", "effort"):
        _refuse(about.id, kind, names, arrays[kind] <= 0, "must be more than 0")
    if not 0 < about.rate_hz < np.inf:
        raise RobotError(f"{about.id}: rate_hz is {about.rate_hz}; it must be more than 0")
    return Bounds(names, **arrays)


def _refuse(robot: str, kind: str, labels: tuple[str, ...], wrong: np.ndarray, why: str) -> None:
    if wrong.any():
        raise RobotError(f"{robot}: limits.{kind}: that of {labels[int(np.argmax(wrong))]} {why}")


def slowed(bounds: Bounds, speed: float) -> Bounds:
    """Return the bounds with velocity and acceleration multiplied by `speed`, which must be in (0, 1]."""
    if not 0 < speed <= 1:
        raise UsageError(f"--speed: {speed:g} was given; more than 0 and at most 1: options may only narrow the limits")
    return replace(bounds, velocity=bounds.velocity * speed, acceleration=bounds.acceleration * speed)


def narrowed(bounds: Bounds, path: Path) -> Bounds:
    """Return the bounds narrowed by a limits file. An example file:

    position: {joint4: [-2.5, -0.5]}
    velocity: {joint1: 1.0}             # acceleration, effort: alike
    workspace_m: {z: [0.02, 0.5]}
    force_n: 60
    """
    values, lines = read_yaml(path)
    root = Section(str(path), "", values, lines)
    found: dict[str, np.ndarray | float] = {}
    for kind in ("position", "workspace_m"):
        labels = AXES if kind == "workspace_m" else bounds.names
        found[kind] = _spans(root.section(kind), getattr(bounds, kind), labels)
    for kind in ("velocity", "acceleration", "effort"):
        found[kind] = _sizes(root.section(kind), getattr(bounds, kind), bounds.names)
    found["force_n"] = _size(root, "force_n", bounds.force_n) if "force_n" in root else bounds.force_n
    root.finish()
    return replace(bounds, **found)  # type: ignore[arg-type]


def _spans(section: Section, now: np.ndarray, labels: tuple[str, ...]) -> np.ndarray:
    out = now.copy()
    for row, label in _given(section, labels).items():
        value = section.raw(label)
        if not isinstance(value, list) or len(value) != 2 or not all(map(is_number, value)) or value[0] >= value[1]:
            raise section.error(label, f"is {value!r}; [low, high] was expected")
        if value[0] < now[row, 0] or value[1] > now[row, 1]:
            raise section.error(label, f"is {value!r}; {_only_narrower(f'{now[row, 0]:g} to {now[row, 1]:g}')}")
        out[row] = value
    return out


def _sizes(section: Section, now: np.ndarray, labels: tuple[str, ...]) -> np.ndarray:
    out = now.copy()
    for row, label in _given(section, labels).items():
        out[row] = _size(section, label, float(now[row]))
    return out


def _size(section: Section, key: str, now: float) -> float:
    value = section.raw(key)
    if not is_number(value) or not value > 0:
        raise section.error(key, f"is {value!r}; a number above 0 was expected")
    if value > now:
        raise section.error(key, f"is {value!r}; {_only_narrower(f'{now:g} at most')}")
    return float(value)


def _only_narrower(allowed: str) -> str:
    return f"the robot allows {allowed}, and a limits file may only narrow that"


def _given(section: Section, labels: tuple[str, ...]) -> Mapping[int, str]:
    for key in section:
        if key not in labels:
            raise section.error(key, f"is not known here; {nearest(key, labels)}")
    return {row: label for row, label in enumerate(labels) if label in section}
