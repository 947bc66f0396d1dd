"""The Drake plant is the same machine as the MuJoCo twin: kinematics, masses, motors. Its contact is sane."""

import mujoco
import numpy as np
import pytest

from tests.deploy.conftest import need_drake
from twinloop.twin.twin import Twin

need_drake()

from pydrake.math import RigidTransform, RotationMatrix  # noqa: E402
from pydrake.systems.analysis import Simulator  # noqa: E402
from twinloop.deploy.rehearsal.plant import ContactMaterial, DrakePlant, Servos, plant_of  # noqa: E402

STEP_S = 0.004


def built(twin: Twin, **changes) -> DrakePlant:
    settings = {"material": ContactMaterial(), "servos": Servos(), "timestep_s": STEP_S, **changes}
    return plant_of(twin.model, **settings)


def ready(plant: DrakePlant, twin: Twin, pose: RigidTransform) -> Simulator:
    simulator = Simulator(plant.diagram)
    state = plant.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    home = np.array([*twin.robot.home_rad, 0.04, 0.04])
    plant.plant.SetPositions(state, plant.robot, home)
    plant.plant.SetFreeBodyPose(state, plant.object, pose)
    plant.plant.get_desired_state_input_port(plant.robot).FixValue(state, np.append(home, np.zeros(len(home))))
    simulator.Initialize()
    return simulator


def position_of(plant: DrakePlant, simulator: Simulator) -> np.ndarray:
    state = plant.plant.GetMyContextFromRoot(simulator.get_context())
    return plant.plant.EvalBodyPoseInWorld(state, plant.object).translation()


def test_the_tool_is_where_mujoco_has_it(twin: Twin, rng: np.random.Generator):
    plant, data = built(twin), mujoco.MjData(twin.model)
    context = plant.plant.CreateDefaultContext()
    for _ in range(50):
        joints = rng.uniform(*twin.arm_limits_rad.T)
        data.qpos[twin.arm_qpos] = joints
        mujoco.mj_kinematics(twin.model, data)
        plant.plant.SetPositions(context, plant.robot, np.append(joints, [0.01, 0.01]))
        pose = plant.tool.CalcPoseInWorld(context)
        np.testing.assert_allclose(pose.translation(), data.site_xpos[twin.tool_site], atol=1e-6)
        np.testing.assert_allclose(pose.rotation().matrix().ravel(), data.site_xmat[twin.tool_site], atol=1e-6)


def test_the_inertia_of_the_arm_is_mujocos(twin: Twin, rng: np.random.Generator):
    """The whole joint-space mass matrix: masses, centres, inertias and motor inertias at once."""
    plant, data = built(twin), mujoco.MjData(twin.model)
    context = plant.plant.CreateDefaultContext()
    dofs = [*twin.arm_dofs, *twin.arms[0].gripper_dofs]
    for _ in range(5):
        joints = np.append(rng.uniform(*twin.arm_limits_rad.T), [0.01, 0.01])
        data.qpos[[*twin.arm_qpos, *twin.arms[0].gripper_qpos]] = joints
        mujoco.mj_forward(twin.model, data)
        theirs = np.zeros((twin.model.nv, twin.model.nv))
        mujoco.mj_fullM(twin.model, data, theirs)
        plant.plant.SetPositions(context, plant.robot, joints)
        ours = plant.plant.CalcMassMatrix(context)[: len(dofs), : len(dofs)]
        motors = np.diag(twin.model.dof_armature[dofs])
        # Drake may or may not count rotors in; either way the rest must agree.
        rotors = 0 if np.isclose(ours[0, 0], theirs[0, 0]) else motors
        np.testing.assert_allclose(ours + rotors, theirs[np.ix_(dofs, dofs)], atol=1e-8)
    for name, motor in ((name, plant.plant.GetJointActuatorByName(name)) for name in plant.joints):
        assert motor.default_reflected_inertia() == twin.model.joint(name).armature[0]


def test_every_body_weighs_the_same(twin: Twin):
    plant = built(twin)
    context = plant.plant.CreateDefaultContext()
    for index in range(1, twin.model.nbody):
        body = twin.model.body(index)
        if twin.model.body_mocapid[index] < 0:
            ours = plant.plant.GetBodyByName(body.name).get_mass(context)
            assert ours == pytest.approx(float(body.mass[0]), abs=1e-12)


def test_it_falls_as_things_fall(twin: Twin):
    plant = built(twin)
    simulator = ready(plant, twin, RigidTransform([0.4, 0.3, 1.0]))
    simulator.AdvanceTo(0.3)
    fallen = 1.0 - position_of(plant, simulator)[2]
    assert fallen == pytest.approx(0.5 * 9.81 * 0.3**2, rel=0.02)


@pytest.mark.parametrize(("slope_deg", "slides"), [(20, False), (35, True)])
def test_it_slides_when_the_slope_is_steeper_than_its_friction_holds(twin: Twin, slope_deg: float, slides: bool):
    """Friction 0.5 holds up to 26.6 degrees; the table is level and gravity is tilted, which is the same."""
    slope = np.deg2rad(slope_deg)
    gravity = 9.81 * np.array([np.sin(slope), 0, -np.cos(slope)])
    plant = built(twin, material=ContactMaterial(friction=0.5), gravity_m_s2=gravity)
    simulator = ready(plant, twin, RigidTransform(RotationMatrix(), [0.3, 0.3, 0.02]))
    simulator.AdvanceTo(0.4)
    way = position_of(plant, simulator)[0] - 0.3
    expected = 0.5 * 9.81 * (np.sin(slope) - 0.5 * np.cos(slope)) * 0.4**2 if slides else 0.0
    assert way == pytest.approx(expected, rel=0.05, abs=2e-3)
