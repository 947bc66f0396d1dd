"""Upend: turn a gripped thing so that its z axis points up, with the hand on the robot's side of it."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.rotation import cross, product, transposed
from twinloop.twin.scene import Scene

UP = np.array([0.0, 0.0, 1.0])


def upend(
    thing: str,
    to: str,
    *,
    height_m: float = 0.08,
    place_m: float = 0.003,
    tolerance_m: float = 0.006,
    beyond_m: float = 0.0,
    words: str = "",
) -> tuple[Phase, ...]:
    """Carry a thing that was gripped across its z axis to a place, turn it upright, and lower it.

    Args:
        place_m: height above the place at which it is let go, within `tolerance_m`.
        beyond_m: how far beyond the middle of the place it is put, as seen from the robot.
    """
    words = words or f"turn the {{{thing}}} upright"

    def above(height: float):
        def target(scene: Scene, _memory: Memory) -> Target:
            position = scene.position(to) + beyond_m * _away(scene, to)
            position[:, 2] += scene.half_extents_m(thing)[:, 2] + height
            return Target(position, upright_axes(scene, thing))

        return target

    about = {"thing": thing, "anchor": to, "moves": thing, "gripper": "closed", "carrying": thing, "turns": True}
    return (
        Phase("upend", above(height_m), words, speed_m_s=0.25, tolerance_m=0.02, longest_s=6.0, lost_m=0.06, **about),
        Phase(
            "place", above(place_m), words, speed_m_s=0.12, tolerance_m=tolerance_m, longest_s=5.0, lost_m=0.06, **about
        ),
    )


def upright_axes(scene: Scene, thing: str) -> np.ndarray:
    """(n, 3, 3) axes of the tool at which the gripped thing stands and the tool points away from the robot."""
    grip = product(transposed(scene.axes(thing)), scene.tool_axes)
    # The approach in the thing's frame, without its part along the thing's own axis.
    approach = grip[:, :, 2].copy()
    approach[:, 2] = 0
    approach /= np.maximum(np.sqrt(np.square(approach).sum(axis=1)), 1e-6)[:, None]
    up = np.broadcast_to(UP, approach.shape)
    away = _away(scene, thing)
    own = np.stack([approach, cross(up, approach), up], axis=2)
    world = np.stack([away, cross(up, away), up], axis=2)
    return product(product(world, transposed(own)), grip)


def _away(scene: Scene, entity: str) -> np.ndarray:
    """(n, 3) horizontal unit vectors from the arm's first joint to an entity."""
    away = scene.position(entity) - scene.shoulder_m
    away[:, 2] = 0
    return away / np.maximum(np.sqrt(np.square(away).sum(axis=1)), 1e-6)[:, None]
