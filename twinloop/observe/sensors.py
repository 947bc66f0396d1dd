"""Sensors: readings of encoders, torque sensors and a pose tracker in an episode.

Sensors do not change the physics, so one episode can be recorded with any sensors. Each signal is first delayed (while
it is lost, its last value is repeated), then gets bias and noise, and then is rounded to the sensor's step. A velocity
may be the difference of two such positions, as on most servos. Rows of the parameter table add the errors.

All random errors are drawn before an episode begins (`sensor_errors.py`). The readings are a function of these errors
and of the states so far. So `sense`, which processes whole episodes, and `LiveSensors`, which processes one control
period at a time, give the same bits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from twinloop.config.fields import flag, of_kind, word
from twinloop.config.kinds import Word
from twinloop.observe.sensor_errors import HOOKS, errors_of, has_servo_bias
from twinloop.randomize.draw import Draws
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

SEEN = ("position", "velocity", "effort", "environment", "wrench", "inertial", "touch")

ARM = ("position", "velocity", "effort")
"""Channels of the arm's joints, whose last element is the gripper."""

Velocity = Literal["measured", "differentiated"]
Reward = Literal["sparse", "dense"]

Recall = Callable[[str, np.ndarray], np.ndarray]
"""(channel, (n,) frames) -> (n, elements) float64: the true values in these frames of n episodes."""


@dataclass(frozen=True)
class ObserveConfig:
    """Which sensors are recorded."""

    velocity: Velocity = word(
        "measured", words=get_args(Velocity), help="as the engine has it, or differentiated from the sensed positions"
    )
    wrist: bool = flag(False, help="record a force-torque sensor and an IMU at the hand")
    keep_clean: bool = flag(False, help="record the true values beside the sensed ones")
    touch: bool = flag(False, help="record the taxels of the fingers")
    reward: Reward = of_kind(
        Word(words=get_args(Reward), omit_default=True,
             help="`next.reward`: 1 where the task is done and else 0, or the progress of its relations from 0 to 1"),
        "sparse",
    )  # fmt: skip


def is_plain(draws: Draws, config: ObserveConfig, twin: Twin) -> bool:
    """True if sensors are ideal and without delay; then this module is not needed."""
    if config.velocity != "measured" or has_servo_bias(twin, draws):
        return False
    varied = {column.partition(".")[0] for column in draws.varied}
    return varied.isdisjoint(row.name for row, _ in HOOKS)


def sense(episodes: Episodes, twin: Twin, config: ObserveConfig, *, seed: int) -> dict[str, np.ndarray]:
    """Channel -> measured values, for the channels that sensors measure."""
    channels = [channel for channel in SEEN if channel in episodes.channels]
    lengths = episodes.lengths
    if is_plain(episodes.draws, config, twin) or not lengths.any():
        return {channel: episodes[channel] for channel in channels}
    # One episode at a time: each has its own generator and its own length.
    drawn = [errors_of(twin, episodes.draws, row, seed=seed) for row in map(int, np.flatnonzero(lengths))]
    errors = {
        name: np.concatenate(
            [episode[name][:length] for episode, length in zip(drawn, lengths[lengths > 0], strict=True)]
        )
        for name in drawn[0]
    }
    first = np.repeat(episodes.starts, lengths)
    frames = np.arange(len(first)) - first
    errors["things"] = thing_columns(twin)
    measured = tell(errors, frames, lambda channel, when: episodes[channel][first + when].astype(float), channels)
    if config.velocity == "differentiated":
        before = np.arange(len(first)) - (frames > 0)
        measured["velocity"] = differentiated(measured["position"], measured["position"][before], twin)
    return measured


def thing_columns(twin: Twin) -> np.ndarray:
    """First column of each thing in the environment state."""
    return np.array([index.columns.start for index in twin.things])


def tell(
    errors: Mapping[str, np.ndarray], frames: np.ndarray, recall: Recall, channels: list[str]
) -> dict[str, np.ndarray]:
    """Channel -> (n, elements) readings in these frames of n episodes, with the given errors of these frames."""
    return {
        channel: (_tell_environment if channel == "environment" else _tell_channel)(channel, errors, frames, recall)
        for channel in channels
    }


def differentiated(position: np.ndarray, before: np.ndarray, twin: Twin) -> np.ndarray:
    return (position - before) / twin.control_period_s


Errors = Mapping[str, np.ndarray]


def _tell_channel(channel: str, errors: Errors, _frames: np.ndarray, recall: Recall) -> np.ndarray:
    values = _at(channel, errors["observed"], recall)
    if channel in ARM:
        # Grippers are measured without error.
        joints = errors["position/offset"].shape[1]
        values[:, :joints] = _with_errors(values[:, :joints], channel, errors)
        return values
    return _with_errors(values, channel, errors)


def _with_errors(values: np.ndarray, channel: str, errors: Errors) -> np.ndarray:
    gain, offset, threshold, step, alive = (
        errors.get(f"{channel}/{kind}") for kind in ("gain", "offset", "threshold", "step", "alive")
    )
    values = values if gain is None else gain * values
    values = values if offset is None else values + offset
    values = values if threshold is None else np.where(np.abs(values) < threshold, 0, values)
    if step is not None:
        values = np.where(step > 0, step * np.round(values / np.where(step > 0, step, 1)), values)
    return values if alive is None else values * alive


def _tell_environment(channel: str, errors: Errors, frames: np.ndarray, recall: Recall) -> np.ndarray:
    """Readings of the poses of things. Fixtures are known and not tracked."""
    when = errors["tracked"]
    seen = recall(channel, frames)
    late, held = _at(channel, when, recall), recall(channel, np.floor(when).astype(int))
    for number, column in enumerate(errors["things"]):
        own, place = slice(3 * number, 3 * number + 3), slice(column, column + 3)
        turn = slice(place.stop, place.stop + 4)
        seen[:, place] = late[:, place] + errors["tracker/offset"][:, own]
        # Orientations are not interpolated; the one of the earlier frame is used.
        seen[:, turn] = _turned(held[:, turn], errors["tracker_turn/offset"][:, own])
    return seen


def _at(channel: str, when: np.ndarray, recall: Recall) -> np.ndarray:
    """(n, d) values at times between frames, from frames up to that time only."""
    before, after = np.floor(when), np.ceil(when)
    share = (when - before)[:, None]
    return (1 - share) * recall(channel, before.astype(int)) + share * recall(channel, after.astype(int))


def _turned(quaternions: np.ndarray, turn_rad: np.ndarray) -> np.ndarray:
    """Quaternions w, x, y, z after small rotations about x, y, z."""
    w, x, y, z = quaternions.T
    a, b, c = (turn_rad / 2).T
    turned = np.column_stack([
        w - a * x - b * y - c * z,
        x + a * w + b * z - c * y,
        y + b * w + c * x - a * z,
        z + c * w + a * y - b * x,
    ])  # fmt: skip
    # Written out, because a sum over an axis may add in another order for another number of rows.
    squares = np.square(turned)
    return turned / np.sqrt(squares[:, 0] + squares[:, 1] + squares[:, 2] + squares[:, 3])[:, None]
