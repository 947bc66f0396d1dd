"""Contact that the hand's motor contradicts: a blocked hand without contact, or a squeeze without effort.

A hand whose motor pushes but which does not move is stopped by something. A thing that both fingers press is pressed by
the motor.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.scene_motion import finger_columns
from twinloop.curate.discriminator.trajectories import CONTACT, EFFORT, VELOCITY, Trajectories, is_hand

STILL_SHARE = 0.02
"""A hand that is slower than this share of its usual top speed does not move."""
SLOW_SHARE = 0.1
FIRM_SHARE = 0.25
"""Share of the usual effort and squeeze from which on a thing is held firmly."""


@dataclass(frozen=True)
class HandModel:
    """Usual sizes of a hand with one motor: (3,) top speed, effort, and force with which both fingers press."""

    usual: np.ndarray


def hand_columns(trajectories: Trajectories) -> tuple[int, int] | None:
    """(column of the effort, of the velocity); None if that is not one motor, or there is no finger contact."""
    columns = []
    for feature in (EFFORT, VELOCITY):
        names = trajectories.schema.elements.get(feature, ())
        hand = [index for index, name in enumerate(names) if is_hand(name)]
        if len(hand) != 1:
            return None
        columns.append(hand[0])
    return (columns[0], columns[1]) if len(finger_columns(trajectories.schema)) > 1 else None


def fit_hand(trajectories: Trajectories) -> HandModel | None:
    if hand_columns(trajectories) is None:
        return None
    effort, speed, fingers = _hand(trajectories)
    squeeze = fingers.min(axis=1)
    pressed = squeeze[squeeze > 0]
    usual = [np.quantile(speed, 0.99), np.quantile(effort, 0.99), np.quantile(pressed, 0.5) if len(pressed) else 1.0]
    return HandModel(np.maximum(usual, 1e-9))


def hand_residuals(trajectories: Trajectories, model: HandModel | None) -> dict[str, np.ndarray]:
    """Aspect -> (frames, 1)."""
    if model is None:
        return {}
    effort, speed, fingers = _hand(trajectories)
    pushes = np.clip(effort / (FIRM_SHARE * model.usual[1]), 0, 1)
    pressed = np.tanh(fingers / (FIRM_SHARE * model.usual[2]))
    still = np.exp(-speed / (STILL_SHARE * model.usual[0]))
    residuals = {
        "blocked_without_contact": pushes * still * (1 - pressed.max(axis=1)),
        "squeeze_without_effort": pressed.min(axis=1) * still * (1 - pushes),
    }
    # An impact lasts one frame, and sensors of effort and contact may differ in delay by another one.
    around = {aspect: [trajectories.shifted(values, lag) for lag in (-1, 0, 1)] for aspect, values in residuals.items()}
    return {aspect: np.minimum.reduce(values)[:, None] for aspect, values in around.items()}


def blocked(trajectories: Trajectories, model: HandModel) -> np.ndarray:
    """(frames,) the hand's motor pushes firmly, but the hand hardly moves: something stops it, sensed or not."""
    effort, speed, _ = _hand(trajectories)
    return (effort > FIRM_SHARE * model.usual[1]) & (speed < SLOW_SHARE * model.usual[0])


def _hand(trajectories: Trajectories) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(frames,) effort and speed of the motor, (frames, fingers) contact forces."""
    columns = hand_columns(trajectories)
    assert columns is not None
    signals = trajectories.signals
    fingers = signals[CONTACT][:, finger_columns(trajectories.schema)]
    return np.abs(signals[EFFORT][:, columns[0]]), np.abs(signals[VELOCITY][:, columns[1]]), fingers
