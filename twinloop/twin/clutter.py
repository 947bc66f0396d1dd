"""Clutter: fixed solid objects on the table that are not part of the task. The robot can collide with them."""

import mujoco

from twinloop.twin.objects import GEOM_TYPES

# name -> shape, half extents (m), usual place (m), colour. All are low enough for the hand to pass over them.
THINGS = {
    "mug": ("cylinder", (0.035, 0.035, 0.028), (0.34, 0.03), (0.25, 0.45, 0.5, 1)),
    "book": ("box", (0.06, 0.045, 0.012), (0.64, -0.2), (0.55, 0.2, 0.3, 1)),
    "tin": ("cylinder", (0.025, 0.025, 0.03), (0.66, 0.06), (0.7, 0.7, 0.72, 1)),
    "sponge": ("box", (0.045, 0.03, 0.015), (0.38, 0.3), (0.85, 0.75, 0.25, 1)),
}
CLEARANCE_M = 0.11  # from the task's entities, centre to centre: room for the open hand
PARKED_M = -0.5


def furnish(spec: mujoco.MjSpec) -> None:
    for name, (shape, half, (x, y), rgba) in THINGS.items():
        body = spec.worldbody.add_body(name=f"clutter/{name}", mocap=True, pos=[x, y, PARKED_M])
        size = (half[0], half[2], 0) if shape == "cylinder" else half
        body.add_geom(
            name=f"clutter/{name}", type=GEOM_TYPES[shape], size=size, rgba=rgba, contype=0, conaffinity=3
        )  # fmt: skip
