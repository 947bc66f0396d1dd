"""Laws of a hand's contact: its motor agrees with what the fingers report."""

from dataclasses import replace

import numpy as np

from twinloop.curate.discriminator.hand_contact import fit_hand, hand_residuals
from twinloop.curate.discriminator.trajectories import CONTACT, EFFORT, VELOCITY, Trajectories, TrajectorySchema

FRAMES, GRASP, RELEASE = 80, 20, 60
ELEMENTS = {
    EFFORT: ("joint1", "gripper"),
    VELOCITY: ("joint1", "gripper"),
    CONTACT: ("left_finger", "right_finger", "support"),
}


def episode(**changes: np.ndarray) -> Trajectories:
    """A hand closes, holds a thing with 40 N, and opens."""
    rows = np.arange(FRAMES)
    holds = (rows >= GRASP) & (rows < RELEASE)
    closing = (rows >= GRASP - 4) & (rows < GRASP)
    effort = np.where(holds, -80.0, 0.0)
    speed = np.where(closing, -0.3, 0.0)
    force = np.where(holds, 40.0, 0.0)
    signals = {
        EFFORT: np.stack([np.zeros(FRAMES), changes.get("effort", effort)], axis=1),
        VELOCITY: np.stack([np.zeros(FRAMES), changes.get("speed", speed)], axis=1),
        CONTACT: np.stack([changes.get("force", force)] * 2 + [np.zeros(FRAMES)], axis=1),
    }
    return Trajectories(TrajectorySchema("nobody", 25.0, ELEMENTS), np.array([0]), np.array([FRAMES]), signals,
                        np.array([1.0]), ("hold",))  # fmt: skip


def peaks(faulty: Trajectories) -> dict[str, float]:
    model = fit_hand(episode())
    return {aspect: float(values.max()) for aspect, values in hand_residuals(faulty, model).items()}


def test_a_good_grasp_agrees():
    assert max(peaks(episode()).values()) < 0.05


def test_a_hand_that_is_blocked_without_contact_is_found():
    force = episode().signals[CONTACT][:, 0].copy()
    force[30:36] = 0.0
    assert peaks(episode(force=force))["blocked_without_contact"] > 0.9


def test_a_squeeze_without_effort_is_found_and_an_impact_is_not():
    force = episode().signals[CONTACT][:, 0].copy()
    force[5] = 60.0
    assert peaks(episode(force=force))["squeeze_without_effort"] < 0.05
    force[5:11] = 20.0
    assert peaks(episode(force=force))["squeeze_without_effort"] > 0.9


def test_a_robot_without_finger_sensors_has_no_hand_model():
    whole = episode()
    schema = TrajectorySchema("nobody", 25.0, {EFFORT: ELEMENTS[EFFORT], VELOCITY: ELEMENTS[VELOCITY]})
    signals = {name: whole.signals[name] for name in schema.elements}
    bare = replace(whole, schema=schema, signals=signals)
    assert fit_hand(bare) is None
    assert hand_residuals(bare, None) == {}
