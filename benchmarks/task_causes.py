"""Why episodes of a cell of the success table are rejected: where they end, and what sets them apart.

A few physical quantities of each episode are compared between rejected and accepted episodes: friction and mass of the
things that the task grips, how far the hand leans, how far the arm stretches, and how close its motors come to their
limits. A quantity that differs is reported with its medians. This is a correlation, found on the episodes of the cell.
"""

from collections import Counter
from typing import Any

import numpy as np
import scipy.stats

from twinloop.curate.failure import last_phases
from twinloop.run.grip_check import gripped_things
from twinloop.simulate.episodes import Episodes
from twinloop.twin.kinematic_chain import KinematicChain
from twinloop.twin.twin import Twin

LEVEL = 0.05
"""Chance of naming a quantity that has no effect, in a cell: it is shared by all quantities."""
FEWEST = 3
"""Fewer accepted or rejected episodes than this are not compared."""


def causes(episodes: Episodes, twin: Twin, accepted: np.ndarray) -> dict[str, Any]:
    """Where the rejected episodes end, and the quantities that set them apart, most distinct first.

    Returns:
        `phase` and `ended_there`: the most common last phase of rejected episodes, and their number in it.
        `quantities`: name -> median of rejected episodes, of accepted ones (None if there are too few) and p-value.
        `hand_lean_deg`: median of rejected episodes: how far the hand is from the vertical at the end.
    """
    rejected = ~accepted
    phases = Counter(phase for phase, bad in zip(last_phases(episodes, twin), rejected, strict=True) if bad and phase)
    quantities = _quantities(episodes, twin)
    differing = {}
    for name, values in quantities.items():
        if min(rejected.sum(), accepted.sum()) < FEWEST or np.ptp(values) == 0:
            continue
        p = float(scipy.stats.mannwhitneyu(values[rejected], values[accepted]).pvalue)
        if p < LEVEL / len(quantities):
            medians = [round(float(np.median(values[rows])), 3) for rows in (rejected, accepted)]
            differing[name] = {"rejected": medians[0], "accepted": medians[1], "p": round(p, 4)}
    phase, count = phases.most_common(1)[0] if phases else ("", 0)
    return {
        "phase": phase,
        "ended_there": count,
        "quantities": dict(sorted(differing.items(), key=lambda item: item[1]["p"])),
        "hand_lean_deg": round(float(np.median(quantities["hand_lean_deg"][rejected])), 1),
    }


def _quantities(episodes: Episodes, twin: Twin) -> dict[str, np.ndarray]:
    """Name -> (n,) values."""
    arm = twin.arms[0]
    last = np.maximum(episodes.starts + episodes.lengths - 1, 0)
    position = np.nan_to_num(episodes["position"][:, arm.columns].astype(float))
    chain = KinematicChain(twin.model, arm.joints, arm.tool_site)
    ends = chain.frames(position[last])
    away = np.linalg.norm(chain.frames(position).position_m[:, :2] - twin.shoulders_m[0][:2], axis=1)
    torque = np.abs(episodes["effort"][:, : twin.joints]) / np.array(twin.robot.torque_limits_nm)
    return {
        "friction": _drawn(episodes, twin, "friction_coefficient", np.min)
        * _drawn(episodes, twin, "surface_friction_ratio", np.min),
        "mass_kg": _drawn(episodes, twin, "object_mass_kg", np.max),
        "grip_force_scale": np.asarray(episodes.draws.values["grip_force_scale"], float),
        "hand_lean_deg": np.rad2deg(np.arccos(np.clip(-ends.rotation[:, 2, 2], -1, 1))),
        "stretch_m": episodes.worst(away),
        "torque_share": episodes.worst(np.nan_to_num(torque).max(axis=1)),
    }


def _drawn(episodes: Episodes, twin: Twin, row: str, worst) -> np.ndarray:
    """(n,) the worst value of a row among the things that the task grips."""
    values = episodes.draws.values
    first = twin.things[0].name
    names = {thing.name for thing in gripped_things(twin.task)} or {first}
    columns = [row if name == first else f"{row}.{name}" for name in names]
    drawn = [np.asarray(values[column], float) for column in columns if column in values]
    return worst(drawn, axis=0) if drawn else np.asarray(values[row], float)
