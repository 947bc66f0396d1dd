"""Following: where joints will come to stand that follow their commands late.

A reading is old, and a servo is behind its command: whoever corrects what has long been commanded away begins to
swing. So joints are taken to be where they were sent, off by what measurements say once the command has had its time.
How long that takes nobody says. It is found out: of all lags, the one by which commands have to be shifted to look
like the measurements.

An episode begins at home, a pose that is known: what encoders say of it is their error.
"""

import numpy as np

LONGEST_S = 0.6
TRUST_S = 0.25
"""How long measurements take to overrule what was commanded."""
MEMORY_S = 2.0
"""How long a lag that fitted badly is held against it."""


AT_HOME_RAD = 0.05
"""Measured that close to home, a joint is there."""


class Following:
    """Of one robot's arm, an episode at a time."""

    def __init__(self, *, home_rad: np.ndarray, period_s: float):
        self._home_rad = home_rad
        self._trusted, self._kept = (float(np.exp(-period_s / seconds)) for seconds in (TRUST_S, MEMORY_S))
        self._lags = 1 + round(LONGEST_S / period_s)
        self.begin()

    def begin(self) -> None:
        """Forget the episode before."""
        self._wrong_rad: np.ndarray | None = None
        self._off = np.zeros((self._lags, len(self._home_rad)))
        self._misfit = np.zeros(self._lags)

    def take(self, told_rad: np.ndarray, command_rad: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """(joints,) where they will stand, and where they were measured. told_rad: by the encoders.
        command_rad: the last that was sent, if any was."""
        if self._wrong_rad is None:
            off_rad = told_rad - self._home_rad
            self._wrong_rad = off_rad if (np.abs(off_rad) < AT_HOME_RAD).all() else np.zeros_like(off_rad)
            # Before the first command nothing moved.
            self._sent = np.tile(told_rad - self._wrong_rad, (self._lags, 1))
        measured_rad = told_rad - self._wrong_rad
        if command_rad is None:
            return measured_rad, measured_rad
        self._sent[1:] = self._sent[:-1]
        self._sent[0] = command_rad
        missing = measured_rad - self._sent - self._off
        self._misfit = self._kept * self._misfit + np.square(missing).sum(axis=1)
        self._off += (1 - self._trusted) * missing
        return command_rad + self._off[int(np.argmin(self._misfit))], measured_rad
