"""MobileConfig: a run of a robot that moves about. Its scene has a ground or a room instead of a table."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from twinloop.config.kinds import Text
from twinloop.config.record import read_record
from twinloop.config.section import Section
from twinloop.errors import UsageError
from twinloop.randomize.distribution import Distribution
from twinloop.randomize.draw import Sampler
from twinloop.randomize.parameter import Morphology
from twinloop.randomize.table import BY_NAME, rows_of_other_robots
from twinloop.run.config import UNDECISIVE, RolloutConfig, RunConfig
from twinloop.run.environment import EnvironmentConfig
from twinloop.run.randomization import RandomizationKind
from twinloop.twin.content import source_digest
from twinloop.twin.mobile_task import MobileTask
from twinloop.twin.task import Task

PATCH = "patch"
"""Key with the digest of the patch that a config was changed by."""


class MobileScene(ABC):
    """The common part of scenes of robots with legs or wheels. Subclasses are records with a robot and a task."""

    robot: Any
    task: MobileTask

    @property
    @abstractmethod
    def moves_with(self) -> str:
        """The robot's kind of motion in words, such as legs or wheels."""

    @property
    def world(self) -> Task:
        """A scene with a table and things, which this robot does not have."""
        raise UsageError(
            f"scene.robot: {self.robot.name} has {self.moves_with}; this command is for arms with a task on a table. "
            f"Configs of robots with {self.moves_with} are for `twinloop explain`, `reinforce`, `evaluate`, "
            "`generate`, `view` and `deploy --robot twin:CONFIG`, and for `tl.make_env`"
        )

    def of_tasks(self) -> dict[str, Self]:
        return {self.task.name: self}

    @property
    def is_single(self) -> bool:
        return True

    @property
    def tasks(self) -> dict[str, float]:
        return {}


@dataclass(frozen=True)
class MobileConfig(RunConfig):
    """One run of a robot that moves about, resolved.

    Attributes:
        morphology: selects the rows of the parameter table.
        title: such a robot, in words.
        sections: those of its config file.
    """

    morphology: ClassVar[Morphology]
    title: ClassVar[str]
    sections: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:
        scene: MobileScene  # pyright: ignore

    def resolved(self) -> dict[str, Any]:
        sections = super().resolved()
        return {name: sections[name] for name in (*self.sections, PATCH) if name in sections}

    @cached_property
    def by_task(self) -> dict[str, RunConfig]:
        return {self.scene.task.name: self}

    def sampler(self, randomization: Mapping[str, Distribution] | None = None, *, seed: int | None = None) -> Sampler:
        rows = self.randomization if randomization is None else randomization
        return Sampler(rows, seed=self.rollout.seed if seed is None else seed)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all settings that affect episodes, and of no others."""
        content = self.resolved()
        content.pop("environment", None)
        for path in UNDECISIVE:
            section, _, key = path.partition(".")
            content.get(section, {}).pop(key, None)
        content["robot"] = source_digest(self.scene.robot.build)
        content["parameters"] = source_digest(
            *(function for name in self.randomization for function in BY_NAME[name].functions)
        )
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def with_task(self, name: str) -> RunConfig:
        if name != self.scene.task.name:
            raise UsageError(
                f"--task: {name!r} was given; the task of {self.scene.robot.name} is {self.scene.task.name}"
            )
        return self

    def with_tasks(self, names: Iterable[str]) -> RunConfig:
        raise UsageError(f"--tasks: {', '.join(names)} were given; {self.scene.robot.name} has one task")

    def with_robot(self, name: str) -> RunConfig:
        raise UsageError(f"--robot: {name!r} was given; set scene.robot in the config, because rows and rooms differ")

    def without_randomization(self) -> Self:
        return replace(self, randomization={})

    @property
    def longest_delay_s(self) -> float:
        """Length of the delay lines of commands that the rows need."""
        rows = [(BY_NAME[name], distribution) for name, distribution in self.randomization.items()]
        delays = [row.delay_line_ms * distribution.support()[1] for row, distribution in rows if row.delay_line_ms]
        return sum(delays) / 1000


C = TypeVar("C", bound=MobileConfig)


def read_mobile(
    kind: type[C], root: Section, *, scene: type, rollout: RolloutConfig, others: Mapping[str, type] | None = None
) -> C:
    """Read the config of a robot that moves about.

    Args:
        scene: record of the section `scene`.
        rollout: defaults of the section `rollout`.
        others: section -> its record, of sections that only this kind of robot has.
    """
    for key in root:
        if key not in (*kind.sections, PATCH):
            raise root.error(key, f"is no section of {kind.title}'s config; it has {', '.join(kind.sections)}")
    scene_config = read_record(scene, root.section("scene"))
    rows = RandomizationKind(inapplicable=rows_of_other_robots(kind.morphology), robot=scene_config.robot)
    given: dict[str, Any] = {
        "scene": scene_config,
        "rollout": read_record(RolloutConfig, root.section("rollout"), base=rollout),
        "randomization": rows.read(root, "randomization") if "randomization" in root else {},
        **{name: read_record(record, root.section(name)) for name, record in (others or {}).items()},
    }
    if PATCH in root:
        given[PATCH] = Text(filled=True).read(root, PATCH)
    if "environment" in root:
        given["environment"] = read_record(EnvironmentConfig, root.section("environment"))
    return kind(**given)
