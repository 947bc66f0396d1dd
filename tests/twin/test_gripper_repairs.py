"""Faults of grippers in public models, and how the proposed mapping handles them. One small model for each cause."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from tests.twin.jaws import HINGE, JAW_M, PANDA, proposal_of, with_jaws, written, yaml_of
from tests.twin.small_robots import MIMIC, urdf_arm
from tests.twin.test_finger_shapes import finger
from twinloop.errors import ModelError
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.robot_files import finger_shapes
from twinloop.twin.robot_files.inspection.fingers import outward_axis
from twinloop.twin.robot_files.mapping import GripperMapping
from twinloop.twin.robot_files.model_cache import cache_folder
from twinloop.twin.robot_files.model_source import ModelSource
from twinloop.twin.robot_files.prepare import Preparation
from twinloop.twin.robots.franka_panda import build

pytestmark = pytest.mark.usefixtures("no_trials")


def test_jaws_that_swing_wide_open_have_room_for_things(folder: Path):
    """Wide open, they are behind the tool's frame, and nothing is beside it."""
    proposal, gripper = proposal_of(written(folder, with_jaws(most_rad=1.7)))
    assert gripper["open"] < 2 * 1.0  # not opened fully
    assert proposal.mapping.get("widest_grip_m", 1.0) > 0.015


def test_heavy_fingers_are_closed_slowly(folder: Path):
    path = written(folder, with_jaws(most_rad=0.8, armature=0.1))
    proposal, gripper = proposal_of(path)
    # Half of armature times square speed is the energy of each jaw; the opening counts both.
    assert 2 * 0.5 * 0.1 * (gripper["closing_speed"] / 2) ** 2 == pytest.approx(0.09, rel=0.1)
    assert any("heavy" in note for note in proposal.notes)
    robot = config_from_text(yaml_of(proposal), name="cell.yaml", folder=folder).scene.robot
    assert robot.closing_speed == gripper["closing_speed"]


def test_jaws_whose_joints_increase_as_they_close_are_closed_slowly_too(folder: Path):
    spec = with_jaws(most_rad=0.8, armature=0.1)
    for side in ("left", "right"):
        joint = spec.joint(f"{side}_jaw")
        joint.axis, joint.range = -joint.axis, (-0.8, 0)
    spec.actuator("jaws").ctrlrange = (-0.8, 0)
    proposal, gripper = proposal_of(written(folder, spec))
    assert gripper["open"] < gripper["closed"]
    config = config_from_text(yaml_of(proposal), name="cell.yaml", folder=folder)
    twin = twin_of(config)
    expert = Expert(twin, config.expert, width=2, seed=1)
    (episodes,) = rollout(Cell(twin, width=2), iter([config.sampler(seed=1).draw(0, 2)]), expert, seed=1)
    assert episodes.success.all()
    opening = episodes["action"][: episodes.lengths[0], -1]
    assert np.diff(opening).max() == pytest.approx(gripper["closing_speed"] * twin.control_period_s, rel=0.01)


def test_fast_fingers_are_closed_calmly(folder: Path):
    """Fingers that cross 8 mm in a step of the physics sink into things."""
    spec = build()
    spec.actuator("gripper").set_to_position(kp=20_000, kv=50)
    spec.actuator("gripper").forcerange = (-100, 100)
    for joint in (spec.joint("left_finger"), spec.joint("right_finger")):
        joint.armature, joint.damping[0] = 0.01, 1.0
    _, gripper = proposal_of(written(folder, spec))
    closes_s = (gripper["open"] - gripper["closed"]) / gripper["closing_speed"]
    assert 0.08 / closes_s == pytest.approx(0.3, rel=0.1)


def test_a_pad_at_the_tip_of_a_fixed_jaw_does_not_make_up_for_a_jaw_that_slants(folder: Path):
    spec = with_jaws(most_rad=1.2)
    for element in (*spec.equalities, spec.joint("left_jaw")):
        spec.delete(element)
    tip = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": [0.01, 0.002, 0.005], "pos": [0, -0.012, JAW_M - 0.005]}
    spec.body("left_jaw").add_geom(mass=0.001, **tip)
    # The faces are parallel at an opening of 20 mm; the pad stands out by 4 mm.
    spec.body("right_jaw").pos = (0, -0.03, 0.06)
    spec.joint("right_jaw").range = spec.actuator("jaws").ctrlrange = (-0.3, 1.2)
    proposal, _ = proposal_of(written(folder, spec))
    assert 0.01 < proposal.mapping["widest_grip_m"] < 0.03


