"""The physical rows of the parameter table, in the order in which they are applied.

Rows are computed from the current values of the model fields, which are reset to the twin's own values before the first
row is applied. So a slot that is used again does not drift.
"""

import mujoco
import numpy as np

from twinloop.randomize.hooks import Rows
from twinloop.randomize.parameter import DRIVEN, Parameter
from twinloop.randomize.uses import CellTruth, Picture
from twinloop.twin.robot import Robot

USUAL_WIDTH_M = 0.04
"""Width of the things that the ranges of masses and centres of mass are for."""


def _object_size(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    body, cells = rows.twin.object_body, np.ix_(ids, rows.twin.object_geoms)
    rows["geom_size"][cells] *= scale[:, None, None]
    rows["geom_rbound"][cells] *= scale[:, None]
    rows["geom_aabb"][cells] *= scale[:, None, None]
    # The mass stays the same, and inertia grows with the square of the size.
    rows["body_inertia"][ids, body] *= scale[:, None] ** 2
    if rows.twin.forms is not None:
        rows["geom_pos"][cells] *= scale[:, None, None]
        rows["body_ipos"][ids, body] *= scale[:, None]


def _object_mass(rows: Rows, ids: np.ndarray, mass_kg: np.ndarray) -> None:
    soft = rows.twin.soft
    bodies = np.array([rows.twin.object_body]) if soft is None else soft.bodies
    cells, mass = np.ix_(ids, bodies), rows["body_mass"]
    # Mass and inertia are scaled together. This row is applied after the size, which sets the inertia of the shape.
    share = (mass_kg / len(bodies))[:, None]
    rows["body_inertia"][cells] *= (share / mass[cells])[:, :, None]
    mass[cells] = share


def _object_com(rows: Rows, ids: np.ndarray, offset_mm: np.ndarray) -> None:
    rows["body_ipos"][ids, rows.twin.object_body] += offset_mm / 1000


def _object_inertia(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    # The mass is further out or in than in a homogeneous solid. Applied after the mass, which sets the inertia.
    rows["body_inertia"][ids, rows.twin.object_body] *= scale[:, None]


def surface(rows: Rows, field: str) -> tuple[np.ndarray, np.ndarray]:
    """A field of the object's surface, e.g. "friction", and the indices of its geoms or of a soft object's flex."""
    soft = rows.twin.soft
    if soft is not None:
        return rows[f"flex_{field}"], np.array([soft.flex])
    return rows[f"geom_{field}"], rows.twin.object_geoms


def _friction(column: int, scale: float):
    def apply(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
        friction, where = surface(rows, "friction")
        friction[(*np.ix_(ids, where), column)] = (values * scale)[:, None]

    return apply


def _contact_stiffness(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    # solref is (time constant, damping ratio), and stiffness is proportional to 1 / time constant squared. The engine
    # needs a time constant of at least two steps.
    solref, where = surface(rows, "solref")
    cells, shortest = (*np.ix_(ids, where), 0), 2 * rows.twin.model.opt.timestep
    solref[cells] = np.maximum(solref[cells] / np.sqrt(scale)[:, None], shortest)


def _contact_damping(rows: Rows, ids: np.ndarray, ratio: np.ndarray) -> None:
    solref, where = surface(rows, "solref")
    solref[(*np.ix_(ids, where), 1)] = ratio[:, None]


def _joint_damping(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
    rows["dof_damping"][np.ix_(ids, rows.twin.arm_dofs)] = values[:, None]


def _joint_friction(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
    rows["dof_frictionloss"][np.ix_(ids, rows.twin.arm_dofs)] = values[:, None]


def _thing_scale(robot: Robot) -> float:
    """How much smaller than 40 mm, for which the ranges are, the things of a robot with a small hand are."""
    return 1.0 if robot.widest_grip_m is None else min(1.0, robot.widest_grip_m / USUAL_WIDTH_M)


def _volume_scale(robot: Robot) -> float:
    return _thing_scale(robot) ** 3


def _most_damping(robot: Robot) -> float:
    return 0.25 * min(
        torque / speed for torque, speed in zip(robot.torque_limits_nm, robot.velocity_limits_rad_s, strict=True)
    )


def _most_friction(robot: Robot) -> float:
    return 0.08 * min(robot.torque_limits_nm)


def _servo_stiffness(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    cells = np.ix_(ids, rows.twin.arm_controls)
    gain, bias = rows["actuator_gainprm"], rows["actuator_biasprm"]
    gain[(*cells, 0)] *= scale[:, None]
    bias[(*cells, 1)] *= scale[:, None]


def _servo_damping(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    rows["actuator_biasprm"][(*np.ix_(ids, rows.twin.arm_controls), 2)] *= scale[:, None]


def _grip_force(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    rows["actuator_forcerange"][np.ix_(ids, rows.twin.gripper_controls)] *= scale[:, None, None]


def _gravity_tilt(rows: Rows, ids: np.ndarray, tilt_deg: np.ndarray) -> None:
    tilt = np.deg2rad(tilt_deg)
    strength = -float(np.linalg.norm(rows.twin.model.opt.gravity))
    down = np.column_stack([np.sin(tilt[:, 0]), np.sin(tilt[:, 1]), np.cos(np.hypot(tilt[:, 0], tilt[:, 1]))])
    rows["opt.gravity"][ids] = strength * down / np.linalg.norm(down, axis=1, keepdims=True)


def _table_height(rows: Rows, ids: np.ndarray, height_cm: np.ndarray) -> None:
    rows["body_pos"][ids, rows.twin.table_body, 2] = height_cm / 100


ROCKING = Picture("tumble", given={"object_shape": 3.0}, why="An ellipsoid rocks on the table.")

PHYSICS = (
    Parameter("object_size_scale", "physics", "object", "×", "object half extents, bounds and inertia",
              1.0, (0.85, 1.2),
              "robogym varies its cube by 0.95 to 1.05, hora (in-hand rotation) by 0.7 to 0.86; ours is what an 80 "
              "mm stroke still grips with room",
              (0.3, 2.0), apply=_object_size, of_thing=True, only_with=("rigid", "primitives", "no_hole"),
              truth=CellTruth((0.8, 1.25))),
    Parameter("object_mass_kg", "physics", "object", "kg", "object mass, inertia in proportion, constants recomputed",
              0.15, (0.05, 0.4),
              "YCB objects of a hand's size: 0.049 kg (pear) to 0.414 kg (coffee can); Calli et al., 'The YCB "
              "Object and Model Set', 2015; for the smaller things of a small hand in proportion to their volume",
              (0.001, 5.0), apply=_object_mass, of_thing=True, scale_for=_volume_scale, picture=Picture("support"),
              truth=CellTruth((0.4, 3.0), nominal=1.0, plausible=(0.05, 20.0), name="object_mass_scale", unit="×",
                              touches="mass of all objects, as a factor")),
    Parameter("friction_coefficient", "physics", "contact", "1", "sliding friction of every contact of the object",
              0.8, (0.2, 1.1),
              "steel on plastic slides from 0.18 and dry wood sticks to wood up to 0.75 (Lust CDA3000 Engineering "
              "Guide, table 7.21); above that clean rubber (estimate); an acrylic cube on wood was fitted with 0.17 "
              "to 0.18 (benchmarks/reality.py), so widen it for such pairs",
              (0.01, 5.0), apply=_friction(0, 1.0), of_thing=True, truth=CellTruth(0.3),
              picture=Picture("hold", given={"object_mass_kg": 0.8}, why="The object weighs 800 g.")),
    Parameter("torsional_friction_mm", "physics", "contact", "mm", "friction against spinning on a contact",
              5.0, (1.0, 10.0), "2/3 of the radius of an evenly pressed round patch, of 1.5 to 15 mm",
              (0.0, 100.0), apply=_friction(1, 1e-3), of_thing=True,
              picture=Picture("tumble", given={"object_com_offset_mm": 4.0, "object_mass_kg": 0.4},
                              why="The object is gripped off its centre of mass, so it swings.")),
    Parameter("rolling_friction_mm", "physics", "contact", "mm",
              "friction against rolling of every contact of the object",
              0.2, (0.05, 0.5),
              "0.5 mm is the lever arm of steel on steel (Lust CDA3000 Engineering Guide, table 7.22), with 2 "
              "for plastic wheels; small light things less (estimate)",
              (0.0, 20.0), apply=_friction(2, 1e-3), of_thing=True, builds=("rolling_friction",), picture=ROCKING),
    Parameter("contact_stiffness_scale", "physics", "contact", "×", "stiffness of every contact of the object",
              1.0, (0.3, 2.0),
              "fits to tosses of an acrylic cube on wood (benchmarks/reality.py): time constants of 6.8 to 8.9 ms "
              "are 1.3 to 2.2; cardboard is softer (estimate)",
              (0.01, 100.0), apply=_contact_stiffness, of_thing=True,
              # Stiffer or less damped contacts chatter at the cell's time step; objects then stick that should slide.
              truth=CellTruth(0.2, plausible=(0.05, 1.2))),
    Parameter("contact_damping_ratio", "physics", "contact", "1", "damping of every contact of the object",
              1.0, (0.6, 1.4),
              "1 is critical, MuJoCo's default; springier things less (estimate); an acrylic cube on wood was fitted "
              "with 1.4 to 2.3 (benchmarks/reality.py), so widen it for such things",
              (0.05, 5.0), apply=_contact_damping, of_thing=True,
              truth=CellTruth(30.0, nominal=50.0, plausible=(30.0, 500.0), name="contact_dissipation_s_m", unit="s/m",
                              touches="damping of the contacts of the object")),
    Parameter("joint_damping_nms_rad", "physics", "actuation", "N·m·s/rad", "viscous friction of every arm joint",
              0.0, (0.0, 5.0),
              "robogym's calibrated UR16e has 8 to 27 at five of six joints; smaller arms less (estimate), and at "
              "most a quarter of the weakest joint's torque at its full speed",
              (0.0, 100.0), apply=_joint_damping, most_for=_most_damping, robots=DRIVEN),
    Parameter("joint_friction_nm", "physics", "actuation", "N·m", "Coulomb friction of every arm joint",
              0.0, (0.0, 1.0), "some tenths of a N·m a joint identified by Gaz et al. 2019, and wear; at most 8 % of "
              "the weakest joint's torque",
              (0.0, 20.0), apply=_joint_friction, truth=CellTruth(1.5), most_for=_most_friction, robots=DRIVEN),
    Parameter("servo_stiffness_scale", "physics", "actuation", "×", "position gain of every arm servo",
              1.0, (0.7, 1.3),
              "0.75 to 1.5 in robogym and in Isaac Lab's Shadow Hand task, 0.8 to 1.3 in walk-these-ways",
              (0.05, 10.0), apply=_servo_stiffness, truth=CellTruth(0.4), robots=DRIVEN),
    Parameter("servo_damping_scale", "physics", "actuation", "×", "velocity gain of every arm servo",
              1.0, (0.7, 1.3),
              "1/1.5 to 1.5 in robogym, 0.5 to 1.5 in walk-these-ways, 0.3 to 3 in Isaac Lab's Shadow Hand task",
              (0.05, 10.0), apply=_servo_damping, truth=CellTruth(0.8), robots=DRIVEN),
    Parameter("grip_force_scale", "physics", "actuation", "×", "largest force of the gripper",
              1.0, (0.5, 1.5), "20 to 60 N a finger; 70 N continuous in the Franka Hand's manual",
              (0.01, 10.0), apply=_grip_force, truth=CellTruth(0.3), picture=Picture("grip")),
    Parameter("object_position_noise_cm", "physics", "environment", "cm", "where the object starts on the table",
              0.0, (-2.0, 2.0),
              "Isaac Lab's Factory tasks begin with the hand within ±2 cm, DeXtreme resets its cube within ±3 cm",
              (-25.0, 25.0), ("x", "y"), of_thing=True,
              lays_out=True, truth=CellTruth((-6.0, 6.0), nominal=(-2.0, 2.0))),
    Parameter("object_yaw_deg", "physics", "environment", "°", "how the object is turned about the vertical",
              0.0, (-45.0, 45.0), "all that differs for a cube", (-180.0, 180.0), of_thing=True, lays_out=True,
              truth=CellTruth((-45.0, 45.0)), picture=Picture("object", scene="object: block")),
    Parameter("target_position_noise_cm", "physics", "environment", "cm", "where the target zone lies",
              0.0, (-3.0, 3.0),
              "Isaac Lab's Factory tasks place the fixed part within ±5 cm; by hand people are nearer (estimate)",
              (-25.0, 25.0), ("x", "y"), lays_out=True,
              truth=CellTruth((-4.0, 4.0))),
    Parameter("gravity_tilt_deg", "physics", "environment", "°", "direction of gravity: a base that is not level",
              0.0, (-2.0, 2.0),
              "robogym adds 0.4 m/s² (one deviation) to gravity, which tilts it by 2.3°",
              (-15.0, 15.0), ("x", "y"), apply=_gravity_tilt,
              truth=CellTruth(1.5),
              picture=Picture("way", given={"friction_coefficient": 0.03}, why="On a slippery table."), robots=DRIVEN),
    Parameter("table_height_cm", "physics", "environment", "cm", "height of the table against the robot's base",
              0.0, (-1.0, 1.0), "a bench measured by hand", (-20.0, 20.0), apply=_table_height,
              truth=CellTruth((-0.8, 0.8))),
    Parameter("object_com_offset_mm", "physics", "object", "mm", "where the object's mass is centred",
              0.0, (-4.0, 4.0),
              "hora (in-hand rotation) shifts it by up to 10 mm; ours is a fifth of a 40 mm thing's half extent",
              (-50.0, 50.0), ("x", "y", "z"), apply=_object_com, of_thing=True, scale_for=_thing_scale,
              builds=("off_centre_mass",), only_with=("rigid",), truth=CellTruth((-8.0, 8.0)),
              picture=Picture("tumble")),
    Parameter("object_inertia_scale", "physics", "object", "×", "how far out the object's mass lies",
              1.0, (0.7, 1.5), "a thin-walled cube has 5/3 of a solid one's inertia, one with a core less",
              (0.1, 5.0), apply=_object_inertia, of_thing=True, only_with=("rigid",), picture=ROCKING),
)  # fmt: skip

RECOMPUTED = frozenset(mujoco.MjModel._setconst_inputs)
"""Model fields whose change makes derived constants stale."""
