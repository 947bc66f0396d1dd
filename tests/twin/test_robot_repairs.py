"""Faults of arms and files in public models, and how the proposed mapping handles them, with a small model for each."""

import re
from pathlib import Path

import mujoco
import pytest

from tests.twin.jaws import HINGE, PANDA, proposal_of, yaml_of
from tests.twin.small_robots import stl_box, urdf_arm
from tests.twin.test_robot_roles import names, roles
from twinloop.errors import ModelError
from twinloop.run.config import config_from_text
from twinloop.twin.robot_files.inspection.arm_load import load_of
from twinloop.twin.robot_files.inspection.proposal import propose
from twinloop.twin.robot_files.model_source import ModelSource
from twinloop.twin.robots.franka_panda import build

pytestmark = pytest.mark.usefixtures("no_trials")


def test_torque_limits_include_what_moves_the_arm():
    light, heavy = build(), build()
    for joint in PANDA:
        light.joint(joint).armature = 0.0
        heavy.joint(joint).armature, heavy.joint(joint).damping[0] = 2.0, 10.0
    loads = [load_of(model, list(range(7))) for model in (light.compile(), heavy.compile())]
    more = loads[1].proposed_nm - loads[0].proposed_nm
    assert (more > 2.0 * 5 + 10.0).all()  # 5 rad/s² and 1 rad/s on top
    assert (loads[1].least_nm < loads[1].proposed_nm).all()


def test_a_proposed_torque_limit_is_not_cut_by_the_limit_of_the_joint(folder: Path):
    text = re.sub(r'effort="[\d.]+" velocity="3.14"', 'effort="9"', urdf_arm(fingers=True))
    (folder / "arm.urdf").write_text(text)
    proposal, _ = proposal_of(folder / "arm.urdf")
    robot = config_from_text(yaml_of(proposal), name="cell.yaml", folder=folder).scene.robot
    assert robot.torque_limits_nm == pytest.approx(proposal.mapping["torque_limits_nm"])
    assert max(robot.torque_limits_nm) > 60


def test_torque_limits_that_are_placeholders_are_replaced(folder: Path):
    """Servos from 1000 N·m at every joint of a small arm make it tremble, and things creep out of its fingers."""
    text = urdf_arm(fingers=True)
    (folder / "arm.urdf").write_text(re.sub(r'effort="[\d.]+" velocity="3.14"', 'effort="1000"', text))
    proposal, _ = proposal_of(folder / "arm.urdf")
    assert max(proposal.mapping["torque_limits_nm"]) < 400
    assert any("up to 1000 N·m, are many times what the arm needs" in missing for missing in proposal.missing)
    (folder / "arm.urdf").write_text(text)
    assert "torque_limits_nm" not in proposal_of(folder / "arm.urdf")[0].mapping


def test_an_arm_that_hangs_from_its_base_is_mounted_high(folder: Path):
    text = urdf_arm(fingers=True).replace('<link name="base">', '<link name="ceiling"/><link name="base">')
    for joint, limits in (("shoulder_lift", 'lower="-2.4" upper="-0.7"'), ("elbow", 'lower="-1.8" upper="1.8"')):
        limit = rf'(<joint name="{joint}".*?<limit )lower="[^"]+" upper="[^"]+"'
        text = re.sub(limit, rf"\g<1>{limits}", text, count=1, flags=re.DOTALL)
    hangs = """<joint name="hangs" type="fixed">
      <parent link="ceiling"/><child link="base"/><origin rpy="3.14159 0 0"/></joint></robot>"""
    (folder / "arm.urdf").write_text(text.replace("</robot>", hangs))
    proposal, _ = proposal_of(folder / "arm.urdf")
    assert proposal.mapping["mount_m"][2] >= 0.3


def test_two_arms_on_a_torso_of_hinges_are_not_its_fingers():
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    body = spec.worldbody
    for number in range(3):
        body = body.add_body(name=f"torso{number}", pos=[0, 0, 0.2])
        body.add_joint(name=f"torso{number}", type=HINGE, axis=[0, 1, 0], range=[-1, 1])
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0], mass=1)
    for prefix, y in (("left/", 0.2), ("right/", -0.2)):
        spec.attach(build(), frame=body.add_frame(pos=[0, y, 0]), prefix=prefix)
    model, parts = roles(spec)
    assert names(model, parts.arm) == tuple(f"left/{joint}" for joint in PANDA)
    assert names(model, parts.held) == ("torso0", "torso1", "torso2")
    assert parts.others == ("right/link0",)


def test_a_mesh_without_volume_and_an_impossible_inertia_do_not_matter(folder: Path):
    stl_box(folder / "forearm.stl", 0.05)
    content = (folder / "forearm.stl").read_bytes()
    faces = [content[84 + 50 * face :][:50] for face in range(12)]
    # Every face once more, seen from the other side: the volumes add up to 0.
    inside_out = [face[:12] + face[36:48] + face[24:36] + face[12:24] + face[48:] for face in faces]
    (folder / "forearm.stl").write_bytes(content[:80] + (24).to_bytes(4, "little") + b"".join([*faces, *inside_out]))
    text = urdf_arm(fingers=True, mesh="forearm.stl")
    text = re.sub(r'(<link name="wrist_1">.*?ixx=")[^"]+', r"\g<1>-1", text, count=1, flags=re.DOTALL)
    (folder / "arm.urdf").write_text(text)
    source = ModelSource(folder / "arm.urdf")
    source.check()
    assert source.urdf.notes == ("link 'wrist_1' has an inertia that no body can have; one is guessed",)
    model = source.spec().compile()
    assert (model.body("wrist_1").inertia > 0).all()


