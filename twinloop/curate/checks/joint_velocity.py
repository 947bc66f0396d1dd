"""Was a joint faster than the maker allows?"""

import numpy as np

from twinloop.curate.check import Check
from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


def share(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    speed = np.abs(episodes["velocity"][:, :-1]) / np.array(twin.robot.velocity_limits_rad_s)
    return episodes.worst(speed.max(axis=1))


JOINT_VELOCITY = Check(
    name="joint_velocity",
    unit="of limit",
    asks="what share of its velocity limit did a joint reach?",
    measure=share,
    limit=lambda config: config.velocity_share,
)
