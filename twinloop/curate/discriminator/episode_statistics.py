"""Statistics of whole episodes: delays between channels, amount of motion, and the end of the episode."""

from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.channel_inputs import modelled_features
from twinloop.curate.discriminator.scene_motion import SceneMotion, finger_columns, poses_of
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
DISTANCE = "distance of"
MOVES_SHARE = 0.02
MIN_CORRELATION = 0.5
"""Channels that are correlated less than this have no delay that could be estimated."""


@dataclass(frozen=True)
class EpisodeTables:
    """Aspect -> (n, columns) values, and the channel of each column."""

    values: dict[str, np.ndarray]
    channels: dict[str, tuple[str, ...]]


def episode_tables(trajectories: Trajectories, motion: SceneMotion | None) -> EpisodeTables:
    """Delays and amounts of motion. motion: of the entities of the scene, None without poses."""
    schema = trajectories.schema
    values: dict[str, np.ndarray] = {}
    channels: dict[str, tuple[str, ...]] = {}
    for leader, follower in LAG_PAIRS:
        if not {leader, follower} <= trajectories.signals.keys():
            continue
        if trajectories.signals[leader].shape != trajectories.signals[follower].shape:
            continue
        lag, match = delays(trajectories, *_steps(trajectories, leader, follower))
        names = tuple(schema.channel(follower, index) for index in range(lag.shape[1] - 1))
        values[f"lag:{leader}>{follower}"], channels[f"lag:{leader}>{follower}"] = lag, (*names, follower)
        values[f"match:{leader}>{follower}"], channels[f"match:{leader}>{follower}"] = match, (*names, follower)
    if motion is not None and motion.tool is not None and motion.touch.any():
        lag, match = delays(trajectories, *_hand_and_things(trajectories, motion, motion.tool[0]))
        # All axes together: things move too little along a single one.
        values[THING_LAG], channels[THING_LAG] = lag[:, -1:], ("objects behind the hand",)
        values[THING_MATCH], channels[THING_MATCH] = match[:, -1:], ("the objects' motion with the hand",)
    for feature in modelled_features(trajectories.schema):
        signal = trajectories.signals[feature]
        step = np.abs(signal - trajectories.shifted(signal, -1))
        values[f"motion:{feature}"] = np.log(trajectories.mean(step) + 1e-6)
        channels[f"motion:{feature}"] = tuple(schema.channel(feature, i) for i in range(signal.shape[1]))
    values["length"] = np.log(trajectories.lengths / schema.rate_hz)[:, None]
    channels["length"] = ("duration",)
    return EpisodeTables(values, channels)


def _steps(trajectories: Trajectories, leader: str, follower: str) -> tuple[np.ndarray, np.ndarray]:
    signals, shifted = trajectories.signals, trajectories.shifted
    lead = signals[leader] - shifted(signals[leader], -1)
    follow = signals[follower] - shifted(signals[follower], -1)
    return lead, signals[follower] if (leader, follower) == (STATE, VELOCITY) else follow


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


def delays(trajectories: Trajectories, lead: np.ndarray, follow: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(delay in frames, 1 - correlation) of each joint and, in the last column, of all joints together.

    The delay is the shift with the highest correlation of the two channels' steps, refined with a parabola as
    `signals.delay` does. A joint that hardly moves has NaN, and so has the delay of channels that hardly agree.
    """
    starts, shifted = trajectories.starts, trajectories.shifted
    power = np.add.reduceat(lead**2, starts, axis=0), np.add.reduceat(follow**2, starts, axis=0)
    rows = np.arange(len(lead))
    scores = []
    for shift in SHIFTS:
        inside = ((rows + shift >= trajectories.first_of) & (rows + shift <= trajectories.last_of))[:, None]
        scores.append(np.add.reduceat(lead * shifted(follow, shift) * inside, starts, axis=0))
    table = np.stack(scores)  # (shifts, n, d)
    norm = np.sqrt(power[0] * power[1])
    moving = power[0] > MOVES_SHARE * np.median(power[0], axis=1, keepdims=True)
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
        position = np.stack([state[:, pose.position] for pose in poses], axis=1)
        speed = np.linalg.norm(position - trajectories.shifted(position, -1), axis=2) * trajectories.schema.rate_hz
        rise = position[last, :, 2] - position[trajectories.starts, :, 2]
        columns += [*rise.T, *speed[last].T]
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
