"""Covariates: what a robot was asked to do. Traits are compared for the same commands.

A robot that is asked to walk fast shows other traits than one that is asked to stand, and a log of 16 episodes has
other commands than the bank. How traits depend on covariates is regressed in the unchanged twin, and taken off every
episode of the bank and of the log. The variation between episodes that remains is two to three times smaller for many
traits.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.diagnose.summary import SHARE
from twinloop.diagnose.traits.table import TRAITS

EPISODES_PER_COVARIATE = 5
"""Least number of the twin's episodes for each covariate. With fewer episodes nothing is adjusted."""
OUTLIER = 4.0
"""Episodes that are further from the regression, in robust standard deviations, are left out: the robot fell there."""
DEVIATION = 1.4826  # standard deviation of a normal distribution, as a multiple of the median absolute value
COVARIATES = np.array([trait.covariate for trait in TRAITS])
ADJUSTED = np.array([not (trait.covariate or trait.outcome or trait.event or trait.unit == SHARE) for trait in TRAITS])
SUCCESS = [trait.name for trait in TRAITS].index("success")


@dataclass(frozen=True)
class Adjustment:
    """How traits depend on covariates.

    Attributes:
        centre: (covariates,) mean in the twin, to which episodes are adjusted.
        slopes: (covariates, traits) on the scale of comparison; 0 for traits that are not adjusted.
    """

    centre: np.ndarray
    slopes: np.ndarray

    def of(self, traits: np.ndarray) -> np.ndarray:
        """(episodes, traits) as they would be for the mean commands."""
        asked = traits[:, COVARIATES] - self.centre
        shift = np.where(np.isfinite(asked), asked, 0.0) @ self.slopes
        out = traits.copy()
        for place in np.flatnonzero(self.slopes.any(axis=0)):
            trait = TRAITS[place]
            scaled = trait.scaled(traits[:, place]) - shift[:, place]
            out[:, place] = np.exp(scaled) - trait.resolution if trait.log else scaled
        return out


def adjustment_of(traits: np.ndarray) -> Adjustment | None:
    """Regress the traits of the unchanged twin's (episodes, traits); None without covariates or with few episodes."""
    asked = traits[:, COVARIATES]
    known = np.isfinite(asked).all(axis=1)
    usable = known & (traits[:, SUCCESS] > 0)
    least = EPISODES_PER_COVARIATE * (1 + asked.shape[1])
    if usable.sum() < least:
        return None
    centre, slopes = asked[usable].mean(axis=0), np.zeros((asked.shape[1], len(TRAITS)))
    for place in np.flatnonzero(ADJUSTED):
        values = TRAITS[place].scaled(traits[:, place])
        kept = usable & np.isfinite(values)
        for _ in range(2):
            if kept.sum() < least:
                break
            columns = np.column_stack([np.ones(len(asked)), asked - centre])
            fitted = np.linalg.lstsq(columns[kept], values[kept], rcond=None)[0]
            slopes[:, place] = fitted[1:]
            distance = np.abs(values - columns @ fitted)
            kept &= distance <= OUTLIER * DEVIATION * np.median(distance[kept]) + 1e-12
    return Adjustment(centre, slopes)
