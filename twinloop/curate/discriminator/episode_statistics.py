"""Statistics of whole episodes: delays between channels, amount of motion, and the end of the episode."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.channel_inputs import modelled_features
from twinloop.curate.discriminator.scene_motion import SceneMotion, finger_columns, length, poses_of
from twinloop.curate.discriminator.tool_frames import tool_frames
from twinloop.curate.discriminator.trajectories import (
    ACTION,
    COMMAND,
    CONTACT,
    EFFORT,
    ENVIRONMENT,
    STATE,
    VELOCITY,
    Trajectories,
)  # fmt: skip

SHIFTS = tuple(range(-4, 9))
LAG_PAIRS = ((ACTION, COMMAND), (COMMAND, STATE), (ACTION, STATE), (STATE, VELOCITY), (COMMAND, EFFORT))
THING_LAG, THING_MATCH = "lag:hand>things", "match:hand>things"
EFFORT_MATCH = f"match:{COMMAND}>{EFFORT}"
JOINTS = "joints"
DISTANCE = "distance of"
MOVES_SHARE = 0.02
Pairs = Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray]]
MIN_CORRELATION = 0.5
"""Channels that are correlated less than this have no delay that could be estimated."""


@dataclass(frozen=True)
class EpisodeTables:
    """Aspect -> (n, columns) values, and the channel of each column."""

    values: dict[str, np.ndarray]
    channels: dict[str, tuple[str, ...]]


def episode_tables(
    trajectories: Trajectories,
    motion: SceneMotion | None,
    image_steps: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> EpisodeTables:
    """Delays and amounts of motion.

    Args:
        motion: of the entities of the scene, None without poses.
        image_steps: camera -> changes of its images, predicted from the joints and seen.
    """
    schema = trajectories.schema
    values: dict[str, np.ndarray] = {}
    channels: dict[str, tuple[str, ...]] = {}
    pairs = {
        (leader, follower): _steps(trajectories, leader, follower)
        for leader, follower in LAG_PAIRS
        if {leader, follower} <= trajectories.signals.keys()
        and trajectories.signals[leader].shape == trajectories.signals[follower].shape
    }
    if motion is not None and motion.tool is not None and motion.touch.any():
        pairs["hand", "things"] = _hand_and_things(trajectories, motion, motion.tool[0])
    pairs |= {(JOINTS, camera): steps for camera, steps in image_steps.items()}
    for (leader, follower), (lag, match) in delays(trajectories, pairs).items():
        if leader == JOINTS:
            values[f"lag:{leader}>{follower}"], channels[f"lag:{leader}>{follower}"] = lag[:, -1:], (follower,)
            values[f"match:{leader}>{follower}"], channels[f"match:{leader}>{follower}"] = match[:, -1:], (follower,)
            continue
        if (leader, follower) == ("hand", "things"):
            # All axes together: things move too little along a single one.
            values[THING_LAG], channels[THING_LAG] = lag[:, -1:], ("objects behind the hand",)
            values[THING_MATCH], channels[THING_MATCH] = match[:, -1:], ("the objects' motion with the hand",)
            continue
        names = tuple(schema.channel(follower, index) for index in range(lag.shape[1] - 1))
        values[f"lag:{leader}>{follower}"], channels[f"lag:{leader}>{follower}"] = lag, (*names, follower)
        values[f"match:{leader}>{follower}"], channels[f"match:{leader}>{follower}"] = match, (*names, follower)
    for feature in modelled_features(trajectories.schema):
        step = np.abs(trajectories.step_of(feature))
        values[f"motion:{feature}"] = np.log(trajectories.mean(step) + 1e-6)
        channels[f"motion:{feature}"] = tuple(schema.channel(feature, i) for i in range(step.shape[1]))
    values["length"] = np.log(trajectories.lengths / schema.rate_hz)[:, None]
    channels["length"] = ("duration",)
    return EpisodeTables(values, channels)


def _steps(trajectories: Trajectories, leader: str, follower: str) -> tuple[np.ndarray, np.ndarray]:
    follow = trajectories.signals[follower] if (leader, follower) == (STATE, VELOCITY) else None
    return trajectories.step_of(leader), trajectories.step_of(follower) if follow is None else follow


def _hand_and_things(
    trajectories: Trajectories, motion: SceneMotion, tool_m: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(frames, 3) steps of the tool while fingers touch something or nearly do, and of all things together."""
    rows = np.arange(len(tool_m))
    before = np.maximum.accumulate(np.where(motion.touch, rows, -len(rows)))
    after = np.minimum.accumulate(np.where(motion.touch, rows, 2 * len(rows))[::-1])[::-1]
    inside = (np.maximum(before, trajectories.first_of) >= rows - SHIFTS[-1]) | (
        np.minimum(after, trajectories.last_of) <= rows + SHIFTS[-1]
    )
    lead = (tool_m - trajectories.shifted(tool_m, -1)) * inside[:, None]
    return lead, motion.step.sum(axis=1)


