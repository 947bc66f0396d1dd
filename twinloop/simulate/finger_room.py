"""Room for the fingers of an open gripper at the candidate grips of a thing in clutter."""

import numpy as np

from twinloop.simulate.fixed_jaw import JAW_CLEAR_M, fixed_jaw_m
from twinloop.simulate.view import View
from twinloop.twin.gripper_opening import opening_m
from twinloop.twin.phase import FingerRoom
from twinloop.twin.twin import Twin

FINGER_M = 0.02
"""Thickness and width of a finger."""
TIP_M = 0.01  # from the tool's frame to the ends of the fingers


def blocked_m(twin: Twin, view: View, room: FingerRoom, entity: str, rows: np.ndarray) -> np.ndarray:
    """(rows, candidates) overlap of the two open fingers with other things and with the walls of a bin, in metres.

    Fingers and things are seen from above: a finger that ends below the upper side of a thing must be beside it.
    """
    grips = next(index.grips for index in twin.things if index.name == entity)
    form = view.form(entity)[rows]
    axes = view.axes(entity)[rows]
    tool = np.einsum("nij,ncjk->ncik", axes, grips.axes[form])
    place = view.position(entity)[rows][:, None] + np.einsum("nij,ncj->nci", axes, grips.at_m[form])
    first, second = _asides_m(twin, view.half_extents_m(entity)[rows, 1])
    closing = tool[:, :, :, 1]
    fingers = [place + first[:, None, None] * closing, place + second[:, None, None] * closing]
    tips = np.stack(fingers, axis=2) + TIP_M * tool[:, :, None, :, 2]
    overlap = np.zeros(tips.shape[:3])
    for other in room.things:
        if other == entity:
            continue
        half = view.half_extents_m(other)[rows]
        # A role may be played by the thing that is gripped itself.
        offset = tips - view.position(other)[rows][:, None, None]
        local = np.abs(np.einsum("nij,nckj->ncki", view.axes(other)[rows].transpose(0, 2, 1)[:, :2], offset))
        apart = (local - half[:, None, None, :2]).max(axis=3)
        top = view.position(other)[rows, 2] + (np.abs(view.axes(other)[rows][:, 2, :]) * half).sum(axis=1)
        beside = tips[..., 2] < top[:, None, None]
        overlap += np.where(beside, np.maximum(FINGER_M / 2 - apart, 0), 0)
    if room.within:
        offset = tips - view.position(room.within)[rows][:, None, None]
        local = np.abs(np.einsum("nij,nckj->ncki", view.axes(room.within)[rows].transpose(0, 2, 1)[:, :2], offset))
        beyond = (local + FINGER_M / 2 - np.array(room.half_m)).max(axis=3)
        overlap += np.where(offset[..., 2] < room.wall_m, np.maximum(beyond, 0), 0)
    return overlap.sum(axis=2)


def _asides_m(twin: Twin, half_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) where the two open fingers are along the closing direction, from the middle of a thing.

    Args:
        half_m: (n,) half of the width of the thing.
    """
    opening, jaw_m = opening_m(twin.robot), fixed_jaw_m(twin.robot)
    if not jaw_m:
        aside = np.full(len(half_m), (opening + FINGER_M) / 2)
        return aside, -aside
    # A jaw that does not move stands beside the thing, and the other one is the whole opening away from it.
    still = np.sign(jaw_m) * (half_m + JAW_CLEAR_M + FINGER_M / 2)
    return still, still - np.sign(jaw_m) * (opening + FINGER_M)
