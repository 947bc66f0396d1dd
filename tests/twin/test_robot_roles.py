"""Which parts of a model file are the arm: mobile bases and torsos are held still, scenes are left out."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from tests.twin.small_robots import stl_box, urdf_arm
from twinloop.cli import main
from twinloop.errors import ModelError
from twinloop.run.config import config_from_text
from twinloop.twin.robot_files.inspection.flange import find_flange
from twinloop.twin.robot_files.inspection.roles import JointRoles, roles_of
from twinloop.twin.robot_files.mapping import GripperMapping, ToolFrame
from twinloop.twin.robot_files.mjcf_file import parse
from twinloop.twin.robot_files.model_source import ModelSource
from twinloop.twin.robot_files.prepare import Preparation, strip_scene
from twinloop.twin.robots.franka_panda import build

SLIDE, HINGE = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
PANDA = tuple(f"joint{number}" for number in range(1, 8))


def cart() -> mujoco.MjSpec:
    """The Panda on a torso with a head, on a base that drives and has wheels."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    base = spec.worldbody.add_body(name="cart", pos=[0, 0, 0.2])
    base.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.2, 0.2, 0.1], mass=20)
    for name, kind, axis in (("x", SLIDE, [1, 0, 0]), ("y", SLIDE, [0, 1, 0]), ("turn", HINGE, [0, 0, 1])):
        base.add_joint(name=name, type=kind, axis=axis, range=[-1, 1])
    for name, side in (("left_wheel", 1), ("right_wheel", -1)):
        wheel = base.add_body(name=name, pos=[0, 0.2 * side, -0.1])
        wheel.add_joint(name=name, type=HINGE, axis=[0, 1, 0])
        wheel.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0], mass=1)
    torso = base.add_body(name="torso", pos=[0, 0, 0.4])
    torso.add_joint(name="lift", type=SLIDE, axis=[0, 0, 1], range=[0, 0.3])
    torso.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1, 0.1, 0.2], mass=5)
    head = torso.add_body(name="head", pos=[0, 0, 0.3])
    head.add_joint(name="nod", type=HINGE, axis=[0, 1, 0], range=[-1, 1])
    head.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0], mass=1)
    spec.add_actuator(name="lift", target="lift", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    spec.attach(build(), frame=torso.add_frame(pos=[0, 0, 0.2]), prefix="arm/")
    return spec


def names(model: mujoco.MjModel, joints: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(model.joint(joint).name for joint in joints)


def roles(spec: mujoco.MjSpec, arm: str = "") -> tuple[mujoco.MjModel, JointRoles]:
    strip_scene(spec)
    model = spec.compile()
    return model, roles_of(model, "arm.xml", arm=arm)


@pytest.mark.parametrize("arm", ["", "arm/link1"])
def test_the_joints_below_the_arm_are_held_still(arm: str):
    model, parts = roles(cart(), arm)
    assert names(model, parts.arm) == tuple(f"arm/{joint}" for joint in PANDA)
    assert names(model, parts.held) == ("x", "y", "turn", "lift")
    assert set(parts.others) == {"left_wheel", "right_wheel", "head"}


@pytest.mark.parametrize(("ends", "jaw"), [((-0.2, 1.8), True), ((-3.1, 3.1), False), ((0, 0), False)])
def test_a_wrist_that_turns_all_the_way_round_is_no_jaw(ends: tuple[float, float], *, jaw: bool):
    """The last body of many arms without gripper is called hand."""
    spec = build()
    for element in (*spec.equalities, *spec.tendons, spec.actuator("gripper")):
        spec.delete(element)
    for side in ("left", "right"):
        spec.delete(spec.body(f"{side}_finger"))
    joint = spec.body("hand").add_joint(name="last", type=HINGE, axis=[0, 0, 1], range=ends)
    joint.limited = ends[0] < ends[1]
    model, joint_roles = roles(spec)
    assert names(model, joint_roles.gripper) == (("last",) if jaw else ())


def test_a_linkage_beside_the_fingers_is_no_second_arm():
    spec = build()
    linkage = spec.body("hand").add_body(name="linkage")
    for number in range(3):
        bar = linkage.add_body(name=f"bar{number}", pos=[0, 0.01 * number, 0.03])
        end = bar.add_body(name=f"end{number}", pos=[0, 0, 0.03])
        for body in (bar, end):
            body.add_joint(name=body.name, type=HINGE, axis=[1, 0, 0], range=[0, 0.8])
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.005, 0, 0], mass=0.01)
    model, found = roles(spec)
    assert names(model, found.arm) == PANDA
    assert {"left_finger", "right_finger", "bar0", "end2"} <= set(names(model, found.gripper))
    assert found.others == ()


def test_a_chain_with_a_sliding_joint_in_the_middle_is_refused():
    spec = build()
    spec.joint("joint5").type = SLIDE
    with pytest.raises(ModelError, match=r"'joint5' of the arm slides.*--arm BODY"):
        roles(spec)


