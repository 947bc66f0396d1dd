"""Rows of the contact and object gaps: shape and material of the object, finger pads and contact solver.

Published figures name their source. The others are marked as engineering estimates.
"""

import numpy as np

from twinloop.randomize.hooks import Rows
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.physics import surface
from twinloop.randomize.uses import Condition, Picture
from twinloop.twin.shapes import OWN, SHAPES, form_of, half_extents_m, product_of
from twinloop.twin.soft import axes_of, quaternions_of
from twinloop.twin.solid import PAD_IMPEDANCE

INSERT_RADIUS_M = 0.004
FACE_CONTACTS, ROUND_CONTACTS = 4, 2  # contacts of a pad with a flat face and with a round side


def _shape(rows: Rows, ids: np.ndarray, shape: np.ndarray) -> None:
    twin = rows.twin
    forms, body = twin.forms, twin.object_body
    assert forms is not None
    form, cells = form_of(shape), np.ix_(ids, twin.object_geoms)
    for field, values in (
        ("geom_type", forms.kind),
        ("geom_size", forms.size),
        ("geom_pos", forms.place),
        ("geom_quat", forms.quat),
        ("geom_rbound", forms.radius),
        ("geom_aabb", forms.box),
        ("geom_contype", 2 * forms.solid),
        ("geom_conaffinity", 1 * forms.solid),
    ):
        rows[field][cells] = values[form]
    rows["body_ipos"][ids, body] = forms.centre[form]
    rows["body_iquat"][ids, body] = forms.turn[form]
    rows["body_inertia"][ids, body] = twin.object.mass_kg * forms.inertia[form]


def _product(rows: Rows, ids: np.ndarray, mix: np.ndarray) -> None:
    """Give a thing of a pool the parts and the mass of the drawn product."""
    twin = rows.twin
    kind, forms, body = twin.object, twin.forms, twin.object_body
    if not kind.pool or forms is None:
        return
    form, geoms = product_of(kind, mix), twin.object_geoms
    cells = np.ix_(ids, geoms)
    solid = forms.solid[form]
    for field, values in (
        ("geom_type", forms.kind[form]),
        ("geom_size", forms.size[form]),
        ("geom_pos", forms.place[form]),
        ("geom_quat", forms.quat[form]),
        ("geom_rbound", forms.radius[form]),
        ("geom_aabb", forms.box[form]),
        # The first part is always there, so it has the contact bits of all.
        ("geom_contype", twin.model.geom_contype[geoms[0]] * solid),
        ("geom_conaffinity", twin.model.geom_conaffinity[geoms[0]] * solid),
    ):
        rows[field][cells] = values
    mass_kg = np.array([shape.mass_kg for shape in kind.pool])[form]
    rows["body_mass"][ids, body] = mass_kg
    rows["body_ipos"][ids, body] = forms.centre[form]
    rows["body_iquat"][ids, body] = forms.turn[form]
    rows["body_inertia"][ids, body] = mass_kg[:, None] * forms.inertia[form]


def _second_material(rows: Rows, ids: np.ndarray, ratio: np.ndarray) -> None:
    rows["geom_friction"][ids, rows.twin.object_geoms[1], 0] *= ratio


