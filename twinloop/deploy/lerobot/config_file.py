"""LerobotConfig: a lerobot robot with the units and limits of its joints, read from a YAML file.

Limits have no defaults. The word `hardware` states that the hardware enforces a limit itself; the safety filter then
does not apply it.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twinloop.config.section import Section, is_number
from twinloop.config.yaml_file import read_yaml
from twinloop.deploy.lerobot.units import LinearUnit, read_line
from twinloop.errors import nearest

HARDWARE = "hardware"
ALSO = {"velocity": "observation.velocity", "effort": "observation.effort"}
HUMAN = "human"
MAX_JOINTS = 64


@dataclass(frozen=True)
class DeviceConfig:
    """A lerobot device.

    Attributes:
        type: lerobot's name of the device, or `module:Class` with the same interface.
        config: the settings of the device.
        where: position in the YAML file, for error messages.
    """

    type: str
    config: Mapping[str, Any]
    where: str


@dataclass(frozen=True)
class DeviceFeature:
    """A number that a device reports under a key, and its conversion to our unit."""

    key: str
    line: LinearUnit


@dataclass(frozen=True)
class Joint:
    """One joint.

    Attributes:
        told: the feature with the joint's position.
        position, velocity, acceleration, effort: limits in our unit; infinite where the hardware enforces them.
        home: position at the start of an episode, in our unit.
        also: `velocity`, `effort` -> the feature that reports it.
    """

    name: str
    told: DeviceFeature
    position: tuple[float, float]
    velocity: float
    acceleration: float
    effort: float
    home: float
    also: Mapping[str, DeviceFeature] = field(default_factory=dict)


@dataclass(frozen=True)
class LerobotConfig:
    """A lerobot robot, its teleoperator and its task.

    Attributes:
        model: name of this robot model in datasets and checkpoints.
        conditions: conditions to record with every episode.
        outcome: who judges an episode: `human` (at the terminal), or `module:function`, which is called with the
            robot's observation and returns True, False or None.
        episode_s: timeout of a demonstration.
        homing_s: minimum duration of the motion to the home position.
        ignored: keys that the robot reports and that are not recorded.
    """

    file: Path
    model: str
    rate_hz: float
    robot: DeviceConfig
    teleoperator: DeviceConfig | None
    joints: tuple[Joint, ...]
    workspace_m: tuple[tuple[float, float], ...]
    instruction: str
    conditions: Mapping[str, str]
    outcome: str
    episode_s: float
    homing_s: float
    ignored: tuple[str, ...]


def read_lerobot(path: Path) -> LerobotConfig:
    root = Section(str(path), "", *read_yaml(path))
    config = LerobotConfig(
        file=path,
        model=_needed_text(root, "model", "what datasets and checkpoints call this kind of robot, e.g. so101"),
        rate_hz=_needed_number(root, "rate_hz", 1, 1000),
        robot=_device(root, "robot"),
        teleoperator=_device(root, "teleoperator") if "teleoperator" in root else None,
        joints=_joints(root.section("joints")),
        workspace_m=_workspace(root),
        instruction=_needed_text(root, "instruction", "the task in words"),
        conditions=_conditions(root.section("conditions")),
        outcome=_outcome(root),
        episode_s=root.number("episode_s", 60.0, low=0.1, high=3600),
        homing_s=root.number("homing_s", 3.0, low=0.1, high=60),
        ignored=root.texts("ignored") if "ignored" in root else (),
    )
    root.finish()
    return config


def _device(root: Section, key: str) -> DeviceConfig:
    section = root.section(key)
    kind = _needed_text(section, "type", "lerobot's name, e.g. so101_follower, or module:Class of the same interface")
    config = section.raw("config")
    if config is not None and not isinstance(config, dict):
        raise section.error("config", f"is {config!r}; a mapping, as lerobot takes it, was expected")
    section.finish()
    return DeviceConfig(kind, config or {}, section.where("config"))


def _joints(section: Section) -> tuple[Joint, ...]:
    names = list(section)
    if not 1 <= len(names) <= MAX_JOINTS:
        raise section.error("", f"has {len(names)} joints; from 1 to {MAX_JOINTS} were expected, by name, in order")
    joints = tuple(_joint(name, section.section(name)) for name in names)
    for what in ALSO:
        told = [joint.name for joint in joints if what in joint.also]
        if told and len(told) < len(joints):
            missing = next(joint.name for joint in joints if what not in joint.also)
            raise section.error(missing, f"has no also.{what}, and {told[0]} has; all of them or none were expected")
    return joints


def _joint(name: str, section: Section) -> Joint:
    told = DeviceFeature(section.text("key", f"{name}.pos"), read_line(section))
    position = section.raw("position")
    if not _is_span(position):
        what = "is missing" if "position" not in section else f"is {position!r}"
        raise section.error("position", f"{what}; [low, high] in {told.line.unit} was expected: there is no default")
    also = section.section("also")
    found = {what: _also(also.section(what), f"{name}.{what}") for what in ALSO if what in also}
    for what in ALSO:
        also.raw(what)
    also.finish()
    low, high = map(float, position)
    joint = Joint(
        name=name,
        told=told,
        position=(low, high),
        **{kind: _limit(section, kind, told.line.unit) for kind in ("velocity", "acceleration", "effort")},
        home=_needed_number(section, "home", low, high),
        also=found,
    )
    section.finish()
    return joint


def _also(section: Section, default: str) -> DeviceFeature:
    told = DeviceFeature(section.text("key", default), read_line(section))
    section.finish()
    return told


def _limit(section: Section, key: str, unit: str) -> float:
    value = section.raw(key)
    if value == HARDWARE:
        return math.inf
    if not is_number(value) or not 0 < value < math.inf:
        what = "is missing" if key not in section else f"is {value!r}"
        raise section.error(
            key, f"{what}; a number above 0 (of {unit} and seconds; effort as the robot measures it) was expected, or "
            f"the word {HARDWARE} where the hardware sees to it itself: there is no default"
        )  # fmt: skip
    return float(value)


def _workspace(root: Section) -> tuple[tuple[float, float], ...]:
    value = root.raw("workspace_m")
    if value == HARDWARE:
        return ((-math.inf, math.inf),) * 3
    if not isinstance(value, list) or len(value) != 3 or not all(map(_is_span, value)):
        what = "is missing" if "workspace_m" not in root else f"is {value!r}"
        raise root.error(
            "workspace_m", f"{what}; [[x low, x high], [y ...], [z ...]] of the tool about the base was expected, or "
            f"the word {HARDWARE} where nothing it can reach may be hit: there is no default"
        )  # fmt: skip
    return tuple((float(low), float(high)) for low, high in value)


def _conditions(section: Section) -> dict[str, str]:
    return {name: section.text(name, "") for name in section}


def _outcome(root: Section) -> str:
    word = root.text("outcome", HUMAN)
    if word != HUMAN and not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", word):
        raise root.error("outcome", f"is {word!r}; the word {HUMAN} was expected, or module:function")
    return word


def _is_span(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value)) and value[0] < value[1]


def _needed_text(section: Section, key: str, what: str) -> str:
    value = section.text(key, "")
    if not value:
        raise section.error(key, f"is missing; {what}")
    return value


def _needed_number(section: Section, key: str, low: float, high: float) -> float:
    if key not in section:
        raise section.error(key, f"is missing; a number from {low:g} to {high:g} was expected")
    return section.number(key, low, low=low, high=high)


def told_keys(config: LerobotConfig) -> set[str]:
    """Return all keys of the robot's observation that the file names, without images."""
    joints = {joint.told.key for joint in config.joints}
    also = {told.key for joint in config.joints for told in joint.also.values()}
    return joints | also | set(config.ignored)


def unmapped(config: LerobotConfig, told: Mapping[str, Any]) -> str | None:
    """Return the first mismatch between the file and the robot's observation features, or None if they agree."""
    plain = {key for key, kind in told.items() if not isinstance(kind, tuple)}
    for key in sorted(told_keys(config) - set(told)):
        return f"no {key} is told by the robot; {nearest(key, told)}"
    for key in sorted(plain - told_keys(config)):
        return f"the robot tells {key}, and no joint has it as its key; add it, or put it under `ignored`"
    return None
