"""Synthetic evaluations with given outcomes."""

import numpy as np

from twinloop.gate import Evaluation, Outcomes, Subject

PHASES = ("reach", "grasp", "place")


def evaluation_of(success: np.ndarray, *, name: str = "made-up", seed: int = 7, first: int = 0) -> Evaluation:
    """Failures end in each phase in turn; friction and mass are drawn without effect."""
    count = len(success)
    success = np.asarray(success, bool)
    rng = np.random.default_rng(count)
    outcomes = Outcomes(
        phases=PHASES,
        attempt=np.arange(first, first + count),
        success=success,
        completed=np.where(success, 3, np.arange(count) % 3),
        verdict=np.where(success, "accepted", "task_failed").astype(object),
        failure=np.where(success, "", "never_grasped").astype(object),
        duration_s=np.where(success, 4.4, 12.0),
        completion_s=np.where(success, 4.0 + np.arange(count) / 100, np.nan),
        draws={"friction_coefficient": rng.uniform(0.2, 1, count), "object_mass_kg": rng.uniform(0.1, 0.4, count)},
        checks={"deep_penetration": rng.uniform(0, 1, count), "task_failed": (~success).astype(float)},
    )
    subject = Subject(
        name, "d" * 64, "mlp", "cell", "c" * 64, "franka_panda", "pick it up", PHASES, seed, None, {"twinloop": "0"}
    )
    return Evaluation(subject, outcomes)
