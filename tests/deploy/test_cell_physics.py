"""Both engines simulate the same machine: kinematics, masses, motors of the cell's model. Contacts are sane."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from tests.deploy.conftest import need_drake, need_physx
from twinloop.deploy.rehearsal.cell_build import CellBuild, build_of
from twinloop.deploy.rehearsal.cell_file import CellConfig, cell_of
from twinloop.deploy.rehearsal.cell_layout import situation_of
from twinloop.deploy.rehearsal.physics import CellPhysics, physics_of
from twinloop.deploy.rehearsal.poses import pose_of
from twinloop.deploy.rehearsal.world import CellWorld

NEEDS = {"drake": need_drake, "physx": need_physx}


@pytest.fixture(params=["drake", "physx"])
def engine(request: pytest.FixtureRequest) -> str:
    NEEDS[request.param]()
    return request.param


def built(spec: str = "nominal,own=0", **values: float) -> CellBuild:
    cell = cell_of(spec)
    layout = situation_of(cell, 0)
    return build_of(cell, replace(layout, values={**layout.values, **values}))


def held(build: CellBuild) -> np.ndarray:
    """Coordinates with the robot at home and the first thing at 0.4, 0.3."""
    twin = build.twin
    qpos = build.model.qpos0.copy()
    qpos[twin.arm_qpos] = twin.robot.home_rad
    qpos[twin.arms[0].gripper_qpos] = twin.robot.gripper.open / len(twin.robot.gripper.joints)
    qpos[twin.things[0].qpos : twin.things[0].qpos + 7] = [0.4, 0.3, 0.02, 1, 0, 0, 0]
    return qpos


def wait(physics: CellPhysics, build: CellBuild, seconds: float) -> np.ndarray:
    """Simulate with the arm held at home. Return the pose of the first thing."""
    targets = build.targets(np.array([*build.twin.robot.home_rad, build.twin.robot.gripper.open]))
    for _ in range(round(seconds / 0.004)):
        physics.step(targets, np.zeros(len(targets)), np.zeros(len(build.twin.arm_joints)), {})
    first = build.twin.things[0].qpos
    return physics.read().qpos[first : first + 7].copy()


@pytest.mark.parametrize("robot", ["franka_panda", "ur5e_2f85", "xarm7", "so101"])
def test_fingers_are_where_mujoco_has_them(engine: str, robot: str, rng: np.random.Generator):
    build = built(f"nominal,robot={robot}")
    data = mujoco.MjData(build.model)
    for _ in range(3):
        qpos = held(build)
        qpos[build.twin.arm_qpos] = rng.uniform(*(0.9 * build.twin.arm_limits_rad.T))
        physics = physics_of(engine, build, qpos)
        data.qpos[:] = physics.read().qpos
        np.testing.assert_allclose(data.qpos[build.twin.arm_qpos], qpos[build.twin.arm_qpos], atol=1e-5)
        mujoco.mj_kinematics(build.model, data)
        for body in build.finger_bodies:
            np.testing.assert_allclose(_position_m(physics, body), data.xpos[body], atol=1e-4)


def _position_m(physics, body: int) -> np.ndarray:
    if type(physics).__name__ == "PhysxPhysics":
        return physics._links[body].entity_pose.p
    return physics._plant.EvalBodyPoseInWorld(physics._state, physics._parts.bodies[body]).translation()


def test_the_inertia_of_drakes_arm_is_mujocos(rng: np.random.Generator):
    """The whole joint-space mass matrix: masses, centres, inertias and motor inertias at once."""
    need_drake()
    build = built()
    twin, data = build.twin, mujoco.MjData(build.model)
    for _ in range(3):
        qpos = held(build)
        qpos[twin.arm_qpos] = rng.uniform(*twin.arm_limits_rad.T)
        physics = physics_of("drake", build, qpos)
        data.qpos[:] = qpos
        mujoco.mj_forward(build.model, data)
        theirs = np.zeros((build.model.nv, build.model.nv))
        mujoco.mj_fullM(build.model, data, theirs)
        plant = physics._plant  # type: ignore[attr-defined]
        ours = plant.CalcMassMatrix(physics._state)  # type: ignore[attr-defined]
        places = physics._arm  # type: ignore[attr-defined]
        ours = ours[np.ix_(places, places)]
        motors = np.diag(build.model.dof_armature[twin.arm_dofs])
        # Drake may or may not count rotors in; either way the rest must agree.
        rotors = 0 if np.isclose(ours[0, 0], theirs[twin.arm_dofs[0], twin.arm_dofs[0]]) else motors
        np.testing.assert_allclose(ours + rotors, theirs[np.ix_(twin.arm_dofs, twin.arm_dofs)], atol=1e-8)


def test_things_fall_as_things_fall(engine: str):
    build = built()
    physics = physics_of(engine, build, held(build))
    physics.put(build.twin.things[0].body, pose_of(np.array([0.4, 0.3, 1.0]), np.array([1.0, 0, 0, 0])))
    fallen_m = 1.0 - wait(physics, build, 0.3)[2]
    assert fallen_m == pytest.approx(0.5 * 9.81 * 0.3**2, rel=0.02)


@pytest.mark.parametrize(("slope_deg", "slides"), [(20, False), (35, True)])
def test_things_slide_when_the_slope_is_steeper_than_friction_holds(engine: str, slope_deg: float, slides: bool):
    """Friction 0.5 holds up to 26.6 degrees; the table is level and gravity is tilted, which is the same."""
    slope = np.deg2rad(slope_deg)
    gravity = 9.81 * np.array([np.sin(slope), 0, -np.cos(slope)])
    build = replace(built(friction_coefficient=0.5), gravity_m_s2=gravity)
    physics = physics_of(engine, build, held(build))
    way_m = wait(physics, build, 0.4)[0] - 0.4
    expected = 0.5 * 9.81 * (np.sin(slope) - 0.5 * np.cos(slope)) * 0.4**2 if slides else 0.0
    assert way_m == pytest.approx(expected, rel=0.06, abs=2e-3)


def test_fixtures_joints_stay_until_their_friction_yields(engine: str):
    """A button carries its own weight by friction alone: it must not creep down."""
    cell = cell_of("nominal,own=0,task=press_button")
    cell = replace(cell, engine=engine)
    world = CellWorld(cell, situation_of(cell, 0), 0)
    world.pass_time(1.0)
    buttons = [index.joint_qpos for index in world.twin.fixtures if index.joint_qpos >= 0]
    assert np.abs(world.coordinates[buttons]).max() < 1e-4


def test_own_numbers_are_those_of_the_seed_and_stay_within_tolerances():
    same = CellConfig("a", seed=5)
    layout = situation_of(same, 0)
    one, again, other = (build_of(replace(same, seed=seed), layout) for seed in (5, 5, 6))
    twin = one.twin.model
    np.testing.assert_array_equal(one.model.body_mass, again.model.body_mass)
    assert not np.array_equal(one.model.body_mass, other.model.body_mass)
    for build in (one, other):
        links = [body for body in range(twin.nbody) if twin.body(body).name.startswith("robot/")]
        ratio = build.model.body_mass[links] / np.maximum(twin.body_mass[links], 1e-9)
        assert (np.abs(ratio - 1)[twin.body_mass[links] > 0] <= 0.05).all()
        assert 0 < np.abs(build.model.body_pos[links] - twin.body_pos[links]).max() <= 3e-4
        assert (build.own.stiffness != 1).all()
    exact = build_of(replace(same, own=0.0), layout)
    np.testing.assert_array_equal(exact.model.body_mass, twin.body_mass)
