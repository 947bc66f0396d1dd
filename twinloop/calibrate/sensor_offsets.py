"""Constant errors of the tracker and the encoders, from demonstrations.

Whoever demonstrates sees the things themselves and closes the gripper on one. Where the task grasps it is known from
demonstrations in the twin; what remains between the tool and the tracked place is the offset of the tracker. The tool
is where the commands put it: at that moment the arm stands still. Encoders show their offsets while the command rests:
what they read beyond it, compared with the twin.

Measured in three cells of another engine that were used while working, with 10 demonstrations and 4 to 6 mm of noise:
the tracker's offset was found with errors of 1.2, 1.4 and 1.2 mm (of 8 mm). Trials of a policy that does not grasp tell
nothing of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.calibrate.by_discriminator import TraitSimulator, real_episodes
from twinloop.diagnose.traits import EpisodeTrace
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of

FEWEST_GRASPS = 5
SIMULATED = 64
SEEN_FRAMES = 15
"""Tracked poses up to the closing that are averaged. Earlier, somebody may have moved the thing."""
CLOSING_FRAMES = 3
RESTING = 0.3
"""Share of the frames, those with the slowest commands, in which encoders are compared with commands."""
ENGINES_MM = 1.0
"""How far grasps differ between a twin and a robot: arms sag, fingers close unevenly."""


@dataclass(frozen=True)
class SensorOffsets:
    """Constant errors of sensors.

    Attributes:
        tracker_mm, tracker_std_mm: (2,) how far the tracker's frame is off the robot's, and the standard deviation.
        encoder_mrad: joint -> how far its encoder reads too high.
    """

    tracker_mm: np.ndarray
    tracker_std_mm: np.ndarray
    encoder_mrad: dict[str, float]

    def samples(self, count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Column of the draws -> (count,) samples."""
        places = self.tracker_mm + self.tracker_std_mm * rng.standard_normal((count, 2))
        tracker, encoder = (_row_shown_by(what) for what in ("grasps", "rest"))
        return dict(zip(BY_NAME[tracker].columns, places.T, strict=True)) | {
            f"{encoder}.{joint}": np.full(count, mrad) for joint, mrad in self.encoder_mrad.items()
        }


def _row_shown_by(what: str) -> str:
    (name,) = (name for name, row in BY_NAME.items() if row.shown_by == what)
    return name


def sensor_offsets(config: RunConfig, demonstrations: Sequence[Path], *, seed: int) -> SensorOffsets | None:
    """Estimate the offsets; None if too few demonstrations grasp a tracked thing.

    Args:
        config: the twin, with sensors that are not off.
        demonstrations: runlogs of demonstrations by somebody who sees the scene.
    """
    if not demonstrations:
        return None
    simulator = TraitSimulator(config, {}, None, seed=seed)
    read, _ = real_episodes(config, demonstrations, None, fewest=1)
    real, simulated = read(simulator.arm), simulator.traces(SIMULATED)
    grasps = [_grasps(traces) for traces in (real, simulated)]
    if min(map(len, grasps)) < FEWEST_GRASPS:
        return None
    variance = sum(places.var(axis=0, ddof=1) / len(places) for places in grasps)
    beyond = [np.mean([_beyond_command(trace) for trace in traces], axis=0) for traces in (real, simulated)]
    return SensorOffsets(
        tracker_mm=grasps[0].mean(axis=0) - grasps[1].mean(axis=0),
        tracker_std_mm=np.sqrt(variance + ENGINES_MM**2),
        encoder_mrad=dict(zip(twin_of(config).robot.arm_joints, (beyond[0] - beyond[1]).tolist(), strict=True)),
    )


def _grasps(traces: Sequence[EpisodeTrace]) -> np.ndarray:
    """(grasps, 2) tracked place of the thing relative to the tool where the gripper closes on it, in mm."""
    places = [_grasp(trace) for trace in traces]
    return np.array([place for place in places if place is not None]).reshape(-1, 2)


def _grasp(trace: EpisodeTrace) -> np.ndarray | None:
    poses, closing = trace.object, trace.first_closing
    if poses is None or closing < SEEN_FRAMES or closing + CLOSING_FRAMES > trace.rows or not len(trace.held):
        return None
    tool = trace.arm.tool(trace.command[closing : closing + CLOSING_FRAMES, : trace.arm.joints])
    seen = poses[closing - SEEN_FRAMES : closing + 1]
    return 1000 * (np.median(seen[:, :2], axis=0) - np.median(tool[:, :2], axis=0))


def _beyond_command(trace: EpisodeTrace) -> np.ndarray:
    """(joints,) how far the encoders read beyond the commands while these rest, in mrad."""
    command = trace.command[:, : trace.arm.joints]
    speed = np.abs(np.gradient(command, axis=0)).max(axis=1)
    resting = speed <= np.quantile(speed, RESTING)
    return 1000 * np.median((trace.position - command)[resting], axis=0)
