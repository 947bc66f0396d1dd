"""Faults that a curator is trained against: each turns a good episode into a faulty one.

A fault has three sizes, 0 to 2. It returns None for an episode that cannot have it, e.g. a fault of objects in a
recording without objects.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from twinloop.curate.discriminator.scene_motion import Pose, poses_of, touching
from twinloop.curate.discriminator.trajectories import (
    ACTION,
    COMMAND,
    CONTACT,
    EFFORT,
    ENVIRONMENT,
    STATE,
    VELOCITY,
    Trajectories,
    joined,
)  # fmt: skip

Inject = Callable[[Trajectories, np.random.Generator, int], Trajectories | None]
SIZES = (0, 1, 2)
ROBOT = (STATE, VELOCITY, EFFORT, ACTION, COMMAND)


@dataclass(frozen=True)
class InjectedFault:
    """One kind of fault: its name, and (one episode, rng, size) -> the faulty episode."""

    name: str
    inject: Inject


def with_signal(episode: Trajectories, name: str, values: np.ndarray) -> Trajectories:
    return replace(episode, signals={**episode.signals, name: values})


def with_rows(episode: Trajectories, rows: np.ndarray) -> Trajectories:
    """The frames `rows` of an episode, in this order."""
    return replace(
        episode,
        lengths=np.array([len(rows)]),
        signals={name: values[rows] for name, values in episode.signals.items()},
        labels={name: values[rows] for name, values in episode.labels.items()},
        images={name: values[rows] for name, values in episode.images.items()},
    )


def span_of(values: np.ndarray) -> np.ndarray:
    return np.ptp(values, axis=0)


def moving_joint(episode: Trajectories, rng: np.random.Generator, feature: str = STATE) -> int | None:
    """An element that moves at least half as far as the median one; not the last, which is the gripper."""
    spans = span_of(episode.signals[feature])
    arm = spans[:-1] if len(spans) > 2 else spans
    moving = np.flatnonzero(arm >= 0.5 * np.median(arm))
    moving = moving[arm[moving] > 1e-6]
    return int(rng.choice(moving)) if len(moving) else None


def moved_thing(episode: Trajectories) -> Pose | None:
    """The entity that moves farthest."""
    poses = poses_of(episode.schema)
    if not poses:
        return None
    state = episode.signals[ENVIRONMENT]
    reach = [float(np.linalg.norm(span_of(state[:, pose.position]))) for pose in poses]
    return poses[int(np.argmax(reach))] if max(reach) > 0.01 else None


def busy_window(episode: Trajectories, rng: np.random.Generator, feature: str, column: int, rows: int) -> slice:
    """A window in which the element moves more than in the median window."""
    values = episode.signals[feature][:, column]
    rows = min(rows, len(values) - 2)
    starts = np.arange(1, len(values) - rows)
    moves = np.abs(values[starts + rows] - values[starts])
    good = starts[moves >= np.quantile(moves, 0.7)]
    start = int(rng.choice(good))
    return slice(start, start + rows)


def _held_rows(episode: Trajectories) -> np.ndarray:
    return np.flatnonzero(touching(episode))


def frozen_sensor(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    feature = str(rng.choice([name for name in (STATE, VELOCITY, EFFORT) if name in episode.signals]))
    joint = moving_joint(episode, rng, STATE)
    if joint is None:
        return None
    window = busy_window(episode, rng, STATE, joint, (8, 16, 40)[size])
    values = episode.signals[feature].copy()
    columns = slice(None) if size == 2 else slice(joint, joint + 1)
    values[window, columns] = values[window.start, columns]
    return with_signal(episode, feature, values)


def shifted_actions(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    frames = (2, 4, 8)[size] * int(rng.choice([-1, 1]))
    rows = np.clip(np.arange(episode.frames) + frames, 0, episode.frames - 1)
    names = [name for name in (ACTION, COMMAND) if name in episode.signals]
    return replace(episode, signals={**episode.signals, **{name: episode.signals[name][rows] for name in names}})


def swapped_joints(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    feature = str(rng.choice([name for name in (STATE, ACTION, VELOCITY, EFFORT) if name in episode.signals]))
    first = moving_joint(episode, rng)
    if first is None:
        return None
    others = [j for j in range(episode.signals[STATE].shape[1] - 1) if j != first]
    second = int(rng.choice(others))
    values = episode.signals[feature].copy()
    begin = int(episode.frames * (0.7, 0.4, 0.0)[size])
    values[begin:, [first, second]] = values[begin:, [second, first]]
    return with_signal(episode, feature, values)


def flipped_sign(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    feature = str(rng.choice([name for name in (STATE, ACTION, VELOCITY, EFFORT) if name in episode.signals]))
    joint = moving_joint(episode, rng, feature)
    if joint is None:
        return None
    values = episode.signals[feature].copy()
    columns = (slice(joint, joint + 1), slice(joint, joint + 1), slice(None))[size]
    begin = int(episode.frames * (0.6, 0.0, 0.0)[size])
    values[begin:, columns] *= -1
    return with_signal(episode, feature, values)


def teleported_object(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    thing = moved_thing(episode)
    if thing is None:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    begin = int(rng.integers(5, episode.frames - 5))
    direction = rng.normal(size=3)
    direction *= (0.01, 0.03, 0.1)[size] / np.linalg.norm(direction)
    stop = episode.frames if rng.random() < 0.5 else begin + int(rng.integers(2, 20))
    values[begin:stop, thing.position] += direction
    return with_signal(episode, ENVIRONMENT, values)


def interpenetration(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    thing = moved_thing(episode)
    if thing is None:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    rows = int(rng.integers(10, 30))
    start = int(rng.integers(2, max(episode.frames - rows, 3)))
    depth = (0.006, 0.012, 0.025)[size] * np.sin(np.linspace(0, np.pi, min(rows, episode.frames - start)))
    values[start : start + rows, thing.position[2]] -= depth
    return with_signal(episode, ENVIRONMENT, values)


def energy_from_nothing(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """An untouched thing begins to move."""
    thing = moved_thing(episode)
    if thing is None:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    free = np.flatnonzero(~touching(episode)[:-8])
    if not len(free):
        return None
    start = int(rng.choice(free))
    rows = min(int(rng.integers(8, 25)), episode.frames - start)
    speed = (0.1, 0.3, 1.0)[size]
    heading = rng.normal(size=3)
    heading[2] = abs(heading[2])
    heading /= np.linalg.norm(heading)
    values[start : start + rows, thing.position] += heading * speed * np.arange(rows)[:, None] / episode.schema.rate_hz
    if start + rows < episode.frames:
        values[start + rows :, thing.position] += (
            values[start + rows - 1, thing.position] - (episode.signals[ENVIRONMENT][start + rows - 1, thing.position])
        )
    return with_signal(episode, ENVIRONMENT, values)


def slipping(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """A held thing slides in the grip without a cause."""
    thing, held = moved_thing(episode), _held_rows(episode)
    if thing is None or len(held) < 20:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    start, stop = int(held[len(held) // 4]), int(held[-3])
    way = (0.01, 0.025, 0.06)[size] * np.linspace(0, 1, stop - start) ** rng.uniform(0.7, 1.5)
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    values[start:stop, thing.position] += way[:, None] * direction
    return with_signal(episode, ENVIRONMENT, values)


def wrong_gravity(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The efforts that hold the arm are those of another gravity."""
    if EFFORT not in episode.signals:
        return None
    values = episode.signals[EFFORT].copy()
    arm = slice(0, values.shape[1] - 1)
    load = values[:, arm]
    still = np.abs(load - load.mean(axis=0)).mean(axis=0)
    values[:, arm] += (
        (0.25, 0.5, 1.0)[size]
        * float(rng.choice([-1, 1]))
        * (load.mean(axis=0) + still * np.sin(episode.signals[STATE][:, arm]))
    )
    return with_signal(episode, EFFORT, values)


