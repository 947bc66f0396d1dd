"""Whether a proposed gripper holds a thing: it is simulated with a cube between its fingers.

Public files have hands whose fingers pass each other, joints that are fixed by mistake, and hands of many fingers, of
which two do not hold anything. Their shapes do not tell; closing them on a cube does.
"""

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.gripper_opening import opening_m
from twinloop.twin.robot import Robot
from twinloop.twin.robot_files.mjcf import MjcfRobot

DEFAULT_GRIPPER = "robotiq_2f85"
CUBE_M, NARROWEST_M = 0.04, 0.004
STEP_S, CLOSING_S, PRESSING_S, HOLDING_S = 0.004, 0.8, 0.2, 0.5
CUBE, CUBE_KG, FRICTION = "twinloop_cube", 0.05, (0.8, 0.005, 0.0001)
MOST_SLIP_M = 0.03  # a cube that is not held falls 1.2 m in this time
CLOSING_STEPS, FLUID = 20, (3.0, 3.0, 3.0, 0.003, 0.003, 0.003)  # N·s/m and N·m·s/rad on the floating cube


class UnusableGripper(ModelError):
    """The gripper of a model cannot hold things, or its mapping cannot be told."""


def check_grip(mapping: MjcfRobot, *, hand: bool) -> str:
    """Raise UnusableGripper unless the mapping loads and its gripper can hold things. Return a note, or "".

    Args:
        hand: it has more than two fingers. Two of them may not face each other, so they must hold a cube.
    """
    width_m = min(CUBE_M, mapping.widest_grip_m or CUBE_M)
    if width_m < NARROWEST_M:
        raise UnusableGripper(f"{mapping.path}: its jaws hold nothing that is wider than {1000 * width_m:.0f} mm")
    try:
        robot = mapping.load()
    except ModelError as error:
        raise UnusableGripper(str(error)) from None
    opens_m = opening_m(robot)
    if opens_m < width_m:
        raise UnusableGripper(f"{mapping.path}: it opens by {1000 * opens_m:.0f} mm only")
    if holds(robot, width_m):
        return ""
    why = f"a cube of {1000 * width_m:.0f} mm slips out of it in simulation"
    if hand:
        raise UnusableGripper(f"{mapping.path}: {why}")
    return f"check the gripper: {why}. --gripper {DEFAULT_GRIPPER} attaches a shipped one"


def holds(robot: Robot, width_m: float) -> bool:
    """Whether the gripper closes on a cube of this width and keeps it for half a second against gravity.

    The cube floats in a thick fluid while the fingers close, so that they may push it as far as they need without
    knocking it away.
    """
    model = _with_cube(robot, width_m)
    data = mujoco.MjData(model)
    _put(model, data, robot)
    gravity = model.opt.gravity.copy()
    gripper, first = model.actuator(robot.gripper.actuator).id, int(model.body_dofadr[model.body(CUBE).id])
    model.opt.gravity[:], model.dof_damping[first : first + 6] = 0, FLUID
    for share in np.linspace(0, 1, CLOSING_STEPS):
        closing = robot.gripper.closed_control - robot.gripper.open_control
        data.ctrl[gripper] = robot.gripper.open_control + share * closing
        mujoco.mj_step(model, data, round(CLOSING_S / STEP_S / CLOSING_STEPS))
    mujoco.mj_step(model, data, round(PRESSING_S / STEP_S))
    before = _in_tool(data, robot)
    model.opt.gravity[:], model.dof_damping[first : first + 6] = gravity, 0
    mujoco.mj_step(model, data, round(HOLDING_S / STEP_S))
    slip_m = float(np.linalg.norm(_in_tool(data, robot) - before))
    return bool(slip_m < MOST_SLIP_M and np.linalg.norm(before) < 2 * width_m)


def _with_cube(robot: Robot, width_m: float) -> mujoco.MjModel:
    spec = robot.build()
    # A file may say that masses are computed from geoms of some groups only, or from none.
    body = spec.worldbody.add_body(
        name=CUBE, gravcomp=0, mass=CUBE_KG, inertia=[CUBE_KG * width_m**2 / 6] * 3, explicitinertial=True
    )
    body.add_freejoint()
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[width_m / 2] * 3, mass=CUBE_KG, contype=0, conaffinity=1, priority=1,
        condim=4, friction=FRICTION, group=int(spec.compiler.inertiagrouprange[0]),
    )  # fmt: skip
    spec.option.timestep = STEP_S
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return spec.compile()


def _put(model: mujoco.MjModel, data: mujoco.MjData, robot: Robot) -> None:
    """The arm at home, the gripper open, and the cube in it."""
    for name, angle, actuator in zip(robot.arm_joints, robot.home_rad, robot.arm_actuators, strict=True):
        data.joint(name).qpos[0] = angle
        data.actuator(actuator).ctrl[0] = angle
    data.actuator(robot.gripper.actuator).ctrl[0] = robot.gripper.open_control
    cube = model.body(CUBE).id
    address = int(model.jnt_qposadr[model.body_jntadr[cube]])
    data.qpos[address : address + 3] = (0.0, 0.0, -10.0)  # far away until the gripper is open
    gravity = model.opt.gravity.copy()
    model.opt.gravity[:] = 0
    mujoco.mj_step(model, data, round(CLOSING_S / STEP_S))
    model.opt.gravity[:] = gravity
    site = data.site(robot.tool_site)
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, np.array(site.xmat))
    data.qpos[address : address + 7] = [*site.xpos, *quat]
    data.qvel[model.jnt_dofadr[model.body_jntadr[cube]] :][:6] = 0
    mujoco.mj_forward(model, data)


def _in_tool(data: mujoco.MjData, robot: Robot) -> np.ndarray:
    """(3,) where the cube is in the tool's frame."""
    site = data.site(robot.tool_site)
    return np.array(site.xmat).reshape(3, 3).T @ (data.body(CUBE).xpos - site.xpos)
