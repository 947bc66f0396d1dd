"""LerobotConfig: a lerobot robot with the units and limits of its joints, read from a YAML file.

Limits have no defaults. The word `hardware` states that the hardware enforces a limit itself; the safety filter then
does not apply it.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twinloop.config.compound import Keyed, Listed, OneOf, Span
from twinloop.config.fields import internal, mapped, number, of_kind, span, text, texts
from twinloop.config.kinds import Alias, AnyValue, Number, Text
from twinloop.config.record import Nested, by_name, nested, read_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import read_yaml
from twinloop.deploy.lerobot.units import DeviceUnit
from twinloop.errors import nearest

HARDWARE = "hardware"
ALSO = {"velocity": "observation.velocity", "effort": "observation.effort"}
HUMAN = "human"
MAX_JOINTS = 64


@dataclass(frozen=True)
class DeviceConfig:
    """A lerobot device. `where` is the position of `config` in the YAML file, for error messages."""

    type: str = text(filled=True, help="lerobot's name, e.g. so101_follower, or module:Class of the same interface")
    config: dict[str, Any] = mapped(AnyValue(), what="setting", most=None, help="settings of the device, for lerobot")
    where: str = internal("")


@dataclass(frozen=True, kw_only=True)
class DeviceFeature(DeviceUnit):
    """A number that a device reports under a key."""

    key: str = text("", help="lerobot's key", otherwise="the joint's name and .pos, .velocity or .effort")


def _limit(what: str) -> Any:
    kinds = (Number(low=0, above=True, unit="of `unit` and seconds"), Alias(word=HARDWARE, value=math.inf))
    return OneOf(kinds=kinds, help=f"limit of the {what}, or that the hardware enforces it; there is no default")


@dataclass(frozen=True, kw_only=True)
class Joint(DeviceFeature):
    """One joint, with limits and home position in our unit. Limits are infinite where the hardware enforces them."""

    name: str = internal()
    position: tuple[float, float] = span(help="limits of the position; there is no default")
    velocity: float = of_kind(_limit("speed"))
    acceleration: float = of_kind(_limit("acceleration"))
    effort: float = of_kind(_limit("effort, as the robot measures it"))
    home: float = number(help="position at the start of an episode")
    also: dict[str, DeviceFeature] = of_kind(
        Keyed(
            kinds={what: Nested(record=DeviceFeature, help=f"the {what} of the joint") for what in ALSO},
            help="what else the robot reports of its joints",
        ),
        default_factory=dict,
    )

    def __post_init__(self) -> None:
        also = {what: replace(feature, key=feature.key or f"{self.name}.{what}") for what, feature in self.also.items()}
        object.__setattr__(self, "also", also)
        object.__setattr__(self, "key", self.key or f"{self.name}.pos")

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from super().problems()
        low, high = self.position
        if not low <= self.home <= high:
            yield "home", f"is {self.home:g}; it must be within the limits of the position, {low:g} to {high:g}"


@dataclass(frozen=True, kw_only=True)
class LerobotConfig:
    """A lerobot robot, its teleoperator and its task, read from `file`."""

    file: Path = internal()
    model: str = text(filled=True, help="name of this robot model in datasets and checkpoints, e.g. so101")
    serial: str = text(
        "", help="serial number of this robot, for the decisions of the gate", otherwise="the robot's id"
    )
    firmware: str = text("", help="firmware of motors and controller; a change ends the decisions of the gate")
    twin: str = text("", help="run config of the twin of this cell; a policy must have been evaluated there")
    rate_hz: float = number(low=1, high=1000, unit="Hz", help="control rate")
    robot: DeviceConfig = nested(DeviceConfig, help="the robot")
    teleoperator: DeviceConfig | None = nested(DeviceConfig, optional=True, help="the device of the demonstrator")
    joints: tuple[Joint, ...] = by_name(
        Joint, named="name", least=1, most=MAX_JOINTS, what="joint", help="joints in the order of state and action"
    )
    workspace_m: tuple[tuple[float, float], ...] = of_kind(
        OneOf(
            kinds=(
                Listed(item=Span(), least=3, most=3, what="range"),
                Alias(word=HARDWARE, value=((-math.inf, math.inf),) * 3),
            ),
            unit="m",
            help="limits of the tool about the base, [[x low, x high], [y ...], [z ...]], or `hardware` if nothing "
            "within its reach can be hit; there is no default",
        )
    )
    instruction: str = text(filled=True, help="the task in words")
    conditions: dict[str, str] = mapped(Text(), what="condition", help="conditions to record with every episode")
    outcome: str = text(
        HUMAN,
        pattern=rf"{HUMAN}|[A-Za-z_][\w.]*:[A-Za-z_]\w*",
        form=f"the word {HUMAN}, or module:function",
        help="who judges an episode: a person at the terminal, or a function of the robot's observation that returns "
        "True, False or None",
    )
    episode_s: float = number(60.0, low=0.1, high=3600, unit="s", help="timeout of a demonstration")
    homing_s: float = number(3.0, low=0.1, high=60, unit="s", help="minimum duration of the motion to home")
    ignored: tuple[str, ...] = texts((), help="keys that the robot reports and that are not recorded")

    def problems(self) -> Iterator[tuple[str, str]]:
        for what in ALSO:
            having = [joint.name for joint in self.joints if what in joint.also]
            for joint in self.joints:
                if having and what not in joint.also:
                    problem = f"has no also.{what}, and {having[0]} has; all of them or none were expected"
                    yield f"joints.{joint.name}", problem


def read_lerobot(path: Path) -> LerobotConfig:
    root = Section(str(path), "", *read_yaml(path))
    config = read_record(LerobotConfig, root, given={"file": path})
    leader = config.teleoperator
    return replace(
        config,
        robot=replace(config.robot, where=root.where("robot.config")),
        teleoperator=leader and replace(leader, where=root.where("teleoperator.config")),
    )


def mapped_keys(config: LerobotConfig) -> set[str]:
    """Return all keys of the robot's observation that the file names, without images."""
    joints = {joint.key for joint in config.joints}
    also = {feature.key for joint in config.joints for feature in joint.also.values()}
    return joints | also | set(config.ignored)


def unmapped(config: LerobotConfig, available: Mapping[str, Any]) -> str | None:
    """Return the first mismatch between the file and the robot's observation features, or None if they agree."""
    plain = {key for key, kind in available.items() if not isinstance(kind, tuple)}
    for key in sorted(mapped_keys(config) - set(available)):
        return f"the robot has no observation {key}; {nearest(key, available)}"
    for key in sorted(plain - mapped_keys(config)):
        return f"no joint has the key of the observation {key}; add a joint with this key, or list it under `ignored`"
    return None
