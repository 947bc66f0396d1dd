"""Did a joint need more torque than the maker allows?"""

import numpy as np

from twinloop.curate.check import Check
from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

ROUNDING = 1e-6  # a servo at its limit is recorded in single precision


def share(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    torque = np.abs(episodes["effort"][:, :-1]) / np.array(twin.robot.torque_limits_nm)
    return episodes.worst(torque.max(axis=1)) - ROUNDING


JOINT_TORQUE = Check(
    name="joint_torque",
    unit="of limit",
    asks="what share of its torque limit did a joint need?",
    measure=share,
    limit=lambda config: config.torque_share,
)
