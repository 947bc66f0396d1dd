"""The pool of products: distinct, plausible, standing still, and each picked by a gripper that opens by 70 mm."""

from itertools import combinations

import mujoco
import numpy as np
import pytest

from twinloop.twin.objects import GEOM_TYPES, Part, SceneObject
from twinloop.twin.products.families import FAMILIES
from twinloop.twin.products.pool import POOL, contains, product, products, union_volume_m3

OPENING_M = 0.07
FINGER_M = (0.011, 0.006, 0.02)
"""Half lengths of a finger: along x, thickness, height."""

LIFT_M = 0.1


def cell(thing: SceneObject, *, gripper: bool) -> mujoco.MjModel:
    """A table with the product on it and, if wanted, two fingers around its origin."""
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.004
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1], contype=1, conaffinity=1)
    half_height = thing.half_extents_m[2]
    body = spec.worldbody.add_body(name="thing", pos=[0, 0, half_height])
    body.add_freejoint()
    density = thing.mass_kg / thing.volume_m3
    for part in thing.parts:
        body.add_geom(
            type=GEOM_TYPES[part.kind], size=part.size, pos=part.at, quat=part.quat, density=density, contype=1,
            conaffinity=3, condim=6 if thing.rolls else 4, friction=[0.8, 0.005, 0.0002],
        )  # fmt: skip
    if gripper:
        _add_gripper(spec, half_height)
    return spec.compile()


def _add_gripper(spec: mujoco.MjSpec, height: float) -> None:
    slide, box, joint = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtTrn.mjTRN_JOINT
    hand = spec.worldbody.add_body(name="hand", pos=[0, 0, height], mass=1, inertia=[0.01] * 3, explicitinertial=True)
    hand.add_joint(name="lift", type=slide, axis=[0, 0, 1])
    low = max(-0.008, 0.002 - height)
    for side in (-1, 1):
        finger = hand.add_body(pos=[0, side * (OPENING_M / 2 + FINGER_M[1]), low + FINGER_M[2]])
        finger.add_joint(name=f"finger{side}", type=slide, axis=[0, -side, 0], damping=[100, 0, 0])
        finger.add_geom(
            type=box, size=FINGER_M, mass=0.1, contype=2, conaffinity=0, condim=4, friction=[1, 0.005, 0.0001]
        )
        motor = spec.add_actuator(name=f"finger{side}", target=f"finger{side}", trntype=joint)
        motor.gainprm[0] = 1.0
    spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT, name1="finger1", name2="finger-1", objtype=mujoco.mjtObj.mjOBJ_JOINT,
        data=np.eye(12)[1],
    )  # fmt: skip
    spec.add_actuator(name="lift", target="lift", trntype=joint).set_to_position(kp=4000, kv=200)


def tilt_deg(data: mujoco.MjData) -> float:
    return float(np.rad2deg(np.arccos(np.clip(data.body("thing").xmat[8], -1, 1))))


def test_there_are_many_and_no_two_are_alike():
    pool = products()
    assert len(pool) == POOL >= 100
    assert len({thing.name for thing in pool}) == POOL
    assert len(FAMILIES) >= 20
    by_family: dict[str, list[SceneObject]] = {}
    for thing in pool:
        by_family.setdefault(thing.name.rpartition("_")[0], []).append(thing)
    for things in by_family.values():
        for one, other in combinations(things, 2):
            first, second = np.array(one.half_extents_m), np.array(other.half_extents_m)
            assert np.abs(first / second - 1).max() > 0.05, (one.name, other.name)
    # Families differ in what they are made of.
    kinds = {(things[0].name, tuple(part.kind for part in things[0].parts)) for things in by_family.values()}
    assert len({parts for _, parts in kinds}) >= 20


def test_a_product_depends_on_its_number_alone():
    again = product.__wrapped__(41)
    assert again == product(41)
    assert product(POOL + 7) != product(7)  # numbers beyond the pool go on
    with pytest.raises(ValueError, match="0 or more was expected"):
        product(-1)


def test_sizes_and_masses_are_plausible():
    for thing in products():
        x, y, z = thing.half_extents_m
        assert 2 * y <= 0.065, thing.name
        assert 2 * x <= 0.17, thing.name
        assert 0.014 <= 2 * z <= 0.13, thing.name
        assert 0.015 <= thing.mass_kg <= 0.5, thing.name
        assert len(thing.parts) <= 12
        density = thing.mass_kg / union_volume_m3(thing.parts)
        assert 300 <= density <= 2700, thing.name


def test_the_box_around_a_product_is_tight_and_its_volume_right():
    rng = np.random.default_rng(3)
    for number in range(len(FAMILIES)):
        thing = product(number)
        half = np.array(thing.half_extents_m)
        model = cell(thing, gripper=False)
        points = rng.uniform(-1.2, 1.2, (4000, 3)) * half
        inside = np.any([contains(part, points) for part in thing.parts], axis=0)
        assert (np.abs(points[inside]) <= half + 1e-9).all()
        # The engine's bounds of the geoms touch the box along z on both sides.
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        assert abs(model.body("thing").mass[0] - thing.mass_kg) < 1e-9
        share = inside.mean() * 1.2**3 * np.prod(2 * half)
        assert share == pytest.approx(union_volume_m3(thing.parts), rel=0.25), thing.name


@pytest.mark.parametrize(
    ("part", "volume"),
    [
        (Part("box", (0.02, 0.01, 0.03)), 8 * 0.02 * 0.01 * 0.03),
        (Part("cylinder", (0.02, 0.03, 0)), np.pi * 0.02**2 * 0.06),
        (Part("capsule", (0.02, 0.03, 0)), np.pi * 0.02**2 * (0.06 + 4 / 3 * 0.02)),
        (Part("ellipsoid", (0.02, 0.01, 0.03)), 4 / 3 * np.pi * 0.02 * 0.01 * 0.03),
    ],
)
def test_volumes_of_primitives(part: Part, volume: float):
    assert union_volume_m3((part,)) == pytest.approx(volume, rel=0.03)
    assert union_volume_m3((part, part)) == pytest.approx(volume, rel=0.03)


def test_every_product_stands_still():
    for thing in products():
        model = cell(thing, gripper=False)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        start = data.body("thing").xpos.copy()
        for _ in range(250):
            mujoco.mj_step(model, data)
        moved = np.abs(data.body("thing").xpos - start).max()
        assert moved < 0.002, f"{thing.name} moved by {1000 * moved:.1f} mm"
        assert tilt_deg(data) < 3, f"{thing.name} tilted by {tilt_deg(data):.0f}°"


def test_a_gripper_of_70_mm_picks_every_product():
    failures = []
    for thing in products():
        model = cell(thing, gripper=True)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        touching = {frozenset((contact.geom1, contact.geom2)) for contact in data.contact if contact.dist < -1e-4}
        fingers = {model.ngeom - 1, model.ngeom - 2}
        assert not any(pair & fingers for pair in touching), f"{thing.name} does not fit between the open fingers"
        start = data.body("thing").xpos[2]
        data.actuator("finger-1").ctrl = data.actuator("finger1").ctrl = 20
        mujoco.mj_step(model, data, 75)
        for step in range(150):
            data.actuator("lift").ctrl = LIFT_M * min(step / 100, 1)
            mujoco.mj_step(model, data)
        rise = data.body("thing").xpos[2] - start
        if rise < 0.8 * LIFT_M or tilt_deg(data) > 40:
            failures.append(f"{thing.name}: rose by {1000 * rise:.0f} mm, tilted by {tilt_deg(data):.0f}°")
    assert not failures, "\n".join(failures)
