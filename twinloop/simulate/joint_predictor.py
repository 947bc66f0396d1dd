"""JointPredictor: predicts where joints will be after they have followed their commands.

Readings are delayed and servos lag behind their commands. A controller that corrects an error which earlier commands
already correct starts to oscillate. So the predicted position is the last command plus an offset. The offset is the
averaged difference between measurements and the commands one lag earlier. The lag is not known; it is the one for
which shifted commands fit the measurements best.

An episode begins at home, a known pose, so the encoder readings there give the encoder error.
"""

import numpy as np

LONGEST_S = 0.6
TRUST_S = 0.25
"""Time constant with which measurements change the offset."""
MEMORY_S = 2.0
"""Time constant with which the misfit of a lag is forgotten."""
LAG_S = 0.12
"""Time constant of the average of `behind_rad`."""
AT_HOME_RAD = 0.05
"""An arm whose joints are all measured this close to home is at home."""


class JointPredictor:
    """Predicts the joints of `width` arms, each in its own episode.

    Attributes:
        believed_rad: (width, joints) predicted positions.
        measured_rad: (width, joints) measured positions without encoder error.
        behind_rad: (width, joints) average of `believed_rad` minus `measured_rad`.
    """

    def __init__(self, home_rad: np.ndarray, *, width: int, period_s: float):
        self._home_rad = home_rad
        self._trusted, self._kept, self._lately = (np.exp(-period_s / time_s) for time_s in (TRUST_S, MEMORY_S, LAG_S))
        joints, lags = len(home_rad), 1 + round(LONGEST_S / period_s)
        self._all = np.arange(width)
        self._wrong_rad = np.zeros((width, joints))
        # The width is the last axis here, because NumPy is slow if the innermost loop is over a few joints.
        self._sent, self._off = np.zeros((lags, joints, width)), np.zeros((lags, joints, width))
        self._misfit = np.zeros((lags, width))
        self.behind_rad = np.zeros((width, joints))
        self._fresh = np.ones(width, bool)

    def begin(self, ids: np.ndarray) -> None:
        """Forget the previous episodes of these arms."""
        self._fresh[ids] = True
        self._off[:, :, ids] = self._misfit[:, ids] = self.behind_rad[ids] = 0

    def take(self, told_rad: np.ndarray, sent_rad: np.ndarray) -> None:
        """Update the prediction. Call once per control period.

        Args:
            told_rad: encoder readings.
            sent_rad: the last commands; not used for arms that had none yet.
        """
        fresh = self._fresh
        if fresh.any():
            off_rad = told_rad[fresh] - self._home_rad
            self._wrong_rad[fresh] = np.where((np.abs(off_rad) < AT_HOME_RAD).all(axis=1, keepdims=True), off_rad, 0)
        self.measured_rad = told_rad - self._wrong_rad
        if fresh.any():
            # Nothing moved before the first command.
            self._sent[:, :, fresh] = self.measured_rad[fresh].T
            sent_rad = np.where(fresh[:, None], self.measured_rad, sent_rad)
            fresh[:] = False
        self._sent[1:] = self._sent[:-1]
        self._sent[0] = sent_rad.T
        missing = np.ascontiguousarray(self.measured_rad.T) - self._sent
        missing -= self._off
        self._misfit = self._kept * self._misfit + np.square(missing).sum(axis=1)
        missing *= 1 - self._trusted
        self._off += missing
        self.believed_rad = sent_rad + self._off[np.argmin(self._misfit, axis=0), :, self._all]
        self.behind_rad += (1 - self._lately) * (self.believed_rad - self.measured_rad - self.behind_rad)