@pytest.mark.parametrize(
    "from_geoms", [mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE, mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE]
)
def test_the_trial_of_a_grip_has_a_cube_with_mass(folder: Path, from_geoms: mujoco.mjtInertiaFromGeom):
    """A file may have masses from geoms of a group that the cube is not in, or from none."""
    spec = build()
    if from_geoms == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE:
        spec.compiler.inertiagrouprange = (4, 5)
        for geom in spec.geoms:
            geom.group = 4
    spec.compiler.inertiafromgeom = from_geoms
    assert "fingers" in proposal_of(written(folder, spec))[1]


def test_things_for_a_single_jaw_are_not_made_tiny(folder: Path):
    """Its faces are parallel when it is closed, so that the strict angle would allow things of 7 mm only."""
    spec = with_jaws(most_rad=1.2)
    for element in (*spec.equalities, spec.joint("left_jaw")):
        spec.delete(element)
    proposal, _ = proposal_of(written(folder, spec))
    assert 0.015 < proposal.mapping["widest_grip_m"] < 0.025


def test_a_hand_that_hardly_opens_is_replaced(folder: Path):
    spec = build()
    for side in ("left", "right"):
        spec.joint(f"{side}_finger").range = (0, 0.008)
    spec.actuator("gripper").ctrlrange = (0, 0.008)
    proposal, gripper = proposal_of(written(folder, spec))
    assert gripper["attach"] == "robotiq_2f85"
    assert any("it opens by 16 mm only" in line for line in proposal.missing)


def test_fingers_that_would_pass_each_other_stop_where_they_meet(folder: Path):
    spec = with_jaws(most_rad=0.8)
    for side in ("left", "right"):
        spec.joint(f"{side}_jaw").range = (-0.9, 0.8)
    spec.actuator("jaws").ctrlrange = (-0.9, 0.8)
    _, gripper = proposal_of(written(folder, spec))
    # The tips are 4 mm from the middle at 0, and 70 mm from the hinge. The range goes on to -0.9 rad.
    assert gripper["closed"] / 2 == pytest.approx(-0.004 / JAW_M, abs=0.1)


def test_a_weak_gripper_gets_a_larger_limit_and_not_only_larger_gains(folder: Path):
    spec = build()
    spec.actuator("gripper").forcerange = (-2, 2)
    proposal, gripper = proposal_of(written(folder, spec))
    assert gripper["force"] >= 40  # two fingers that press with 20 N
    assert any("presses with 1.0 N only" in note for note in proposal.notes)
    robot = config_from_text(yaml_of(proposal), name="cell.yaml", folder=folder).scene.robot
    assert robot.build().compile().actuator("gripper").forcerange[1] == pytest.approx(gripper["force"])


def test_a_gripper_that_crushes_things_is_limited(folder: Path):
    """A limit of 35 N·m is a placeholder: the jaws would press with hundreds of newtons and sink into things."""
    spec = with_jaws(most_rad=0.8)
    drive = spec.actuator("jaws")
    drive.set_to_position(kp=200, kv=2)
    drive.forcerange = (-35, 35)
    proposal, gripper = proposal_of(written(folder, spec))
    assert any("it is limited to 50 N" in note for note in proposal.notes)
    # Each of the two jaws has a lever of 70 mm, and one actuator moves both.
    assert gripper["force"] == pytest.approx(50 * 2 * JAW_M, rel=0.4)


def test_an_added_servo_can_move_fingers_with_placeholder_inertia(folder: Path):
    """Files for reinforcement learning have armature 1 for all joints."""
    spec = with_jaws(most_rad=0.8, armature=1.0)
    spec.delete(spec.actuator("jaws"))
    for side in ("left", "right"):
        spec.joint(f"{side}_jaw").damping[0] = 10
    gripper = GripperMapping(joints=("right_jaw", "left_jaw"), fingers=("left_jaw", "right_jaw"))
    model = Preparation(ModelSource(written(folder, spec)), PANDA, gripper, "tool").spec().compile()
    data = mujoco.MjData(model)
    data.ctrl[model.actuator("twinloop_gripper").id] = 0.8
    model.opt.timestep = 0.004
    mujoco.mj_step(model, data, 125)
    assert data.joint("right_jaw").qpos[0] > 0.6  # half a second later


