"""walk_rollout: episodes of a legged robot with a policy or the scripted expert, frame by frame."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from twinloop.environments.legs import LegsEmbodiment
from twinloop.environments.table import chosen_terms
from twinloop.environments.term import StepState
from twinloop.observe.recording import Feature, Recording
from twinloop.randomize.draw import Draws

Act = Callable[[Mapping[str, np.ndarray], int], np.ndarray]
"""(sensor values of all slots, control period) -> (width, a) commands."""
DIVERGED, STUCK = "diverged", "stuck"
BASE = "observation.environment_state"
BASE_NAMES = tuple(f"base.{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz"))


@dataclass(frozen=True)
class WalkEpisodes:
    """Episodes of a legged robot.

    Attributes:
        lengths: (n,) control periods.
        success: (n,) on its feet until the time limit.
        failure: (n,) name of the end; "" for a success.
        velocity_error_m_s, turn_error_rad_s: (n,) mean errors.
        recording: frames of all episodes; None if they were not recorded.
    """

    draws: Draws
    lengths: np.ndarray
    success: np.ndarray
    failure: np.ndarray
    velocity_error_m_s: np.ndarray
    turn_error_rad_s: np.ndarray
    recording: Recording | None = None


def walk_features(robot: LegsEmbodiment) -> tuple[Feature, ...]:
    """Features of a dataset of walking."""
    return (
        *robot.features,
        Feature(BASE, "float32", (7,), BASE_NAMES, "m; quaternion; world frame"),
        robot.action,
        Feature("next.reward", "float32", (1,)),
        Feature("next.done", "bool", (1,)),
        Feature("next.success", "bool", (1,)),
    )


def walk_rollout(robot: LegsEmbodiment, act: Act, first: int, *, record: bool = False) -> WalkEpisodes:
    """Simulate episodes [first, first + width) of the robot's seed."""
    width, ids = robot.width, np.arange(robot.width)
    environment, defaults = robot.config.environment, robot.defaults
    ends = chosen_terms(
        robot, "termination", (environment.terminations if environment else ()) or defaults.terminations,
        key="terminations",
    )  # fmt: skip
    weights = (environment.rewards if environment else {}) or defaults.rewards
    rewards = chosen_terms(robot, "reward", tuple(weights), key="rewards") if record else ()
    limit_s = environment.time_limit_s if environment else None
    longest = robot.longest_ticks if limit_s is None else round(limit_s * robot.rate_hz)
    draws = robot.draw(first, first + width)
    robot.begin(ids, draws, ids)
    failure, lengths, errors = np.full(width, "", object), np.zeros(width, int), np.zeros((width, 2))
    tape: list[dict[str, np.ndarray]] = []
    action = previous = np.zeros((width, robot.action.shape[0]))
    for tick in range(longest):
        active = np.flatnonzero(failure == "")
        if not len(active):
            break
        seen = robot.observe(None)
        command = np.clip(act(seen, tick), robot.scale.lowest, robot.scale.highest)
        base = robot.base_pose() if record else None
        robot.step(active if len(active) < width else None, command)
        lengths[active] += 1
        previous, action = action, (command - robot.scale.centre) / robot.scale.span
        step = StepState(robot, action, previous, lengths, longest)
        errors[active] = np.column_stack([robot.outcome.velocity_error_m_s, robot.outcome.turn_error_rad_s])[active]
        for term in reversed(ends):
            failure[active[term.function(step)[active]]] = term.name
        failure[active[robot.diverged(lengths)[active]]] = DIVERGED
        if base is not None:
            total = sum((weights[term.name] * term.function(step) for term in rewards), np.zeros(width))
            over = (failure != "") | (lengths >= longest)
            tape.append({
                **seen, BASE: base, "action": command, "next.reward": total, "next.done": over,
                "next.success": over & (failure == ""),
            })  # fmt: skip
    success = (failure == "") & robot.succeeded()
    failure[(failure == "") & ~success] = STUCK
    recording = _recording(robot, draws, lengths, tape) if record else None
    return WalkEpisodes(draws, lengths, success, failure, errors[:, 0], errors[:, 1], recording)


def _recording(
    robot: LegsEmbodiment, draws: Draws, lengths: np.ndarray, tape: list[dict[str, np.ndarray]]
) -> Recording:
    features = walk_features(robot)
    frames = {}
    for feature in features:
        # (ticks, width, ...) -> one episode after the other.
        values = np.array([frame[feature.name] for frame in tape])
        rows = np.concatenate([values[:length, slot] for slot, length in enumerate(lengths)])
        frames[feature.name] = rows.astype(feature.dtype)
    return Recording(
        attempts=draws.attempts.astype(np.int64), lengths=lengths.astype(np.int64),
        tasks=(robot.instruction,) * len(lengths), frames=frames, features=features,
    )  # fmt: skip


def expert_act(robot: LegsEmbodiment) -> Act:
    """Commands of the scripted expert."""
    robot.use_expert()
    return lambda _seen, _tick: robot.expert_command().copy()
