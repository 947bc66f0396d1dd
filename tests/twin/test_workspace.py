"""The place of the base and the servos that inspect-robot proposes."""

import mujoco
import numpy as np
import pytest

from twinloop.twin.robot_files.inspection.servo_check import CHATTER_FREE, STEP_S, check_servos
from twinloop.twin.robot_files.inspection.workspace import MountFinder
from twinloop.twin.robots import robots
from twinloop.twin.robots.franka_panda import build

HOME_RAD = np.array(robots()["franka_panda"].home_rad)


def test_the_origin_is_tried_first_where_drawn_postures_reach_some_of_the_work(monkeypatch: pytest.MonkeyPatch):
    """Drawn postures of seven axes are sparse: elsewhere more of them may point down by chance."""
    model = build().compile()
    joints = [model.joint(f"joint{number}").id for number in range(1, 8)]
    finder = MountFinder(model, joints, model.site("tool").id, HOME_RAD)
    monkeypatch.setattr(finder, "points_down", lambda _, place, __: 0.5 if not any(place) else 1.0)
    mount = finder.find((0.0,))
    assert mount.position_m == (0.0, 0.0, 0.0)
    assert mount.reachable == 1


def test_a_stiff_servo_keeps_the_damping_that_its_step_allows():
    """With critical damping it trembles at a stiffness like this, and things creep out of the hand."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="link")
    joint = body.add_joint(name="joint", axis=[0, 0, 1], range=[-2, 2], armature=0.05)
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.01, 0, 0], mass=0.01)
    servo = spec.add_actuator(name="servo", target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.set_to_position(kp=1000, kv=100)
    servo.forcerange = (-30, 30)
    damping = check_servos(spec.compile(), [0], np.zeros(1)).damping_nms_rad
    assert damping is not None
    assert damping[0] == pytest.approx(CHATTER_FREE * 2 * 0.05 / STEP_S, rel=0.01)
    assert damping[0] > 1.3 * np.sqrt(4 * 1000 * 0.05) / 2