def test_fingers_without_collision_shapes_touch_with_what_is_seen(folder: Path):
    text = urdf_arm(fingers=True)
    start = text.index('<link name="left_finger">')
    (folder / "arm.urdf").write_text(text[:start] + text[start:].replace("collision>", "visual>"))
    proposal, gripper = proposal_of(folder / "arm.urdf")
    assert any("no collision shapes" in missing for missing in proposal.missing)
    model = config_from_text(yaml_of(proposal), name="cell.yaml", folder=folder).scene.robot.build().compile()
    fingers = [model.body(name).id for name in gripper["fingers"]]
    assert all(model.geom_contype[model.geom_bodyid == finger].any() for finger in fingers)


def test_a_hand_beside_a_single_jaw_touches_with_what_is_seen(folder: Path):
    spec = with_jaws(most_rad=0.8)
    spec.delete(spec.equalities[0])
    spec.delete(spec.body("left_jaw"))
    spec.body("hand").add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.01, 0.004, JAW_M / 2], pos=[0, 0.004, 0.06 + JAW_M / 2], mass=0
    )
    for body in ("hand", "right_jaw"):
        for geom in spec.body(body).geoms:
            geom.contype = geom.conaffinity = 0
    _, gripper = proposal_of(written(folder, spec))
    assert set(gripper["fingers"]) == {"right_jaw", "hand"}


def test_joints_that_move_no_finger_do_not_drive_the_gripper(folder: Path):
    """A frame at the hand may have a joint of its own."""
    frame = """<link name="frame"/><joint name="a_frame" type="revolute"><parent link="wrist_3"/><child link="frame"/>
      <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
    text = urdf_arm(fingers=True).replace(MIMIC, "")
    (folder / "arm.urdf").write_text(text.replace('<link name="left_finger">', f'{frame}<link name="left_finger">'))
    _, gripper = proposal_of(folder / "arm.urdf")
    assert set(gripper["joints"]) == {"left_finger", "right_finger"}


def test_fingers_are_coupled_the_way_that_opens_them(folder: Path):
    """Ranges around zero do not tell whether equal positions open two fingers or shift both."""
    text = urdf_arm(fingers=True).replace(MIMIC, "").replace('lower="0" upper="0.04"', 'lower="-0.02" upper="0.02"')
    (folder / "arm.urdf").write_text(text)
    _, gripper = proposal_of(folder / "arm.urdf")
    assert set(gripper["joints"]) == {"left_finger", "right_finger"}
    assert "mirrored" not in gripper


def test_convex_parts_of_fingers_and_trials_are_kept_on_disk(folder: Path):
    """Entries are used, and one that is damaged or of another file is not."""

    def parts() -> list[np.ndarray]:
        finger_shapes._DIVIDED.clear()
        finger_shapes._parts_of.cache_clear()
        spec = mujoco.MjSpec.from_file(str(path))
        finger_shapes.divide_fingers(spec, ("finger",), ModelSource(path))
        model = spec.compile()
        return [model.mesh_vert.copy()]

    path = folder / "finger.xml"
    path.write_text(finger())
    computed = parts()
    (entry,) = cache_folder().glob("parts-*")
    np.testing.assert_array_equal(parts(), computed)
    entry.write_bytes(b"half")
    np.testing.assert_array_equal(parts(), computed)
    assert entry.read_bytes() != b"half"
    ModelSource(path).check()
    (first,) = cache_folder().glob("trial-*")
    path.write_text(finger().replace("0.7", "0.8"))
    ModelSource(path).check()
    assert {first} < set(cache_folder().glob("trial-*"))
    path.write_text(finger().replace('mesh="finger"', 'mesh="nothing"'))
    with pytest.raises(ModelError, match="nothing"):
        ModelSource(path).check()


def test_the_fingers_point_away_from_the_wrist_also_if_the_hands_frame_is_at_their_tips():
    fingers = "".join(
        f"<body name='{side}' pos='0 {y} -.05'><joint name='{side}' type='slide' axis='0 1 0' range='0 .04'/>"
        "<geom type='box' size='.01 .005 .03'/></body>"
        for side, y in (("left", 0.02), ("right", -0.02))
    )
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint name='bend' axis='0 1 0'/><geom size='.02'/>"
        f"<body name='hand' pos='0 0 .2'><joint name='roll' axis='0 0 -1'/><geom size='.01'/>{fingers}</body>"
        "</body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    joints = (model.joint("left").id, model.joint("right").id)
    assert outward_axis(model, data, model.body("hand").id, joints) == pytest.approx([0, 0, 1], abs=1e-6)


def test_things_are_gripped_beside_the_nearest_part_of_a_jaw_that_does_not_move(folder: Path):
    tips_m = []
    for nearer_m in (0.0, 0.003):
        spec = with_jaws(most_rad=0.8)
        spec.delete(spec.equalities[0])
        spec.delete(spec.joint("left_jaw"))
        spec.body("left_jaw").add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.01, 0.004, 0.003], pos=[0, -0.006 - nearer_m, JAW_M - 0.004], mass=0
        )
        proposal, _ = proposal_of(written(folder, spec))
        tips_m.append(abs(proposal.mapping["closed_tips_m"][1]))
    assert tips_m[0] - tips_m[1] == pytest.approx(0.003, abs=0.001)


def test_things_for_a_single_jaw_are_as_wide_as_where_its_face_is_parallel(folder: Path):
    """Printed jaws are often parallel at some opening, and not when they are closed: here 22 mm apart, at 0.2 rad."""
    spec = with_jaws(most_rad=0.8)
    spec.delete(spec.equalities[0])
    spec.delete(spec.joint("left_jaw"))
    jaw, tilt = spec.body("right_jaw"), 0.2
    jaw.pos = [0, -0.032, 0.06]
    spec.joint("right_jaw").range = spec.actuator("jaws").ctrlrange = (0.05, 0.85)
    pad = jaw.geoms[0]
    _, y, z = pad.pos
    pad.pos = [0, y * np.cos(tilt) + z * np.sin(tilt), z * np.cos(tilt) - y * np.sin(tilt)]
    pad.quat = [np.cos(tilt / 2), -np.sin(tilt / 2), 0, 0]
    proposal, _ = proposal_of(written(folder, spec))
    # At 0.1 rad more, the tips are 7 mm farther apart; the gap counts from the closed jaw (11.5 mm).
    assert proposal.mapping["widest_grip_m"] == pytest.approx(0.022, abs=0.006)


def test_fingers_of_a_wrist_that_bends_point_along_its_plane():
    """The jaw beside a fixed one is not in the middle of the hand."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body name='hand'><joint name='bend' axis='0 1 0'/><geom size='.02'/>"
        "<body name='jaw' pos='0 .03 .1'><joint name='jaw' axis='1 0 0' range='0 1'/><geom size='.01'/></body>"
        "</body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    axis = outward_axis(model, data, model.body("hand").id, (model.joint("jaw").id,))
    assert axis == pytest.approx([0, 0, 1], abs=1e-6)