def delays(trajectories: Trajectories, pairs: Pairs) -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """For each pair (delay in frames, 1 - correlation) of each joint and, in the last column, of all joints together.

    The delay is the shift with the highest correlation of the two channels' steps, refined with a parabola as
    `signals.delay` does. A joint that hardly moves has NaN, and so has the delay of channels that hardly agree.

    Args:
        pairs: (leader, follower) -> (frames, d) steps of both.
    """
    if not pairs:
        return {}
    lead = np.concatenate([lead for lead, _ in pairs.values()], axis=1)
    follow = np.concatenate([follow for _, follow in pairs.values()], axis=1)
    powers = (
        np.add.reduceat(lead**2, trajectories.starts, axis=0),
        np.add.reduceat(follow**2, trajectories.starts, axis=0),
    )
    table = _products(trajectories, lead, follow)
    found, at = {}, 0
    for pair, (one, _) in pairs.items():
        columns = slice(at, at := at + one.shape[1])
        found[pair] = _delay(table[:, :, columns], powers[0][:, columns], powers[1][:, columns])
    return found


def _products(trajectories: Trajectories, lead: np.ndarray, follow: np.ndarray) -> np.ndarray:
    """(shifts, n, d) sum over each episode of lead times follow, which is shifted."""
    frames = len(lead)
    table = np.empty((len(SHIFTS), len(trajectories), lead.shape[1]))
    product = np.empty_like(lead)
    for number, shift in enumerate(SHIFTS):
        low, high = max(-shift, 0), frames - max(shift, 0)
        if low < high:
            np.multiply(lead[low:high], follow[low + shift : high + shift], out=product[low:high])
        product[trajectories.ends_at(shift)[0]] = 0.0
        np.add.reduceat(product, trajectories.starts, axis=0, out=table[number])
    return table


def _delay(table: np.ndarray, lead: np.ndarray, follow: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Delay and 1 - correlation from the (shifts, n, d) products and the (n, d) powers of both."""
    norm = np.sqrt(lead * follow)
    moving = lead > MOVES_SHARE * np.median(lead, axis=1, keepdims=True)
    moving &= norm > 1e-12
    correlations = table / np.maximum(norm, 1e-12)
    weights = np.where(moving, 1.0, 0.0)
    together = (correlations * weights).sum(axis=2) / np.maximum(weights.sum(axis=1), 1)
    whole = np.concatenate([correlations, together[:, :, None]], axis=2)
    lag, best = _peak(whole)
    known = np.concatenate([moving, moving.any(axis=1, keepdims=True)], axis=1)
    return np.where(known & (best > MIN_CORRELATION), lag, np.nan), np.where(known, 1 - best, np.nan)


def _peak(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at = np.clip(scores.argmax(axis=0), 1, len(SHIFTS) - 2)
    a, b, c = (np.take_along_axis(scores, (at + offset)[None], axis=0)[0] for offset in (-1, 0, 1))
    below = a - 2 * b + c
    lean = np.where(np.abs(below) > 1e-12, 0.5 * (a - c) / np.where(below == 0, 1, below), 0.0)
    return np.asarray(SHIFTS)[at] + np.clip(lean, -1, 1), scores.max(axis=0)


def end_table(trajectories: Trajectories) -> tuple[np.ndarray, tuple[str, ...]]:
    """(n, columns) the last frame: relative positions of entities, contacts and labels."""
    last = trajectories.starts + trajectories.lengths - 1
    columns: list[np.ndarray] = []
    names: list[str] = []
    poses = poses_of(trajectories.schema)
    if poses:
        state = trajectories.signals[ENVIRONMENT]
        places = {pose.name: state[last][:, pose.position] for pose in poses}
        joints = trajectories.signals.get(STATE)
        tool = None if joints is None else tool_frames(trajectories.schema.robot, joints.shape[1])
        if tool is not None and joints is not None:
            places["tool"] = tool(joints[last])[0]
        entities = list(places)
        for index, entity in enumerate(entities):
            for other in entities[index + 1 :]:
                apart = places[entity] - places[other]
                columns.append(np.linalg.norm(apart[:, :2], axis=1))
                names.append(f"{DISTANCE} {entity} and {other}")
        end, before, start = (
            np.stack([state[rows][:, pose.position] for pose in poses], axis=1)
            for rows in (last, np.maximum(last - 1, trajectories.starts), trajectories.starts)
        )
        speed = length(end - before) * trajectories.schema.rate_hz
        columns += [*(end - start)[:, :, 2].T, *speed.T]
        names += [f"{pose.name}, height above its start" for pose in poses]
        names += [f"{pose.name}, speed" for pose in poses]
        used = {column for pose in poses for column in (*pose.position, *(pose.quaternion or ()))}
        others = [column for column in range(state.shape[1]) if column not in used]
        columns += list(state[last][:, others].T)
        names += [trajectories.schema.elements[ENVIRONMENT][column] for column in others]
    fingers = finger_columns(trajectories.schema)
    if fingers:
        columns.append(np.tanh(trajectories.signals[CONTACT][last][:, fingers].max(axis=1)))
        names.append("finger contact")
    for name in ("phase", "next.reward", "next.success"):
        if name in trajectories.labels:
            columns.append(trajectories.labels[name][last])
            names.append(name)
    return (np.stack(columns, axis=1) if columns else np.zeros((len(trajectories), 0))), tuple(names)
