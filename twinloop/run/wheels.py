"""WheelsConfig: a run of a robot on wheels. It is a run config whose scene has a room instead of a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from twinloop.config.compound import Numbers
from twinloop.config.fields import integer, listed, named, number, numbers
from twinloop.config.record import json_schema, nested
from twinloop.config.section import Section
from twinloop.errors import UsageError
from twinloop.randomize.parameter import Morphology
from twinloop.run.config import RolloutConfig, RunConfig
from twinloop.run.mobile import MobileConfig, MobileScene, read_mobile
from twinloop.simulate.room_draw import FixedPlan
from twinloop.twin.mobile_task import GO_TO_GOAL, NAVIGATION_TASKS, MobileTask
from twinloop.twin.wheels import wheeled_robots
from twinloop.twin.wheels.diff_drive import DIFF_DRIVE
from twinloop.twin.wheels.floor_plan import MOST_FURNITURE, box_distance_m
from twinloop.twin.wheels.wheel_twin import WheelTwin, assemble_wheels
from twinloop.twin.wheels.wheeled_robot import WheeledRobot

ROLLOUT = RolloutConfig(parallel_envs=256, episodes_per_env=1, control_hz=10, timestep_ms=5.0)
PIECE = Numbers(count=5, low=-50, high=50, help="x, y, length, width in m and yaw in degrees, from the room's middle")


@dataclass(frozen=True)
class WheelsScene(MobileScene):
    """A robot on wheels in a room. The room, start and goal of each episode are drawn unless they are given here."""

    robot: WheeledRobot = named(wheeled_robots, DIFF_DRIVE, help="the robot")
    task: MobileTask = named(lambda: NAVIGATION_TASKS, GO_TO_GOAL, help="what it does")
    lidar_rays: int = integer(72, low=8, high=720, help="rays of the lidar, evenly all around")
    lidar_range_m: float = number(4.0, low=0.5, high=12, unit="m", help="distances above it are reported as this one")
    furniture: tuple[tuple[float, ...], ...] | None = listed(
        PIECE, None, most=MOST_FURNITURE, what="a piece of furniture", help="pieces of furniture that do not vary"
    )
    start: tuple[float, ...] | None = numbers(
        None, count=3, low=-360, high=360, unit="m; °", help="x, y and direction when an episode begins",
        otherwise="drawn",
    )  # fmt: skip
    goal_m: tuple[float, ...] | None = numbers(
        None, count=2, low=-50, high=50, unit="m", help="x and y of the goal", otherwise="drawn"
    )

    @property
    def moves_with(self) -> str:
        return "wheels"

    @property
    def fixed(self) -> FixedPlan:
        """The parts of rooms that do not vary."""
        furniture, start = self.furniture, self.start
        return FixedPlan(
            furniture=None if furniture is None else tuple((*piece[:4], np.deg2rad(piece[4])) for piece in furniture),
            start=None if start is None else (start[0], start[1], float(np.deg2rad(start[2]))),
            goal_m=self.goal_m,
        )

    def problems(self) -> Iterator[tuple[str, str]]:
        for place, piece in enumerate(self.furniture or ()):
            if min(piece[2:4]) <= 0:
                yield "furniture", f"piece {place} has a length or width of {min(piece[2:4]):g} m; give more than 0"
                return
            box = np.array([piece[0], piece[1], piece[2] / 2, piece[3] / 2, np.deg2rad(piece[4])])
            for key, point in (("goal_m", self.goal_m), ("start", self.start)):
                if point is None:
                    continue
                gap = float(box_distance_m(np.array([point[:2]]), box[None])[0, 0])
                if gap < self.robot.radius_m:
                    where = "is inside" if gap <= 0 else f"is {gap:.2g} m from"
                    yield (
                        key,
                        (
                            f"{list(point[:2])} {where} piece {place} of `furniture`; the {self.robot.name} needs "
                            f"{self.robot.radius_m:.2g} m around it. Move the {key.removesuffix('_m')} or the piece"
                        ),
                    )


@dataclass(frozen=True)
class WheelsConfig(MobileConfig):
    """One run of a robot on wheels, resolved. `load_config` makes one from a file whose robot has wheels."""

    morphology: ClassVar[Morphology] = "wheels"
    title: ClassVar[str] = "a robot on wheels"
    sections: ClassVar[tuple[str, ...]] = ("scene", "randomization", "rollout", "environment")

    scene: WheelsScene = nested(WheelsScene, help="robot, task and room")  # pyright: ignore
    rollout: RolloutConfig = nested(RolloutConfig, help="seed and clocks")


def read_wheels(root: Section) -> WheelsConfig:
    """Read the config of a robot on wheels."""
    return read_mobile(WheelsConfig, root, scene=WheelsScene, rollout=ROLLOUT)


@lru_cache(maxsize=4)
def _compiled(
    robot: WheeledRobot, rays: int, range_m: float, control_hz: int, timestep_s: float, delay_s: float, longest_s: float
) -> WheelTwin:
    return assemble_wheels(
        robot, rays=rays, range_m=range_m, control_hz=control_hz, timestep_s=timestep_s, longest_delay_s=delay_s,
        longest_s=longest_s,
    )  # fmt: skip


def wheel_twin_of(config: RunConfig) -> WheelTwin:
    """The twin that a config describes, compiled once per process."""
    if not isinstance(config, WheelsConfig):
        raise UsageError(f"scene.robot: {config.scene.robot.name} has no wheels; a robot on wheels was expected")
    scene, rollout = config.scene, config.rollout
    return _compiled(
        scene.robot, scene.lidar_rays, scene.lidar_range_m, rollout.control_hz, rollout.timestep_ms / 1000,
        config.longest_delay_s, scene.task.longest_s,
    )  # fmt: skip


def wheels_schema() -> dict[str, Any]:
    """JSON Schema of the config file of a robot on wheels."""
    return json_schema(WheelsConfig, title="Twinloop run config of a robot on wheels")
