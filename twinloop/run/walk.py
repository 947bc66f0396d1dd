"""WalkConfig: a run of a legged robot. It is a run config whose scene has a terrain instead of a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from twinloop.config.fields import integer, named, number, span, word
from twinloop.config.record import json_schema, nested
from twinloop.config.section import Section
from twinloop.errors import UsageError
from twinloop.randomize.parameter import Morphology
from twinloop.run.config import RolloutConfig, RunConfig
from twinloop.run.mobile import MobileConfig, MobileScene, read_mobile
from twinloop.twin.legs import legged_robots
from twinloop.twin.legs.legged_robot import LeggedRobot
from twinloop.twin.legs.quadruped import QUADRUPED
from twinloop.twin.legs.terrain import KINDS, make_terrain
from twinloop.twin.legs.walk_twin import WalkTwin, assemble_walk
from twinloop.twin.mobile_task import WALK, WALK_TASKS, MobileTask

ROLLOUT = RolloutConfig(parallel_envs=256, episodes_per_env=1, control_hz=50, timestep_ms=5.0)
START_ROOM_M = 0.02
"""The base may start this much lower than in the nominal pose."""


@dataclass(frozen=True)
class WalkScene(MobileScene):
    """A legged robot on a terrain."""

    robot: LeggedRobot = named(legged_robots, QUADRUPED, help="the robot")
    task: MobileTask = named(lambda: WALK_TASKS, WALK, help="what it does")
    terrain: str = word("flat", words=tuple(KINDS), help="the ground")
    terrain_seed: int = integer(0, low=0, high=2**31, help="the same seed gives the same ground")
    start_height_m: float | None = number(
        None, low=0, high=5, unit="m", help="height of the base above the ground when an episode begins",
        otherwise="that of the nominal pose",
    )  # fmt: skip

    @property
    def moves_with(self) -> str:
        return "legs"

    def problems(self) -> Iterator[tuple[str, str]]:
        lowest = self.robot.home_height_m - START_ROOM_M
        if self.start_height_m is not None and self.start_height_m < lowest:
            yield (
                "start_height_m",
                f"is {self.start_height_m:g}; the feet of the {self.robot.name} would start inside the ground. Its "
                f"nominal pose needs {self.robot.home_height_m:g} m: give more, or remove the key",
            )


@dataclass(frozen=True)
class CommandConfig:
    """Commanded velocities. A new command is drawn in every interval."""

    forward_m_s: tuple[float, float] = span(
        (-1.0, 1.0), low=-5, high=5, point=True, unit="m/s", help="range of forward speeds"
    )
    sideways_m_s: tuple[float, float] = span(
        (-0.5, 0.5), low=-5, high=5, point=True, unit="m/s", help="range of speeds to the left"
    )
    turn_rad_s: tuple[float, float] = span(
        (-1.0, 1.0), low=-10, high=10, point=True, unit="rad/s", help="range of turn rates"
    )
    interval_s: float = number(5.0, low=0.1, high=600, unit="s", help="time from command to command")
    standing_share: float = number(0.1, low=0, high=1, help="share of commands to stand still")


@dataclass(frozen=True)
class WalkConfig(MobileConfig):
    """One run of a legged robot, resolved. `load_config` makes one from a file whose robot has legs."""

    morphology: ClassVar[Morphology] = "legs"
    title: ClassVar[str] = "a legged robot"
    sections: ClassVar[tuple[str, ...]] = ("scene", "commands", "randomization", "rollout", "environment")

    scene: WalkScene = nested(WalkScene, help="robot, task and terrain")  # pyright: ignore
    rollout: RolloutConfig = nested(RolloutConfig, help="seed and clocks")
    commands: CommandConfig = nested(CommandConfig, help="velocities that the robot is asked for")


def read_walk(root: Section) -> WalkConfig:
    """Read the config of a legged robot."""
    return read_mobile(WalkConfig, root, scene=WalkScene, rollout=ROLLOUT, others={"commands": CommandConfig})


@lru_cache(maxsize=4)
def _compiled(
    robot: LeggedRobot,
    terrain: str,
    seed: int,
    control_hz: int,
    timestep_s: float,
    delay_s: float,
    longest_s: float,
    start_height_m: float | None,
) -> WalkTwin:
    return assemble_walk(
        robot, make_terrain(terrain, seed=seed), control_hz=control_hz, timestep_s=timestep_s, longest_delay_s=delay_s,
        longest_s=longest_s, start_height_m=start_height_m,
    )  # fmt: skip


def walk_twin_of(config: RunConfig) -> WalkTwin:
    """The twin that a config describes, compiled once per process."""
    if not isinstance(config, WalkConfig):
        raise UsageError(f"scene.robot: {config.scene.robot.name} has no legs; a legged robot was expected")
    scene, rollout = config.scene, config.rollout
    return _compiled(
        scene.robot, scene.terrain, scene.terrain_seed, rollout.control_hz, rollout.timestep_ms / 1000,
        config.longest_delay_s, scene.task.longest_s, scene.start_height_m,
    )  # fmt: skip


def walk_schema() -> dict[str, Any]:
    """JSON Schema of the config file of a legged robot."""
    return json_schema(WalkConfig, title="Twinloop run config of a legged robot")
