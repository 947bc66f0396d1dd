"""The own numbers of a rehearsal cell: how its robot, table and things differ from the twin within tolerances.

They are drawn once from the seed of the cell, so that no cell equals the twin. Sources of the tolerances:

- link lengths of machined arms: ISO 2768-1, class fine (by length: 0.05, 0.1, 0.15, 0.2, 0.3 mm);
  of printed arms (no joint above 5 N·m): 0.5 %, at least 0.2 mm (usual figure of desktop FDM printers)
- table: ISO 2768-2, flatness class K: 0.6 mm over 300 to 1000 mm, as height and as slope
- mass of things: 4.5 % (Directive 76/211/EEC, tolerable error of packages of 100 to 200 g)
- mass of links 5 %, centre of mass 3 mm, inertia 10 %: engineering estimate, about what identified models of an arm
  (Gaz et al., RA-L 4, 2019, for the Panda) differ from each other
- joint friction: up to 0.5 % of the torque limit, of the order that the same authors identify for the Panda
- motors: stiffness and damping 10 %, strength 5 %, filter 20 %, velocity feed-forward up to 0.3: engineering estimates
- friction of pads, table and things 10 %, of fixtures' joints 30 %: engineering estimates
"""

from copy import copy
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.randomize.draw import episode_rng
from twinloop.twin.twin import Twin

FINE_M = ((0.006, 5e-5), (0.03, 1e-4), (0.12, 1.5e-4), (0.4, 2e-4), (np.inf, 3e-4))
"""(longest length, tolerance) of ISO 2768-1, class f."""
PRINTED_NM, PRINTED_SHARE, PRINTED_M = 5.0, 0.005, 2e-4
TABLE_M = 6e-4
THING_MASS, LINK_MASS, LINK_INERTIA, LINK_COM_M = 0.045, 0.05, 0.10, 0.003
SERVO, STRENGTH, FILTER, FEED_FORWARD = 0.10, 0.05, 0.20, 0.3
JOINT_FRICTION, SURFACE, FIXTURE_JOINT = 0.005, 0.10, 0.30
ROBOT = "robot/"


@dataclass(frozen=True)
class OwnNumbers:
    """The own numbers of a cell. Arrays have one element per arm joint; factors multiply the twin's value.

    Attributes:
        model: the twin's model with other masses, inertias, lengths, table and fixtures' joints.
        stiffness, damping, strength, filter: factors of the servos.
        grip: factor of the strength of each gripper.
        feed_forward: share of the commanded velocity that the servo knows.
        friction_nm: Coulomb friction of the arm's joints, besides that of the row.
        surface: factors of friction of things, pads and table.
        table_m, table_slope: height of the table's surface, and its slope along x and y.
    """

    model: mujoco.MjModel
    stiffness: np.ndarray
    damping: np.ndarray
    strength: np.ndarray
    filter: np.ndarray
    grip: np.ndarray
    feed_forward: np.ndarray
    friction_nm: np.ndarray
    surface: dict[str, float]
    table_m: float
    table_slope: np.ndarray


def own_numbers(twin: Twin, *, seed: int, size: float) -> OwnNumbers:
    """Draw the own numbers of a cell. `size` multiplies all tolerances; at 0 the cell is the twin."""
    rng = episode_rng(seed, 0, stream="own numbers")
    joints, limits_nm = len(twin.arm_joints), np.array(twin.robot.torque_limits_nm)

    def factor(tolerance: float, count: int | None = None) -> np.ndarray:
        return np.asarray(1 + size * tolerance * rng.uniform(-1, 1, count))

    stiffness, damping, strength, filters = (factor(share, joints) for share in (SERVO, SERVO, STRENGTH, FILTER))
    grip = factor(STRENGTH, len(twin.arms))
    feed_forward = size * FEED_FORWARD * rng.uniform(0, 1, joints)
    friction_nm = size * JOINT_FRICTION * limits_nm * rng.uniform(0, 1, joints)
    surface = {name: float(factor(SURFACE)) for name in ("thing", "left", "right", "table")}
    table_m, slope = float(size * TABLE_M * rng.uniform(-1, 1)), size * TABLE_M * rng.uniform(-1, 1, 2)
    model = _own_model(twin, rng, size, printed=bool(limits_nm.max() < PRINTED_NM))
    return OwnNumbers(
        model, stiffness, damping, strength, filters, grip, feed_forward, friction_nm, surface, table_m, slope
    )


def _own_model(twin: Twin, rng: np.random.Generator, size: float, *, printed: bool) -> mujoco.MjModel:
    model = copy(twin.model)
    for body in range(1, model.nbody):
        # Every body draws the same count of numbers, so that a scene with more things has the same robot.
        mass, inertia = rng.uniform(-1, 1, 2)
        com, length, com_thing = rng.uniform(-1, 1, (3, 3))
        if model.body(body).name.startswith(ROBOT):
            model.body_mass[body] *= 1 + size * LINK_MASS * mass
            model.body_inertia[body] *= (1 + size * LINK_MASS * mass) * (1 + size * LINK_INERTIA * inertia)
            extent_m = np.linalg.norm(model.body_ipos[body])
            model.body_ipos[body] += size * min(LINK_COM_M, 0.05 * extent_m) * com
            model.body_pos[body] += size * _tolerance_m(model.body_pos[body], printed) * length
        elif model.body_dofnum[body] == 6:
            model.body_mass[body] *= 1 + size * THING_MASS * mass
            model.body_inertia[body] *= (1 + size * THING_MASS * mass) * (1 + size * THING_MASS * inertia)
            model.body_ipos[body] += size * 0.001 * com_thing
        elif model.body_dofnum[body] == 1:
            dof = int(model.body_dofadr[body])
            model.dof_damping[dof] *= 1 + size * FIXTURE_JOINT * mass
            model.dof_frictionloss[dof] *= 1 + size * FIXTURE_JOINT * inertia
    return model


def _tolerance_m(lengths_m: np.ndarray, printed: bool) -> np.ndarray:
    """Return the tolerance of each length; 0 for a length of 0, because the two axes then meet by design."""
    sizes = np.abs(lengths_m)
    if printed:
        tolerance = np.maximum(PRINTED_SHARE * sizes, PRINTED_M)
    else:
        tolerance = np.array([next(tolerance for most, tolerance in FINE_M if size <= most) for size in sizes])
    return np.where(sizes > 1e-9, tolerance, 0.0)
