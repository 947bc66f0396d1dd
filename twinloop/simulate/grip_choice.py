"""Choose the grip of a thing or handle when a phase begins."""

import numpy as np

from twinloop.simulate.finger_room import blocked_m
from twinloop.simulate.fixed_jaw import beside_jaw, fixed_jaw_m
from twinloop.simulate.view import View
from twinloop.twin.objects import Part
from twinloop.twin.phase import GripChoice
from twinloop.twin.products.pool import bounds_of
from twinloop.twin.rotation import DOWN, about, about_z, product
from twinloop.twin.twin import Twin

BAR_M = 0.008
"""Half width of handles."""
CLOSING = np.array([0.0, 1.0, 0.0])
"""Direction in which the fingers close, in the tool's frame."""


def chosen_grips(
    twin: Twin, view: View, choice: GripChoice, wanted: np.ndarray, base_m: tuple[float, float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """(n, 3) and (n, 3, 3) pose of the tool in the frame of what is gripped, in the scenes where `wanted` is True.

    Args:
        base_m: where the arm stands.
    """
    count = len(view.tool_position)
    if choice.approach == "frame":
        # A frame is made for the grip: the tool's axes are its axes, or the same with the fingers exchanged.
        identity = np.broadcast_to(np.eye(3), (count, 3, 3))
        turned = np.broadcast_to(np.diag([-1.0, -1.0, 1.0]), (count, 3, 3))
        halfway, near = view.axes(choice.of), view.tool_axes
        if choice.turn_rad:
            halfway = product(about_z(np.full(count, choice.turn_rad / 2)), halfway)
            near = _relaxed_axes(twin, view.position(choice.of), base_m)
        alike = (halfway[:, :, 1] * near[:, :, 1]).sum(axis=1)
        axes = np.where((alike >= 0)[:, None, None], identity, turned)
        return beside_jaw(twin.robot, np.zeros((count, 3)), axes, BAR_M), axes
    axes, at_m = np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3))
    for entity in view.entity_of(choice.of):
        rows = np.flatnonzero(wanted & view.played_by(choice.of, entity))
        if len(rows):
            grips = next(index.grips for index in twin.things if index.name == entity)
            at_m[rows], axes[rows] = grips.choose(
                view.form(entity)[rows],
                view.axes(entity)[rows],
                view.tool_axes[rows],
                _approach(view, choice)[rows],
                np.array(choice.along),
                None if choice.room is None else blocked_m(twin, view, choice.room, entity, rows),
            )
    if choice.tilt_rad:
        most_rad = np.inf if twin.robot.area is None else twin.robot.area.lean_rad
        axes = product(axes, about(CLOSING, np.full(count, np.clip(choice.tilt_rad, -most_rad, most_rad))))
    grip_m = at_m + np.array(choice.offset_m) - choice.raise_m * axes[:, :, 2]
    if not fixed_jaw_m(twin.robot):
        return grip_m, axes
    half_m = (np.abs(axes[:, :, 1]) * view.half_extents_m(choice.of)).sum(axis=1)
    for entity in view.entity_of(choice.of):
        parts = next(index.object.parts for index in twin.things if index.name == entity)
        if parts:
            rows = np.flatnonzero(wanted & view.played_by(choice.of, entity))
            half_m[rows] = _half_width_m(parts, grip_m[rows], axes[rows, :, 1], half_m[rows])
    return beside_jaw(twin.robot, grip_m, axes, half_m, rolls=is_round(twin, choice)), axes


def _half_width_m(parts: tuple[Part, ...], grip_m: np.ndarray, closing: np.ndarray, whole_m: np.ndarray) -> np.ndarray:
    """(n,) how far the parts at a grip extend along the closing direction; `whole_m` if no part is there.

    Args:
        grip_m, closing: (n, 3) in the frame of the thing.
        whole_m: (n,) how far the whole thing extends.
    """
    out = np.zeros(len(grip_m))
    across = np.abs(closing) < 0.7
    for part in parts:
        low, high = bounds_of(part)
        there = (((grip_m > low) & (grip_m < high)) | ~across).all(axis=1)
        sides = (np.maximum(sign * closing * low, sign * closing * high).sum(axis=1) for sign in (1, -1))
        out = np.where(there, np.maximum(out, np.maximum(*sides)), out)
    return np.where(out > 0, np.minimum(out, whole_m), whole_m)


def _relaxed_axes(twin: Twin, position: np.ndarray, base_m: tuple[float, float, float]) -> np.ndarray:
    """(n, 3, 3) axes of the tool of an arm at home that has turned towards (n, 3) positions."""
    number = next(number for number, index in enumerate(twin.arms) if index.arm.base_m == base_m)
    (x, y, _), axes = twin.home_tools[number]
    home_rad = np.arctan2(y - base_m[1], x - base_m[0])
    turn_rad = np.arctan2(position[:, 1] - base_m[1], position[:, 0] - base_m[0]) - home_rad
    return about_z(turn_rad) @ axes


def _approach(view: View, choice: GripChoice) -> np.ndarray:
    """(n, 3) wanted direction of the tool's z axis."""
    if choice.approach == "top":
        return np.broadcast_to(DOWN, (len(view.tool_position), 3))
    # From the side of the robot, whose base is in the way of other sides.
    away = view.position(choice.of) - view.shoulder_m
    away[:, 2] = 0
    return away / np.maximum(np.sqrt(np.square(away).sum(axis=1)), 1e-6)[:, None]


def is_round(twin: Twin, choice: GripChoice) -> bool:
    """Whether a grip is on a thing that may roll."""
    role = next((role for role in twin.task.roles if role.name == choice.of), None)
    names = role.candidates if role else (choice.of,)
    return any(index.object.rolls and not index.object.pool for index in twin.things if index.name in names)
