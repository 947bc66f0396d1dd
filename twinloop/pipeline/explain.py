"""Explain: what a config varies, and what a run of it costs, before it runs."""

import math
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twinloop.curate.verdict import TASK_FAILED
from twinloop.dataset import describe
from twinloop.pipeline.generate import generate, width_of
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.randomization import written_row
from twinloop.twin.tasks.pick_and_place import OBJECT_XY_M

PROBE_EPISODES = 32

FAILURE_HINTS = {
    "never_reached": "The tool does not reach the object. Check `home`, `tool_frame` and `mount_m` of the robot",
    "never_grasped": "The fingers do not hold the object. Check `tool_frame` (z out of the hand, fingers along y), "
    "`gripper.fingers`, and that the gripper opens wider than the object",
    "dropped_in_lift": "The object slips out of the fingers. Raise `gripper.gain_scale` of the robot, or check the "
    "friction of its pads",
    "dropped_in_transfer": "The object slips out of the fingers. Raise `gripper.gain_scale` of the robot, or check the "
    "friction of its pads",
    "timeout": "Episodes take too long. Check `velocity_limits_rad_s` of the robot and `curate.longest_s`",
}
VERDICT_HINTS = {
    "velocity_limit": "Joints are faster than their limits. Check `velocity_limits_rad_s` of the robot, or raise "
    "`curate.velocity_share`",
    "torque_limit": "Joints need more torque than their limits. Check the actuators' forcerange, or raise "
    "`curate.torque_share`",
    "joint_limit": "Joints leave their range. Check `home` and the ranges of the model",
    "deep_penetration": "Bodies overlap. Check the collision geoms of the hand, or raise `curate.penetration_mm`",
    "hard_contact": "Contacts are too hard. Check the collision geoms of hand and fingers",
    "object_jump": "The object is knocked away. Check `tool_frame` and the collision geoms of the hand",
    "diverged": "The simulation is unstable. Check masses and actuator gains, or set a smaller `rollout.timestep_ms`",
    "left_workspace": "The object leaves the table. Check `tool_frame` and the randomized object positions",
    "too_long": "Episodes take too long. Check `velocity_limits_rad_s` of the robot and `curate.longest_s`",
}


@dataclass(frozen=True)
class Varied:
    """One randomized row of the parameter table, for display."""

    name: str
    distribution: Any
    unit: str
    gap: str
    touches: str


@dataclass(frozen=True)
class CostEstimate:
    """Estimated cost of a run, from a probe of a few episodes on this machine.

    Attributes:
        accepted_share: share of the probe's episodes that were accepted.
        rejected: verdict -> number of rejected episodes of the probe, most frequent first.
        failures: how episodes failed -> how many, most frequent first.
        hint: what to do about the most frequent failure; "" where at least half of the episodes were accepted.
    """

    seconds: float
    disk_bytes: int
    frames: int
    accepted_share: float
    rejected: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    hint: str = ""


def varied(config: RunConfig) -> list[Varied]:
    rows = []
    for name, distribution in config.randomization.items():
        row = BY_NAME[name]
        rows.append(Varied(name, written_row(row, distribution), row.unit, row.gap, row.touches))
    return rows


def in_flight(config: RunConfig, workers: int | None = None) -> int:
    workers = workers or os.cpu_count() or 1
    return workers * width_of(config, workers)


def estimate(config: RunConfig, episodes: int, workers: int | None = None) -> CostEstimate:
    """Generate a few episodes into a temporary folder and extrapolate to `episodes`."""
    workers = workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="twinloop-probe-") as folder:
        out = Path(folder) / "probe"
        probe = generate(config, out, episodes=min(PROBE_EPISODES, episodes), workers=1)
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        content = describe(out)
    share = episodes / probe.progress.attempted
    accepted_share = probe.progress.accepted / probe.progress.attempted
    rejected, failures = _most_frequent(content["episodes"]["rejected"]), _most_frequent(content["failures"])
    return CostEstimate(
        seconds=probe.progress.seconds * share / workers,
        disk_bytes=round(size * share),
        frames=round(probe.progress.frames * share),
        accepted_share=accepted_share,
        rejected=rejected,
        failures=failures,
        hint=hint_for(config, rejected, failures) if accepted_share < 0.5 else "",
    )


def _most_frequent(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0])))


def hint_for(config: RunConfig, rejected: dict[str, int], failures: dict[str, int]) -> str:
    """What to do about the most frequent reason of rejection; "" where nothing can be said."""
    verdict = next(iter(rejected), "")
    failure = next(iter(failures), "")
    hint = FAILURE_HINTS.get(failure, "") if verdict == TASK_FAILED else VERDICT_HINTS.get(verdict, "")
    robot = config.scene.robot
    distance_m = math.dist(robot.mount_m[:2], OBJECT_XY_M)
    if verdict == TASK_FAILED and distance_m > robot.reach_m:
        place = f"The object lies {distance_m:.2f} m from the base and {robot.name} reaches {robot.reach_m:.2f} m"
        return f"{place}. Set `mount_m` of the robot nearer to it"
    if verdict == TASK_FAILED and robot.mapping is None and hint:
        return f"Every attempt fails alike ({failure}). Look at one: twinloop episode CONFIG 0"
    return hint
