"""Did a joint leave its range?"""

import numpy as np

from twinloop.curate.check import Check
from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


def beyond(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    position = episodes["position"][:, :-1]
    low, high = twin.arm_limits_rad.T
    return np.rad2deg(episodes.worst(np.maximum(low - position, position - high).max(axis=1)))


JOINT_POSITION = Check(
    name="joint_position",
    unit="°",
    asks="how far beyond its range was a joint (negative: how far within)?",
    measure=beyond,
    limit=lambda config: config.joint_margin_deg,
)
