"""Names of the failures of Episodes."""

import numpy as np

from twinloop.curate.checks import PERSON_PUSHED, largest_of_columns
from twinloop.curate.limits import CurateConfig
from twinloop.curate.verdict import UNREACHABLE
from twinloop.simulate.episodes import Episodes
from twinloop.twin.failure import EpisodeSummary
from twinloop.twin.twin import Twin

TOUCHED_N, GRIPPED_N = 0.1, 2.0
LIFTED_M, BELOW_TABLE_M = 0.08, 0.03

DIVERGED, PUSHED, TIMEOUT = "diverged", PERSON_PUSHED.name, "timeout"
"""Failures of any task: the simulation diverged; a person was pushed harder than the limit; none of the task's own
failures holds and a thing did not get to its goal in time (`timeout`). Tasks without a goal name the first relation of
their success that did not hold instead: `not_drawer_open`."""


def failures_of(episodes: Episodes, twin: Twin, config: CurateConfig) -> tuple[str, ...]:
    """One name per episode; "" for an episode that succeeded without pushing a person."""
    ending = ending_of(episodes, twin)
    names = np.full(len(episodes.lengths), "", dtype=object)
    with np.errstate(invalid="ignore"):
        pushed = ~(PERSON_PUSHED.measure(episodes, twin, config) <= PERSON_PUSHED.limit(config))
        if len(episodes.unreachable):
            names[episodes.unreachable > 0] = UNREACHABLE
        names[episodes.diverged & (names == "")] = DIVERGED
        names[pushed & (names == "")] = PUSHED
        for failure in twin.task.failures:
            names[failure.holds(ending) & ~episodes.success & (names == "")] = failure.name
    for row in np.flatnonzero(~episodes.success & (names == "")):
        names[row] = _unmet(twin, int(episodes.unmet[row])) if len(episodes.unmet) else TIMEOUT
    return tuple(names)


def _unmet(twin: Twin, number: int) -> str:
    """The failure that is left when none of the task's own holds."""
    task = twin.task
    return TIMEOUT if task.goal or number < 0 else f"not_{task.success[number].name}"


def ending_of(episodes: Episodes, twin: Twin) -> EpisodeSummary:
    count, period_s = len(episodes.lengths), twin.control_period_s
    arms, height_m = len(twin.arms), _thing_heights_m(episodes, twin)
    forces = episodes["contact"][:, : 2 * arms].reshape(-1, arms, 2)
    # (frames, arms) that the fingers of each hand press with.
    both_by_arm_n = np.minimum(forces[..., 0], forces[..., 1])
    either_n = largest_of_columns(forces.reshape(-1, 2 * arms))
    place = _places(episodes)
    closing = _commanded_to_close(episodes, twin)
    # A release is a command to open right after one to close, so pressing with open fingers is not a release.
    opens = ~closing & np.concatenate([np.zeros((1, arms), bool), closing[:-1]])
    lets_go = (opens & (both_by_arm_n > TOUCHED_N)).any(axis=1) & (place > 1)
    both_n = largest_of_columns(both_by_arm_n)
    squeezed_n = largest_of_columns(np.where(closing, both_by_arm_n, 0))
    released = episodes.worst(np.where(lets_go, place, 0))
    # The final state of an episode is not on the tape, so it is extrapolated from the things' velocities.
    next_m = (height_m + episodes["object_velocity"][:, 2::3] * period_s).min(axis=1)
    table_m = np.repeat(episodes.draws.values["table_height_cm"] / 100, episodes.lengths)
    nonempty = episodes.lengths > 0
    start_m, pressed = np.zeros((count, height_m.shape[1])), np.zeros(count, bool)
    start_m[nonempty] = height_m[episodes.starts[nonempty]]
    rise_m = largest_of_columns(height_m - np.repeat(start_m, episodes.lengths, axis=0))
    pressed[nonempty] = both_n[(episodes.starts + episodes.lengths - 1)[nonempty]] > TOUCHED_N
    return EpisodeSummary(
        touched=episodes.worst(either_n) > TOUCHED_N,
        gripped=episodes.worst(_lasting(squeezed_n, place)) > GRIPPED_N,
        lifted=episodes.worst(rise_m) > LIFTED_M,
        fell=episodes.worst(table_m - next_m) > BELOW_TABLE_M,
        # An actor that gives up before the timeout has lost the object, even if the fingers still touch something.
        holding=pressed & ~(episodes.lost & ~_out_of_time(episodes, twin)),
        released_s=np.where(released > 0, (released - 1) * period_s, np.inf),
        ended_s=episodes.lengths * period_s,
        drawn=episodes.draws.values,
    )


def _lasting(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """(frames,) the smaller of a value and the one before it in the episode: a knock of one frame is no grip."""
    return np.where(place > 1, np.minimum(values, np.append(0, values[:-1])), 0)


def _thing_heights_m(episodes: Episodes, twin: Twin) -> np.ndarray:
    """(frames, things) height of every thing."""
    return episodes["environment"][:, [index.columns.start + 2 for index in twin.things]]


def _commanded_to_close(episodes: Episodes, twin: Twin) -> np.ndarray:
    """(frames, arms) whether the action commands less than half of a gripper's stroke."""
    grippers = [arm.gripper for arm in twin.robot.arms]
    closed = np.array([gripper.closed for gripper in grippers])
    stroke = np.array([gripper.open - gripper.closed for gripper in grippers])
    return (episodes["action"][:, twin.joints :] - closed) / stroke < 0.5


def _out_of_time(episodes: Episodes, twin: Twin) -> np.ndarray:
    """(n,) whether the last phase, or the whole episode, reached its time limit."""
    number = episodes["phase"][:, 0]
    place = _places(episodes)
    entered = episodes.worst(np.where((place == 1) | (number != np.append(-1, number[:-1])), place, 0))
    longest = np.array([round(phase.longest_s * twin.control_hz) for phase in twin.task.phases])
    last = np.zeros(len(episodes.lengths), int)
    nonempty = episodes.lengths > 0
    # The last frame of a diverged episode may hold NaN.
    last[nonempty] = np.nan_to_num(number[(episodes.starts + episodes.lengths - 1)[nonempty]])
    return (episodes.lengths >= twin.longest_ticks) | (episodes.lengths - entered + 1 >= longest[last])


def _places(episodes: Episodes) -> np.ndarray:
    """(frames,) number of each frame in its episode, starting at 1, so that 0 can mean never."""
    return np.arange(len(episodes.tape)) - np.repeat(episodes.starts, episodes.lengths) + 1


def last_phases(episodes: Episodes, twin: Twin) -> list[str]:
    """Name of the phase in which each episode ended."""
    names = twin.task.phase_names
    phase = episodes["phase"][:, 0]
    ends = np.maximum(episodes.starts + episodes.lengths - 1, 0)
    return [
        names[int(phase[end])] if length and np.isfinite(phase[end]) else ""
        for end, length in zip(ends, episodes.lengths, strict=True)
    ]