def test_a_gripper_whose_joints_are_fixed_by_mistake_is_replaced(folder: Path):
    """One finger of it moves a few millimetres only. The attached gripper has bodies of the same names as the arm."""
    spec = with_jaws(most_rad=0.8)
    spec.delete(spec.equalities[0])
    spec.delete(spec.joint("left_jaw"))
    spec.joint("right_jaw").range = spec.actuator("jaws").ctrlrange = (0, 0.02)
    proposal, gripper = proposal_of(written(folder, spec))
    assert gripper["attach"] == "robotiq_2f85"
    assert proposal.mapping["remove"] == ["right_jaw"]
    assert any("the gripper of the model is left out: " in missing for missing in proposal.missing)
    robot = config_from_text(yaml_of(proposal), name="cell.yaml", folder=folder).scene.robot
    model = robot.build().compile()
    assert model.body("hand_of_model").id
    with pytest.raises(KeyError):
        model.body("right_jaw")


def test_fingers_of_a_hand_that_hold_nothing_are_replaced(folder: Path):
    """The two longest of three fingers move side by side, so nothing is between them."""
    spec = with_jaws(most_rad=0.8)
    hand = spec.body("hand")
    for number, x_m in enumerate((-0.03, 0.0, 0.03)):
        finger = hand.add_body(name=f"finger_{number}", pos=[x_m, 0.05, 0.06])
        finger.add_joint(name=f"finger_{number}", type=HINGE, axis=[1, 0, 0], range=[0, 0.8])
        finger.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.008, 0.004, 0.05], pos=[0, 0, 0.06], mass=0.03)
    for side in ("left", "right"):
        spec.delete(spec.body(f"{side}_jaw"))
    proposal, gripper = proposal_of(written(folder, spec))
    assert gripper["attach"] == "robotiq_2f85"
    assert set(proposal.mapping["remove"]) == {"finger_0", "finger_1", "finger_2"}