def _insert(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
    """Concentrate part of the mass in a small ball. Centre of mass and inertia change, the total mass does not."""
    share, place, scale, shape = values[:, 0], values[:, 1:4], values[:, 4], values[:, 5]
    body = rows.twin.object_body
    extents = half_extents_m(rows.twin.object, {"object_size_scale": scale, "object_shape": shape})
    ball_at = place * extents
    mass, rest_at = rows["body_mass"][ids, body], rows["body_ipos"][ids, body]
    centre = rest_at + share[:, None] * (ball_at - rest_at)
    axes = axes_of(rows["body_iquat"][ids, body])
    rest = (axes * rows["body_inertia"][ids, body][:, None, :])[:, :, None, :] * axes[:, None, :, :]
    tensor = (1 - share)[:, None, None] * (rest.sum(axis=3) + _about(rest_at - centre, mass))
    ball = 0.4 * share * mass * INSERT_RADIUS_M**2
    tensor += share[:, None, None] * _about(ball_at - centre, mass) + ball[:, None, None] * np.eye(3)
    inertia, turn = np.linalg.eigh(tensor)
    # The axes must form a right-handed frame to be a rotation.
    turn[:, :, 2] *= np.linalg.det(turn)[:, None]
    rows["body_ipos"][ids, body] = centre
    rows["body_iquat"][ids, body] = quaternions_of(turn)
    rows["body_inertia"][ids, body] = inertia


def _about(offset: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """(n, 3, 3) inertia of a point mass at an offset."""
    square = np.square(offset).sum(axis=1)[:, None, None] * np.eye(3)
    return mass[:, None, None] * (square - offset[:, :, None] * offset[:, None, :])


def _pad_stiffness(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
    """Set the pads' time constant, and where that is not enough their impedance, for a given stiffness.

    The engine's contact is a spring of stiffness 1 / ((1 - d) A t²), with d its impedance, A the sum of the two bodies'
    inverse masses, and t its time constant. This is solved for t. A flat pad has four such springs in parallel on a
    face, and two on a round side, where a pad of rubber is nearly as stiff as on a face.
    """
    twin = rows.twin
    stiffness_n_m = 1000 * values / (ROUND_CONTACTS if twin.object.rolls else FACE_CONTACTS)
    model = twin.model
    fingers = model.body_invweight0[model.geom_bodyid[twin.pad_geoms], 0].mean()
    inverse_mass = fingers + 1 / rows["body_mass"][ids, twin.object_body]
    softness_s2 = 1 / (stiffness_n_m * inverse_mass)
    # The engine needs a time constant of two steps at least. Below that, a higher impedance makes the pad stiffer.
    time_s = np.maximum(np.sqrt(softness_s2 / (1 - PAD_IMPEDANCE)), 2 * model.opt.timestep)
    impedance = 1 - softness_s2 / np.square(time_s)
    pads = np.ix_(ids, twin.pad_geoms)
    rows["geom_solref"][(*pads, 0)] = time_s[:, None]
    for end in (0, 1):
        rows["geom_solimp"][(*pads, end)] = impedance[:, None]


def _impratio(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
    rows["opt.impratio"][ids] = values


def _iterations(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
    rows["opt.iterations"][ids] = np.round(values)


def _noslip(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
    rows["opt.noslip_iterations"][ids] = np.round(values)


def _margin(rows: Rows, ids: np.ndarray, margin_mm: np.ndarray) -> None:
    margin, where = surface(rows, "margin")
    margin[np.ix_(ids, where)] = margin_mm[:, None] / 1000


def _young(rows: Rows, ids: np.ndarray, young_kpa: np.ndarray) -> None:
    # The forces of a linear material are proportional to its modulus.
    rows["flex_stiffness"][ids] *= (young_kpa / rows.twin.object.young_kpa)[:, None]


def _shape_name(shape: float) -> str:
    return "" if round(shape) == OWN else SHAPES[round(shape)]


# Rows only for rigid objects include the solver's iterations and the pads: the solver also integrates the elasticity of
# a soft object and diverges with few iterations, and a soft object is softer than any pad.
MATTER = (
    Parameter("pad_stiffness_n_mm", "physics", "contact", "N/mm", "stiffness of each finger's pad under a flat face",
              120.0, (30.0, 60.0), "E·A/h of an 18 × 24 mm pad 5 mm thick (our estimate) of rubber of Shore A 8 to 20: "
              "0.35 to 0.7 MPa by Gent's relation of hardness and modulus, 1958",
              (1.0, 1000.0), apply=_pad_stiffness, builds=("soft_pads",), only_with=("rigid",)),
    Parameter("solver_impratio", "physics", "contact", "×", "how much harder than sinking in the solver resists slip",
              1.0, (1.0, 10.0), "1 is MuJoCo's default, 10 what its manual advises for manipulation; left out of "
              "`realistic`, since it may halve the speed", (0.1, 100.0), apply=_impratio, realistic=False, reach=0.0),
    Parameter("solver_iterations", "physics", "contact", "steps", "most steps the solver takes to find contact forces",
              100.0, (6.0, 20.0), "measured with other rows of `realistic`, accepted of 64 with 4, 5, 6 and 20 steps: "
              "Panda 51, 60, 62, 62, SO-101 14, 47, 63, 63 (`benchmarks/solver_steps.py`); 100 is MuJoCo's default",
              (1.0, 1000.0), apply=_iterations, only_with=("rigid",), reach=0.0,
              picture=Picture("height", over=(2.0, 20.0),
                              why="With too few iterations the object is not held; six are enough.")),
    Parameter("solver_noslip_iterations", "physics", "contact", "steps", "steps that remove the creep of held contacts",
              0.0, (0.0, 3.0), "0 is MuJoCo's default, 1 to 3 what its manual advises against slow slippage",
              (0.0, 50.0), apply=_noslip, realistic=False, reach=0.0),
    Parameter("contact_margin_mm", "physics", "contact", "mm", "how far apart the object's contacts begin to act",
              0.0, (0.0, 0.5),
              "the PhysX tasks of hora and DeXtreme let contacts begin 2 mm apart, Isaac Lab's Factory 5 mm; "
              "MuJoCo's default is 0",
              (0.0, 10.0), apply=_margin, of_thing=True),
    Parameter("object_shape", "physics", "object", "shape", "which shape the object has; its own where not varied",
              float(OWN), (0.0, len(SHAPES) - 1.0), "engineering estimate: what a parallel gripper of 80 mm can hold",
              (0.0, len(SHAPES) - 1.0), apply=_shape, words=SHAPES, early=True, realistic=False, of_thing=True,
              builds=("shapes",), only_with=("rigid", "one_part", "primitives", "no_hole"),
              condition=Condition("object", _shape_name)),
    Parameter("surface_friction_ratio", "physics", "object", "×", "friction of the object's second material (its upper "
              "half, a band round it, its second part) against the first's",
              1.0, (0.4, 1.0),
              "coated papers have kinetic coefficients of friction of 0.25 to 0.45, uncoated ones of 0.40 to 0.60 "
              "(coefficientoffrictiontester-co.pages.dev, 'Paper Friction Quality Control'): a coated label is at 0.42 "
              "to 1.1 of an uncoated carton",
              (0.02, 20.0), apply=_second_material, of_thing=True, builds=("two_materials",),
              only_with=("rigid", "one_part", "primitives"),
              picture=Picture("hold", given={"friction_coefficient": 0.06, "object_mass_kg": 0.4},
                              why="The object is heavy and very slippery.")),
    Parameter("heavy_insert_share", "physics", "object", "1", "share of the object's mass that sits in one place",
              0.0, (0.0, 0.5), "engineering estimate: an empty box to one with a battery in it", (0.0, 0.98),
              apply=_insert, beside=(*(f"heavy_insert_place.{axis}" for axis in "xyz"), "object_size_scale",
                                     "object_shape"), of_thing=True, builds=("off_centre_mass",), only_with=("rigid",),
              picture=Picture("tumble", given={"heavy_insert_place": 0.7, "object_mass_kg": 0.6,
                                               "torsional_friction_mm": 1.0},
                              why="The object is heavy and its insert is off centre, so it swings in the hand.")),
    Parameter("heavy_insert_place", "physics", "object", "1", "where that is, in half extents of the object",
              0.0, (-0.7, 0.7), "engineering estimate: anywhere inside but the walls", (-1.0, 1.0), ("x", "y", "z"),
              needs="heavy_insert_share", of_thing=True, only_with=("rigid",)),
    Parameter("object_stiffness_kpa", "physics", "object", "kPa", "Young's modulus of a soft object",
              100.0, (50.0, 400.0), "flexible polyurethane foams, 10 to 100 kPa, to soft silicone rubbers; Gibson and "
              "Ashby 1997", (1.0, 20_000.0), apply=_young, of_thing=True, only_with=("soft",),
              picture=Picture("opening", scene="object: sponge")),
    Parameter("product_mix", "physics", "object", "1", "which product of its pool a thing is: 0 the first, 1 the last",
              0.0, (0.0, 1.0), "every product of the pool equally often", (0.0, 1.0), apply=_product, early=True,
              of_thing=True, realistic=False, only_with=("products",), always_with="products", lays_out=True, reach=0.0,
              picture=Picture("height", scene="task: bin_picking")),
)  # fmt: skip
