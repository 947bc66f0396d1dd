"""Constant errors of the tracker and the encoders, from demonstrations.

Whoever demonstrates sees the things themselves and closes the gripper on one. Where the task grasps it is known from
demonstrations in the twin; what remains between the tool and the tracked place is the offset of the tracker. The tool
is where the commands put it: at that moment the arm stands still. A second estimate is where the thing is at the end,
relative to the fixture or zone that it was brought to: a peg in a hole cannot be 7 mm beside it. The two are weighted
by their variances.

Encoders show their offsets in what they read beyond the commands, compared with the twin. The commands are shifted by
the delay, because slow motions in one direction look like an offset otherwise.

Measured in cells of another engine that were used while working, with 10 demonstrations and 4 to 6 mm of noise: by the
grasps alone, the tracker's offset was found with errors of 1.2, 1.4 and 1.2 mm (of 8 mm); with the ends too, in the
first of these cells with 0.6 mm. Trials of a policy that does not grasp tell nothing of it. Encoder offsets in one of
these cells, which has a delay of 0.1 s: errors of at most 0.7 mrad, and of 7 mrad without shifting the commands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.calibrate.by_discriminator import TraitSimulator, real_episodes
from twinloop.calibrate.by_traits import with_plain_expert
from twinloop.diagnose.traits import EpisodeTrace
from twinloop.randomize.table import BUILTIN, BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.twin.twin import Twin

FEWEST_GRASPS = 5
SIMULATED = 64
SEEN_FRAMES = 15
"""Tracked poses up to the closing, or at the end, that are averaged. Earlier, somebody may have moved the thing."""
FEWEST_FRAMES = 5
"""Tracked poses after the release, at least."""
CLOSING_FRAMES = 3
ENGINES_MM = 1.0
"""How far grasps differ between a twin and a robot: arms sag, fingers close unevenly."""
LEAST_MM = 0.3
"""How far the places to which things are brought differ at least: tolerances of fixtures."""

OFFSET_ROWS = tuple(row.name for row in BUILTIN if row.shown_by)
"""Rows of constant errors that demonstrations show."""


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
    return next(row.name for row in BUILTIN if row.shown_by == what)


def sensor_offsets(config: RunConfig, demonstrations: Sequence[Path], *, seed: int) -> SensorOffsets | None:
    """Estimate the offsets; None if too few demonstrations grasp a tracked thing.

    Args:
        config: the twin as far as it is known, with sensors that are not off.
        demonstrations: runlogs of demonstrations by somebody who sees the scene.
    """
    if not demonstrations:
        return None
    simulator = TraitSimulator(with_plain_expert(config), {}, None, seed=seed)
    read, _ = real_episodes(config, demonstrations, None, fewest=1)
    real, simulated = read(simulator.arm), simulator.traces(SIMULATED)
    grasps = [_grasps(traces) for traces in (real, simulated)]
    if min(map(len, grasps)) < FEWEST_GRASPS:
        return None
    offset_mm, variance = _difference(*grasps)
    variance += ENGINES_MM**2
    placement = _placement_offset(twin_of(config), real, simulated)
    if placement is not None:  # the mean of the two, weighted by their precision
        placed_mm, placed_variance = placement
        share = variance / (variance + placed_variance)
        offset_mm, variance = offset_mm + share * (placed_mm - offset_mm), share * placed_variance
    beyond = [_beyond_command(traces) for traces in (real, simulated)]
    if beyond[0] is None or beyond[1] is None:
        return None
    return SensorOffsets(
        tracker_mm=offset_mm,
        tracker_std_mm=np.sqrt(variance),
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


def _difference(real: np.ndarray, simulated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(2,) difference of the mean places, and (2,) its variance."""
    variance = real.var(axis=0, ddof=1) / len(real) + simulated.var(axis=0, ddof=1) / len(simulated)
    return real.mean(axis=0) - simulated.mean(axis=0), variance


def _placement_offset(
    twin: Twin, real: Sequence[EpisodeTrace], simulated: Sequence[EpisodeTrace]
) -> tuple[np.ndarray, np.ndarray] | None:
    """(2,) offset of the tracker in mm by where things end, and (2,) its variance; None without a place to end at.

    The reference is the fixture or zone relative to which things end most alike in the twin. Somebody else may prefer
    another place there, so the variance includes how much the places differ beyond the noise of the tracker.
    """
    most_precise: tuple[np.ndarray, np.ndarray] | None = None
    for fixture in twin.fixtures:
        columns = twin.pose_columns(fixture.name)
        ends = [_ends(traces, columns) for traces in (real, simulated)]
        if min(len(places) for places, _ in ends) < FEWEST_GRASPS:
            continue
        offset_mm, variance = _difference(ends[0][0], ends[1][0])
        spread = [places.var(axis=0, ddof=1) - noise for places, noise in ends]
        variance += np.maximum(np.max(spread, axis=0), LEAST_MM**2)
        if most_precise is None or variance.sum() < most_precise[1].sum():
            most_precise = offset_mm, variance
    return most_precise


def _ends(traces: Sequence[EpisodeTrace], reference: slice) -> tuple[np.ndarray, np.ndarray]:
    """(episodes, 2) tracked place of the released thing relative to a reference at the end, in mm, of successes.

    Also (2,) the variance of these places by the noise of the tracker.
    """
    places, noise = [], []
    for trace in traces:
        poses, state = trace.object, trace.part("observation.environment_state")
        frames = min(trace.rows - trace.first_opening, SEEN_FRAMES)
        if not trace.success or poses is None or state is None or frames < FEWEST_FRAMES:
            continue
        beside = 1000 * (poses[-frames:, :2] - state[-frames:, reference][:, :2])
        places.append(beside.mean(axis=0))
        noise.append(beside.var(axis=0, ddof=1) / frames)
    if not places:
        return np.empty((0, 2)), np.zeros(2)
    return np.array(places), np.mean(noise, axis=0)


def _beyond_command(traces: Sequence[EpisodeTrace]) -> np.ndarray | None:
    """(joints,) how far the encoders read beyond the delayed commands, in mrad; None if no delay can be seen.

    The median, because in some episodes something stands in the arm's way.
    """
    errors = [np.median(trace.tracking_error, axis=0) for trace in traces if trace.tracking_error is not None]
    return 1000 * np.median(errors, axis=0) if errors else None
