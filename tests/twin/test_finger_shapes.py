"""Fingers of meshes: hollow ones become convex parts, so that what they grip is not inside them."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from twinloop.twin.robot_files.finger_shapes import divide_fingers
from twinloop.twin.robot_files.inspection.gripper_drive import drive_of_gripper
from twinloop.twin.robot_files.inspection.roles import roles_of
from twinloop.twin.robot_files.model_source import ModelSource

pytestmark = pytest.mark.usefixtures("no_trials")

OUTLINE = ((0, 0), (0.06, 0), (0.06, 0.01), (0.01, 0.01), (0.01, 0.04), (0, 0.04))
IN_THE_HOLLOW = np.array([0.02, 0.02, 0.01])
"""A point beside both legs of the L, inside its convex hull."""


def l_shaped() -> str:
    """An L-shaped prism as attributes of an MJCF mesh."""
    count = len(OUTLINE)
    vertices = [(x, y, z) for z in (0.0, 0.02) for x, y in OUTLINE]
    caps = [(0, place + 1, place) for place in range(1, count - 1)]
    caps += [(count, count + place, count + place + 1) for place in range(1, count - 1)]
    sides = [(here, (here + 1) % count) for here in range(count)]
    walls = [face for a, b in sides for face in ((a, b, b + count), (a, b + count, a + count))]
    numbers = " ".join(f"{number:g}" for vertex in vertices for number in vertex)
    return f'vertex="{numbers}" face="{" ".join(str(corner) for face in (*caps, *walls) for corner in face)}"'


def finger(pads: str = "") -> str:
    return f"""<mujoco><asset><mesh name="finger" {l_shaped()}/></asset>
    <worldbody><body name="finger"><joint name="slide" type="slide" axis="0 1 0"/>
      <geom type="mesh" mesh="finger" friction="0.7 0.01 0.001"/>{pads}</body></worldbody></mujoco>"""


def distance_m(model: mujoco.MjModel, point: np.ndarray) -> float:
    """Distance of a small sphere at the point from the nearest geom of the finger that has contacts."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    probe = model.geom("probe").id
    data.geom_xpos[probe] = point
    geoms = [geom for geom in range(model.ngeom) if geom != probe and model.geom_contype[geom]]
    return min(mujoco.mj_geomDistance(model, data, geom, probe, 1.0, None) for geom in geoms)


@pytest.mark.parametrize("divided", [False, True])
def test_the_hollow_of_a_finger_is_free_after_it_is_divided(divided: bool, tmp_path: Path):
    (tmp_path / "finger.xml").write_text(finger())
    spec = mujoco.MjSpec.from_file(str(tmp_path / "finger.xml"))
    mass_kg = spec.copy().compile().body("finger").mass[0]
    if divided:
        divide_fingers(spec, ("finger",), ModelSource(tmp_path / "finger.xml"))
    spec.worldbody.add_geom(
        name="probe", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.001, 0, 0], contype=0, conaffinity=0
    )
    model = spec.compile()
    assert (distance_m(model, IN_THE_HOLLOW) > 0.005) is divided
    assert distance_m(model, np.array([0.03, 0.005, 0.01])) < 0  # inside a leg
    assert model.body("finger").mass[0] == pytest.approx(mass_kg)
    touching = [geom for geom in range(model.ngeom) if model.geom_contype[geom]]
    assert model.geom_friction[touching, 0] == pytest.approx(0.7)


def test_a_finger_with_pads_is_left_as_it_is(tmp_path: Path):
    (tmp_path / "finger.xml").write_text(finger('<geom type="box" size="0.01 0.002 0.01"/>'))
    spec = mujoco.MjSpec.from_file(str(tmp_path / "finger.xml"))
    divide_fingers(spec, ("finger",), ModelSource(tmp_path / "finger.xml"))
    assert len(spec.geoms) == 2


@pytest.mark.parametrize(("drive", "kept"), [("<position kp='100'", True), ("<motor ctrlrange='-10 10'", False)])
def test_a_gripper_that_takes_a_force_gets_a_position_servo(drive: str, kept: bool):
    links, ends = "", ""
    for number in range(4):
        links += f"<body name='l{number}' pos='0 0 .2'><joint name='j{number}' axis='0 {number % 2} {1 - number % 2}'/>"
        links += "<geom type='capsule' fromto='0 0 0 0 0 .2' size='.03'/>"
        ends += "</body>"
    jaws = "".join(
        f"<body name='{side}' pos='0 {y} .25'><joint name='{side}' type='slide' axis='0 {sign} 0' range='0 .04'/>"
        "<geom type='box' size='.01 .005 .03'/></body>"
        for side, y, sign in (("left", 0.01, 1), ("right", -0.01, -1))
    )
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{links}{jaws}{ends}</worldbody><equality><joint joint1='right' joint2='left'/></equality>"
        f"<actuator>{drive} name='grip' joint='left'/></actuator></mujoco>"
    )
    fingers = (model.body("left").id, model.body("right").id)
    gripper = drive_of_gripper(model, roles_of(model, "arm.xml"), fingers)
    assert gripper.actuator == ("grip" if kept else "")
    assert gripper.joints == ("left", "right")
