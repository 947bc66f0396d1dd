"""Terms of every robot."""

import numpy as np

from twinloop.environments.embodiment import Embodiment
from twinloop.environments.term import StepState, Term


def _squares(values: np.ndarray) -> np.ndarray:
    return np.square(values).sum(axis=1)


def _time_left(step: StepState) -> np.ndarray:
    return (1 - step.tick / step.longest)[:, None]


def _action_names(robot: Embodiment) -> tuple[str, ...]:
    return robot.action.names


def _by_success(level: np.ndarray, success: np.ndarray, step: float) -> np.ndarray:
    return np.clip(level + np.where(success, step, -step), 0, 1)


def _rising(level: np.ndarray, success: np.ndarray, step: float) -> np.ndarray:
    return np.clip(level + step * success, 0, 1)


GENERAL_TERMS = (
    Term("alive", "reward", "1", "1 in every control period", lambda step: np.ones(len(step.tick))),
    Term("succeeded", "reward", "1", "1 where the task is done",
         lambda step: step.robot.succeeded().astype(float)),
    Term("action_size", "reward", "1", "sum of squares of the action",
         lambda step: _squares(step.action)),
    Term("action_rate", "reward", "1", "sum of squares of the change of the action since the last control period",
         lambda step: _squares(step.action - step.previous_action)),
    Term("last_action", "observation", "1", "the last action; only for the critic, because robots do not report it",
         lambda step: step.action, elements=_action_names),
    Term("time_left", "observation", "1", "share of the time limit that is left; only for the critic",
         _time_left, elements=lambda _: ("time_left",)),
    Term("by_success", "curriculum", "1",
         "each environment's level rises by the weight after a success and falls by it after a failure", _by_success),
    Term("rising", "curriculum", "1", "each environment's level rises by the weight after a success", _rising),
)  # fmt: skip