def test_a_link_without_mass_and_with_an_open_mesh_gets_a_small_one(folder: Path):
    stl_box(folder / "cover.stl", 0.1)
    content = (folder / "cover.stl").read_bytes()
    (folder / "cover.stl").write_bytes(content[:80] + (11).to_bytes(4, "little") + content[84 : 84 + 11 * 50])
    cover = """<link name="cover"><collision><geometry><mesh filename="cover.stl"/></geometry></collision></link>
      <joint name="cover" type="fixed"><parent link="wrist_3"/><child link="cover"/></joint></robot>"""
    (folder / "arm.urdf").write_text(urdf_arm(fingers=True).replace("</robot>", cover))
    source = ModelSource(folder / "arm.urdf")
    assert any("cover.stl is not closed" in note for note in source.urdf.notes)
    assert source.spec().compile().body("cover").mass[0] == pytest.approx(300 * 0.1**3)


def test_a_path_of_another_machine_is_a_path_in_its_package(folder: Path):
    stl_box(folder / "arm_description" / "meshes" / "forearm.stl", 0.05)
    (folder / "arm_description" / "urdf").mkdir()
    path = folder / "arm_description" / "urdf" / "arm.urdf"
    mesh = "file:///home/me/ws/install/arm_description/share/arm_description/meshes/forearm.stl"
    path.write_text(urdf_arm(fingers=True, mesh=mesh))
    assert (folder / "arm_description" / "meshes" / "forearm.stl").resolve() in ModelSource(path).urdf.files


def test_a_pointer_to_a_large_file_is_named(folder: Path):
    (folder / "forearm.stl").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    (folder / "arm.urdf").write_text(urdf_arm(fingers=True, mesh="forearm.stl"))
    with pytest.raises(ModelError, match=r"forearm.stl.*link 'forearm'.*Git LFS pointer.*git lfs pull"):
        ModelSource(folder / "arm.urdf").check()
    (folder / "arm.xml").write_text(
        "<mujoco><asset><mesh file='forearm.stl'/></asset><worldbody><geom size='1'/></worldbody></mujoco>"
    )
    with pytest.raises(ModelError, match=r"forearm.stl: <mesh> of arm.xml is a Git LFS pointer"):
        ModelSource(folder / "arm.xml").check()


@pytest.mark.parametrize("part", ["<mujocoinclude><body/></mujocoinclude>", "<mujoco><body/></mujoco>"])
def test_a_part_of_a_model_names_the_whole(folder: Path, part: str):
    (folder / "arm.xml").write_text(part)
    with pytest.raises(ModelError, match=r"arm.xml: is a part of a model.*or write one"):
        ModelSource(folder / "arm.xml").check()
    (folder / "lift.xml").write_text("<mujoco><worldbody><include file='arm.xml'/></worldbody></mujoco>")
    with pytest.raises(ModelError, match=r"a file that includes it: lift.xml"):
        ModelSource(folder / "arm.xml").check()


def test_a_mesh_may_be_relative_to_a_folder_above_the_file(folder: Path):
    meshes = [folder / "arm_description" / "forearm.stl", folder / "other" / "forearm.stl"]
    for mesh in meshes:
        stl_box(mesh, 0.05)
    path = folder / "arm_description" / "arm.urdf"
    path.write_text(urdf_arm(fingers=True, mesh="arm_description/forearm.stl"))
    assert meshes[0] in ModelSource(path).urdf.files
    path.write_text(urdf_arm(fingers=True, mesh="other/forearm.stl"))
    with pytest.raises(ModelError, match=r"'other/forearm.stl' is outside .*--root DIR"):
        ModelSource(path).check()
    assert meshes[1] in ModelSource(path, folder).urdf.files


def test_a_short_arm_on_a_high_stand_is_lowered_to_the_table(folder: Path):
    text = urdf_arm(fingers=True, length=0.3).replace('<link name="base">', '<link name="stand"/><link name="base">')
    stands = """<joint name="stands" type="fixed">
      <parent link="stand"/><child link="base"/><origin xyz="0 0 0.45"/></joint></robot>"""
    (folder / "arm.urdf").write_text(text.replace("</robot>", stands))
    proposal, _ = proposal_of(folder / "arm.urdf")
    assert proposal.mapping["mount_m"][2] < -0.2


def test_an_arm_that_cannot_point_down_is_refused(folder: Path):
    """Tasks need it; a mapping without a posture would only be refused later, episode by episode."""
    text = urdf_arm(fingers=True)
    for joint in ("shoulder_lift", "elbow", "wrist_1", "wrist_2"):
        limit = rf'(<joint name="{joint}".*?<limit )lower="[^"]+" upper="[^"]+"'
        text = re.sub(limit, r'\g<1>lower="-0.1" upper="0.1"', text, count=1, flags=re.DOTALL)
    (folder / "arm.urdf").write_text(text)
    with pytest.raises(ModelError, match=r"arm\.urdf: no posture was found in which the tool points down.*--arm BODY"):
        propose(ModelSource(folder / "arm.urdf"))


def test_angles_of_a_file_without_a_unit_are_radians_if_they_must_be(folder: Path):
    """Files that a scene includes have their unit in the scene. In degrees, no joint of this arm would move."""
    spec = build()
    spec.compile()
    text = re.sub(r' angle="radian"', "", spec.to_xml())
    (folder / "arm.xml").write_text(text)
    proposal, _ = proposal_of(folder / "arm.xml")
    assert proposal.joints[0].range == pytest.approx((-2.8973, 2.8973))
    assert any("does not say that its angles are radians" in note for note in proposal.notes)
