"""The path of a bystander's hand, from the rows of the bystander."""

from collections.abc import Mapping

import numpy as np

from twinloop.randomize.bystander import BYSTANDER
from twinloop.twin.bystander import AWAY_M, CENTRE_XY_M, EDGE_M, PEAK, smooth
from twinloop.twin.table import PARKED_M

COLUMNS = (*(row.name for row in BYSTANDER if row.name.startswith("bystander_")), "table_height_cm")
"""The columns of a draw that determine the path of the hand."""


def is_there(draw: Mapping[str, np.ndarray]) -> np.ndarray:
    """(n,) whether somebody reaches into the workspace."""
    return draw["bystander_probability"] > 0.5


def hand_poses(draw: Mapping[str, np.ndarray], time_s: np.ndarray) -> np.ndarray:
    """(n, 7) pose of the hand: waiting outside, moving in with a stop half-way, inside, or moving out."""
    way_m = AWAY_M + draw["bystander_reach_cm"] / 100
    in_s = PEAK * way_m / draw["bystander_speed_m_s"]
    since = time_s - draw["bystander_arrival_s"]
    half_s = in_s / 2
    pause_s = draw["bystander_hesitation_s"]
    came = 0.5 * smooth(since / half_s) + 0.5 * smooth((since - half_s - pause_s) / half_s)
    left = smooth((since - in_s - pause_s - draw["bystander_stay_s"]) / draw["bystander_withdrawal_s"])
    side = np.deg2rad(draw["bystander_side_deg"])
    outwards = np.column_stack([np.cos(side), np.sin(side)])
    sideways = np.column_stack([-np.sin(side), np.cos(side)])
    from_centre_m = EDGE_M + AWAY_M - (came - left) * way_m
    place = CENTRE_XY_M + outwards * from_centre_m[:, None]
    place = place + sideways * (draw["bystander_offset_cm"] / 100)[:, None]
    out = np.zeros((len(time_s), 7))
    out[:, :2] = place
    out[:, 2] = np.where(is_there(draw), (draw["table_height_cm"] + draw["bystander_height_cm"]) / 100, PARKED_M)
    out[:, 3], out[:, 6] = np.cos(side / 2), np.sin(side / 2)
    return out
