"""StepBalance: where a walking biped puts its feet, and where in its feet the pressure is.

The body is a linear inverted pendulum. Its state is the extrapolated centre of mass: the centre of mass plus its
velocity divided by the pendulum's rate. A foot that swings lands where this point will be, plus an offset for the step
length and the step width (Hof, "The 'extrapolated center of mass' concept suggests a simple control of balance in
walking", 2008). All vectors are horizontal, in the frame of the heading.
"""

import numpy as np

SWAY_M, SWAY_LEAD, SWAY_GAIN = 0.035, 0.3, 3.0
"""While both feet stand and a step is due, the state moves to this distance from the feet, ahead of the clock of the
gait by this share of the step period, with this gain."""
STAND_GAIN, WALK_GAIN = 1.0, 0.5
"""Gains of balancing with two feet and with one foot."""
SOLE_M = np.array([0.08, 0.02])
"""Half the length and the width of the part of a sole in which the pressure may be."""
STEP_M, WIDTH_M = 0.4, (0.17, 0.5)
"""Longest step, and least and largest distance of the feet sideways."""
WIDTH_GAIN = 0.7
"""Share of the nominal step width, because the pelvis follows the feet late."""
LEAST_LOAD = 0.02


class StepBalance:
    """Balance of a robot with two feet.

    Args:
        com_height_m: of the centre of mass above the ground.
        width_m: distance of the feet in the nominal pose.
        side: (2,) 1 for the left foot, -1 for the right one.
        step_period_s: of the gait.
    """

    def __init__(self, *, com_height_m: float, width_m: float, side: np.ndarray, step_period_s: float):
        self.rate = float(np.sqrt(9.81 / com_height_m))
        self._side, self._width_m, self._step_s = side, width_m, step_period_s / 2
        self._growth = np.exp(self.rate * self._step_s)

    def _steady(self, foot: int, velocity: np.ndarray, width: float) -> np.ndarray:
        """(n, 2) state from a foot that has just landed, in a steady walk."""
        offset = velocity * self._step_s / (self._growth - 1)
        offset[:, 1] -= self._side[foot] * width * self._width_m / (1 + self._growth)
        return offset

    def landing(self, foot: int, state: np.ndarray, velocity: np.ndarray, left_s: np.ndarray) -> np.ndarray:
        """(n, 2) where a foot lands in `left_s`, from the other foot.

        Args:
            state: (n, 2) from the other foot.
            velocity: (n, 2) that is asked for.
        """
        place = state * np.exp(self.rate * left_s)[:, None] - self._steady(foot, velocity, WIDTH_GAIN)
        side = self._side[foot]
        return np.column_stack([np.clip(place[:, 0], -STEP_M, STEP_M), side * np.clip(side * place[:, 1], *WIDTH_M)])

    def on_one_foot(self, foot: int, state: np.ndarray, velocity: np.ndarray, since_s: np.ndarray) -> np.ndarray:
        """(n, 2) place of the pressure in a foot that has stood alone for `since_s`. state: from that foot."""
        steady = self._steady(foot, velocity, 1.0) * np.exp(self.rate * since_s)[:, None]
        return np.clip((1 + WALK_GAIN) * (state - steady), -SOLE_M, SOLE_M)

    def on_two_feet(
        self, feet: np.ndarray, state: np.ndarray, clock: np.ndarray, moving: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, 2) share of the weight on each foot, and (n,) how far before the middle of the feet the pressure is.

        The pressure is beyond the state, so that the state moves to the middle of the feet, or towards the foot that
        will stand when a step is due.

        Args:
            feet: (n, 2, 2) from the middle of both.
            state: (n, 2) from the middle of both.
            clock: (n,) place of the first foot in its step period, from 0 to 1.
            moving: (n,) a step is due.
        """
        apart = np.maximum(np.abs(feet[:, 0, 1] - feet[:, 1, 1]), 0.05)
        sway = self._side[0] * (apart / 2 - SWAY_M) * np.sin(2 * np.pi * (clock + SWAY_LEAD)) * moving
        pressure = state + np.array([STAND_GAIN, SWAY_GAIN]) * (state - np.column_stack([np.zeros_like(sway), sway]))
        first = np.clip(0.5 + self._side[0] * pressure[:, 1] / apart, LEAST_LOAD, 1 - LEAST_LOAD)
        load = np.column_stack([first, 1 - first])
        ahead = pressure[:, 0] - (load * feet[..., 0]).sum(axis=1)
        return load, np.clip(ahead, -SOLE_M[0], SOLE_M[0])