def duplicated(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """A copy with a little noise; the original stays in the set. `duplicates.py` finds it."""
    noise = (3e-4, 1e-4, 0.0)[size]
    return replace(
        episode,
        signals={
            name: values + noise * span_of(values) * rng.normal(size=values.shape)
            for name, values in episode.signals.items()
        },
    )


def mislabelled_success(episode: Trajectories, _rng: np.random.Generator, size: int) -> Trajectories | None:
    """The label says success, but the episode ends before the task is done. Or a success is labelled as a failure."""
    if not poses_of(episode.schema):
        return None
    if size == 0:
        return replace(episode, success=np.array([0.0]))
    rows = int(episode.frames * (0.75, 0.5)[size - 1])
    cut = with_rows(episode, np.arange(rows))
    labels = {name: values.copy() for name, values in cut.labels.items()}
    for name in ("next.success", "next.reward"):
        if name in labels:
            labels[name][-1] = 1.0
    return replace(cut, success=np.array([1.0]), labels=labels)


def dropped_frames(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    lost = (3, 6, 15)[size]
    joint = moving_joint(episode, rng)
    if joint is None or episode.frames < lost + 20:
        return None
    window = busy_window(episode, rng, STATE, joint, lost)
    return with_rows(episode, np.delete(np.arange(episode.frames), np.arange(window.start, window.stop)))


def degrees_for_radians(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    feature = str(rng.choice([name for name in (STATE, ACTION, VELOCITY) if name in episode.signals]))
    values = episode.signals[feature].copy()
    factor = 57.29578 if rng.random() < 0.5 else 1 / 57.29578
    joint = moving_joint(episode, rng, feature)
    if joint is None:
        return None
    columns = slice(joint, joint + 1) if size == 0 else slice(0, values.shape[1] - 1)
    begin = int(episode.frames * (0.0, 0.6, 0.0)[size])
    values[begin:, columns] *= factor
    return with_signal(episode, feature, values)


def clipped_actions(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    joint = moving_joint(episode, rng, ACTION)
    if joint is None:
        return None
    values = episode.signals[ACTION].copy()
    low, high = np.quantile(values[:, joint], ((0.1, 0.9), (0.2, 0.8), (0.35, 0.65))[size])
    values[:, joint] = np.clip(values[:, joint], low, high)
    return with_signal(episode, ACTION, values)


def noise_burst(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    feature = str(rng.choice([name for name in ROBOT if name in episode.signals]))
    values = episode.signals[feature].copy()
    rows = int(rng.integers(4, 12))
    start = int(rng.integers(1, episode.frames - rows))
    strength = (0.03, 0.1, 0.3)[size] * span_of(values)
    values[start : start + rows] += rng.normal(size=(rows, values.shape[1])) * strength
    return with_signal(episode, feature, values)


def sensor_bias(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    joint = moving_joint(episode, rng)
    if joint is None:
        return None
    values = episode.signals[STATE].copy()
    ramp = np.linspace(0, 1, len(values)) if rng.random() < 0.5 else np.ones(len(values))
    reach = float(np.ptp(values[:, joint]))
    values[:, joint] += (0.05, 0.15, 0.4)[size] * reach * ramp * float(rng.choice([-1, 1]))
    return with_signal(episode, STATE, values)


def stretched_time(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """Played faster or slower than it was recorded."""
    factor = (1.3, 1.6, 2.5)[size] ** float(rng.choice([-1, 1]))
    count = max(12, int(episode.frames * factor))
    at = np.linspace(0, episode.frames - 1, count)
    whole = np.arange(episode.frames)
    stretch = lambda values: np.stack([np.interp(at, whole, column) for column in values.T], axis=1)  # noqa: E731
    return replace(
        episode,
        lengths=np.array([count]),
        signals={name: stretch(values) for name, values in episode.signals.items()},
        labels={name: values[np.round(at).astype(int)] for name, values in episode.labels.items()},
        images={name: values[np.round(at).astype(int)] for name, values in episode.images.items()},
    )


def impossible_acceleration(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """A thing moves as if it had no mass: it shakes while nothing else does."""
    thing = moved_thing(episode)
    if thing is None:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    rows = min(int(rng.integers(6, 20)), episode.frames - 4)
    start = int(rng.integers(2, episode.frames - rows))
    shake = (0.004, 0.01, 0.03)[size] * rng.normal(size=(rows, 3))
    values[start : start + rows, thing.position] += shake
    return with_signal(episode, ENVIRONMENT, values)


def repeated_rows(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The recorder stalls: all signals repeat their last row, then jump to where they are."""
    rows = (4, 8, 20)[size]
    joint = moving_joint(episode, rng)
    if joint is None or episode.frames < rows + 10:
        return None
    window = busy_window(episode, rng, STATE, joint, rows)
    index = np.arange(episode.frames)
    index[window] = window.start
    return with_rows(episode, index)


def floating_object(episode: Trajectories, _rng: np.random.Generator, size: int) -> Trajectories | None:
    """A released thing stays in the air."""
    thing, held = moved_thing(episode), _held_rows(episode)
    if thing is None or not len(held) or held[-1] > episode.frames - 4:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    values[held[-1] :, thing.position[2]] += (0.008, 0.02, 0.06)[size]
    return with_signal(episode, ENVIRONMENT, values)


def phantom_contact(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """Fingers report a force where there is nothing, or none where they hold a thing."""
    if CONTACT not in episode.signals:
        return None
    values = episode.signals[CONTACT].copy()
    rows = (6, 12, 30)[size]
    touch = touching(episode)
    options = np.flatnonzero(touch if rng.random() < 0.5 and touch.any() else ~touch)
    start = int(rng.choice(options[: max(1, len(options) - rows)]))
    window = slice(start, start + rows)
    values[window, :-1] = 0.0 if touch[start] else 20.0
    return with_signal(episode, CONTACT, values)


FAULTS: Mapping[str, InjectedFault] = {
    inject.__name__: InjectedFault(inject.__name__, inject)
    for inject in (
        frozen_sensor, shifted_actions, swapped_joints, flipped_sign, teleported_object, interpenetration,
        energy_from_nothing, slipping, wrong_gravity, mislabelled_success, dropped_frames, degrees_for_radians,
        clipped_actions, noise_burst, sensor_bias, stretched_time, impossible_acceleration, repeated_rows,
        floating_object, phantom_contact,
    )
}  # fmt: skip
"""The kinds of faults within one episode. Duplicates and spliced episodes need two (`duplicated`, `spliced`)."""


def spliced(episode: Trajectories, other: Trajectories, rng: np.random.Generator, size: int) -> Trajectories:
    """The first part of one episode and the rest of another; with size 0 they are joined where they are most alike."""
    one, two = episode.signals[STATE], other.signals[STATE]
    low, high = int(0.2 * len(one)), int(0.8 * len(one))
    cut = int(rng.integers(low, max(high, low + 1)))
    if size == 2:
        cont = int(rng.integers(int(0.2 * len(two)), int(0.8 * len(two))))
    else:
        apart = np.linalg.norm(two - one[cut], axis=1)
        inner = np.arange(int(0.1 * len(two)), max(int(0.9 * len(two)), int(0.1 * len(two)) + 1))
        cont = int(inner[np.argsort(apart[inner])[: (1, 5)[size]][-1]])
    parts = [with_rows(episode, np.arange(cut)), with_rows(other, np.arange(cont, other.frames))]
    rows = joined(parts)
    return replace(
        rows, attempts=episode.attempts, lengths=np.array([rows.frames]), success=other.success, tasks=episode.tasks
    )