def test_the_proposed_mapping_of_a_mobile_robot_can_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    spec = cart()
    spec.compile()
    (tmp_path / "cart.xml").write_text(spec.to_xml())
    assert main(["inspect-robot", str(tmp_path / "cart.xml")]) == 0
    text = capsys.readouterr().out
    robot = yaml.safe_load(text)["scene"]["robot"]
    assert robot["fixed_joints"] == ["x", "y", "turn", "lift"]
    assert robot["mount_m"][2] < -0.5  # the shoulder is above the table, not a metre higher
    model = config_from_text(text, name="cell.yaml", folder=tmp_path).scene.robot.build().compile()
    assert model.njnt == 7 + 2
    with pytest.raises(ModelError, match="fixed_joints: no joint named 'lft'; did you mean lift"):
        config_from_text(text.replace("turn, lift]", "turn, lft]"), name="cell.yaml", folder=tmp_path)


def test_what_is_fixed_to_the_first_link_does_not_touch_the_table(tmp_path: Path):
    spec = build()
    coarse = spec.body("link1").add_body(name="coarse", pos=[0, 0, -0.3])
    coarse.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0])
    spec.compile()
    (tmp_path / "arm.xml").write_text(spec.to_xml())
    fingers = GripperMapping(joints=("left",), actuator="gripper", fingers=("left_finger", "right_finger"))
    prepared = Preparation(ModelSource(tmp_path / "arm.xml"), PANDA, fingers, "tool").spec().compile()
    touching = {prepared.body(body).name for body in prepared.geom_bodyid[prepared.geom_contype > 0]}
    assert "left_finger" in touching
    assert not touching & {"link0", "link1", "coarse"}


def test_a_scene_file_is_reduced_to_its_robot():
    spec = build()
    spec.body("link0").add_freejoint()
    cube = spec.worldbody.add_body(name="cube", pos=[0.5, 0, 0.1])
    cube.add_freejoint(name="cube")
    cube.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.02] * 3)
    table = spec.worldbody.add_body(name="table")
    table.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[1, 1, 0.1])
    spec.worldbody.add_camera(name="over", targetbody="table", mode=mujoco.mjtCamLight.mjCAMLIGHT_TARGETBODY)
    model, parts = roles(spec)
    bodies = {model.body(body).name for body in range(model.nbody)}
    assert not bodies & {"cube", "table"}
    assert model.njnt == 7 + 2  # and nothing is free
    assert names(model, parts.arm) == PANDA


@pytest.mark.parametrize("behind_m", [-0.03, 0.03])
def test_a_gripper_is_attached_away_from_the_wrist(behind_m: float):
    """The last link of some files lies behind its own frame."""
    spec = mujoco.MjSpec()
    body = spec.worldbody
    for number, (x, z) in enumerate(((0, 0.2), (0, 0.3), (0.3, 0), (0.1, 0))):
        body = body.add_body(name=f"link{number}", pos=[x, 0, z])
        body.add_joint(name=f"joint{number}", axis=[1, 0, 0] if number == 3 else [0, 1, 0], range=[-1, 1])
        at = [behind_m if number == 3 else 0.0, 0, 0]
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.02, 0.02, 0.02], pos=at)
    place, _ = find_flange(spec.compile(), [0, 1, 2, 3])
    assert isinstance(place, ToolFrame)
    assert place.offset[0] == pytest.approx(max(behind_m + 0.02, 0.0), abs=1e-3)
    turned = np.zeros(3)
    mujoco.mju_rotVecQuat(turned, np.array([0.0, 0.0, 1.0]), np.array(place.quat))
    assert turned == pytest.approx([1, 0, 0], abs=1e-3)


def test_shapes_of_size_zero_are_left_out(tmp_path: Path):
    """Some files have them in place of no shape; the engine refuses them."""
    empty = '<collision><geometry><box size="0 0 0"/></geometry></collision>'
    (tmp_path / "arm.urdf").write_text(
        urdf_arm(fingers=True).replace('<link name="base">', f'<link name="base">{empty}')
    )
    source = ModelSource(tmp_path / "arm.urdf")
    assert source.urdf.notes == ("a shape of size 0 of link 'base' is left out",)
    source.spec().compile()


def test_a_package_under_another_name_is_found_by_its_mesh(tmp_path: Path):
    stl_box(tmp_path / "renamed" / "meshes" / "forearm.stl", 0.05)
    (tmp_path / "renamed" / "urdf").mkdir()
    arm = tmp_path / "renamed" / "urdf" / "arm.urdf"
    arm.write_text(urdf_arm(fingers=True, mesh="package://arm_description/meshes/forearm.stl"))
    assert (tmp_path / "renamed" / "meshes" / "forearm.stl").resolve() in ModelSource(arm).urdf.files
    arm.write_text(urdf_arm(fingers=True, mesh="package://arm_description/../../secret.stl"))
    stl_box(tmp_path / "secret.stl", 0.05)
    with pytest.raises(ModelError, match="package 'arm_description' is not known"):
        _ = ModelSource(arm).urdf


def test_prefixes_without_a_namespace_do_not_matter(tmp_path: Path):
    gazebo = '<gazebo><sensor:camera name="rgb"><size>8 8</size></sensor:camera></gazebo></robot>'
    (tmp_path / "arm.urdf").write_text(urdf_arm(fingers=True).replace("</robot>", gazebo))
    assert parse(tmp_path / "arm.urdf", root_tags=("robot",)).tag == "robot"
    (tmp_path / "arm.urdf").write_text('<robot><xacro:include filename="a"/></robot>')
    assert main(["inspect-robot", str(tmp_path / "arm.urdf")]) == 2
