"""hand_mass_kg: the mass of the robot's hand, for example with a camera mounted on it."""

import numpy as np

import twinloop as tl
from twinloop.randomize.parameter import Rows


def _hand_mass(rows: Rows, ids: np.ndarray, mass_kg: np.ndarray) -> None:
    """Set the mass of the body that carries the fingers in simulations `ids`, and scale its inertia with it."""
    model = rows.twin.model
    finger = rows.twin.robot.gripper.finger_bodies[0]
    names = [model.body(index).name for index in range(model.nbody)]
    hand = int(model.body_parentid[next(index for index, name in enumerate(names) if name.endswith(finger))])
    mass = rows["body_mass"]
    rows["body_inertia"][ids, hand] *= (mass_kg / mass[ids, hand])[:, None]
    mass[ids, hand] = mass_kg


HAND_MASS = tl.Parameter(
    name="hand_mass_kg",
    group="physics",
    gap="actuation",
    unit="kg",
    touches="the mass of the hand",
    nominal=0.73,
    sensible=(0.6, 1.0),
    source="a wrist camera weighs 0.1 to 0.3 kg",
    plausible=(0.05, 3.0),
    realistic=False,
    apply=_hand_mass,
)
