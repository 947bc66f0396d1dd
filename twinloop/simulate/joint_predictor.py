"""JointPredictor: where joints will come to stand that follow their commands late.

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
LAG_S = 0.12
"""How far joints are behind is averaged over so long."""
AT_HOME_RAD = 0.05
"""Measured that close to home, a joint is there."""


class JointPredictor:
    """Of `width` arms, an episode at a time each. believed_rad: where they will stand. measured_rad: where they were,
    without the encoders' error. behind_rad: the way between. All (width, joints)."""

    def __init__(self, home_rad: np.ndarray, *, width: int, period_s: float):
        self._home_rad = home_rad
        self._trusted, self._kept, self._lately = (np.exp(-period_s / each) for each in (TRUST_S, MEMORY_S, LAG_S))
        joints, lags = len(home_rad), 1 + round(LONGEST_S / period_s)
        self._all = np.arange(width)
        self._wrong_rad = np.zeros((width, joints))
        self._sent, self._off = np.zeros((width, lags, joints)), np.zeros((width, lags, joints))
        self._misfit = np.zeros((width, lags))
        self.behind_rad = np.zeros((width, joints))
        self._fresh = np.ones(width, bool)

    def begin(self, ids: np.ndarray) -> None:
        """Forget the episode before."""
        self._fresh[ids] = True
        self._off[ids] = self._misfit[ids] = self.behind_rad[ids] = 0

    def take(self, told_rad: np.ndarray, sent_rad: np.ndarray) -> None:
        """told_rad: by the encoders. sent_rad: the last command; of arms that had none yet it is not looked at."""
        fresh = self._fresh
        if fresh.any():
            off_rad = told_rad[fresh] - self._home_rad
            self._wrong_rad[fresh] = np.where((np.abs(off_rad) < AT_HOME_RAD).all(axis=1, keepdims=True), off_rad, 0)
        self.measured_rad = told_rad - self._wrong_rad
        if fresh.any():
            # Before the first command nothing moved.
            self._sent[fresh] = self.measured_rad[fresh, None]
            sent_rad = np.where(fresh[:, None], self.measured_rad, sent_rad)
            fresh[:] = False
        self._sent[:, 1:] = self._sent[:, :-1]
        self._sent[:, 0] = sent_rad
        missing = self.measured_rad[:, None] - self._sent - self._off
        self._misfit = self._kept * self._misfit + np.square(missing).sum(axis=2)
        self._off += (1 - self._trusted) * missing
        self.believed_rad = sent_rad + self._off[self._all, np.argmin(self._misfit, axis=1)]
        self.behind_rad += (1 - self._lately) * (self.believed_rad - self.measured_rad - self.behind_rad)
