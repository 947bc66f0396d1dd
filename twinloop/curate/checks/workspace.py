"""Did the object leave the workspace: too far from the base, or over the edge of the table?"""

import numpy as np

from twinloop.curate.check import Check
from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

BELOW_TABLE_M = 0.03


def farthest(episodes: Episodes, _twin: Twin, _config: CurateConfig) -> np.ndarray:
    position = episodes["environment"][:, :3]
    table_m = np.repeat(episodes.draws.values["table_height_cm"] / 100, episodes.lengths)
    distance = np.linalg.norm(position[:, :2], axis=1)
    return episodes.worst(np.where(position[:, 2] < table_m - BELOW_TABLE_M, np.inf, distance))


WORKSPACE = Check(
    name="workspace",
    unit="m",
    asks="how far from the base was the object (infinite: it fell off the table)?",
    measure=farthest,
    limit=lambda config: config.workspace_m,
)
