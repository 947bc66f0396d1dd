"""A user's own MJCF robot plugs in by path and a short mapping; a hostile one is refused."""

from pathlib import Path

import numpy as np
import pytest

from twinloop.errors import ConfigError, ModelError
from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig, config_from_text
from twinloop.twin.robots.franka_panda import FRANKA_PANDA, build
from twinloop.twin.robots.mjcf_file import checked_files

MAPPING = f"""
scene:
  robot:
    mjcf: arm/arm.xml
    arm_joints: [joint1, joint2, joint3, joint4, joint5, joint6, joint7]
    gripper:
      joints: [left_finger, right_finger]
      actuator: gripper
      fingers: [left_finger, right_finger]
      open: 0.08
      closed: 0
    tool_frame: tool
    home: {list(FRANKA_PANDA.home_rad)}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A robot as a user has it: an XML file in a folder of its own."""
    (tmp_path / "arm").mkdir()
    spec = build()
    spec.compile()
    (tmp_path / "arm" / "arm.xml").write_text(spec.to_xml())
    return tmp_path


def read(text: str, folder: Path) -> RunConfig:
    return config_from_text(text, name="cell.yaml", folder=folder)


def test_it_picks_and_places_like_the_built_in_one(folder: Path):
    config = read(MAPPING, folder)
    done = generate(config, folder / "data", episodes=8, workers=1)
    assert done.progress.accepted == 8


def test_its_digest_follows_the_file(folder: Path):
    before = read(MAPPING, folder).digest
    file = folder / "arm" / "arm.xml"
    file.write_text(file.read_text().replace('mass="0.73"', 'mass="0.74"'))
    assert read(MAPPING, folder).digest != before


def test_its_resolved_config_reads_back(folder: Path):
    config = read(MAPPING, folder)
    assert read(config.to_yaml(), Path("/nowhere")).digest == config.digest


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("joint7]", "joint8]", ["joint8", "joint7"]),
        ("actuator: gripper", "actuator: griper", ["griper", "gripper"]),
        ("tool_frame: tool", "tool_frame: tip", ["site", "tip", "tool"]),
        ("mjcf: arm/arm.xml", "mjcf: arm/gone.xml", ["gone.xml", "No such file"]),
        ("fingers: [left_finger, right_finger]", "fingers: [left_finger]", ["fingers", "two"]),
    ],
)
def test_a_wrong_name_is_refused_with_the_right_ones(folder: Path, old: str, new: str, words: list[str]):
    with pytest.raises((ModelError, ConfigError)) as error:
        read(MAPPING.replace(old, new), folder)
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ("<mujoco><worldbody><geom size='-1'/></worldbody></mujoco>", ["cannot compile"]),
        ("<mujoco><asset><mesh file='../secret.stl'/></asset></mujoco>", ["../secret.stl", "outside"]),
        ("<mujoco><asset><mesh file='/etc/passwd'/></asset></mujoco>", ["/etc/passwd", "outside"]),
        ("<mujoco><compiler meshdir='../..'/><asset><mesh file='a.stl'/></asset></mujoco>", ["a.stl", "outside"]),
        ("<mujoco><include file='../other.xml'/></mujoco>", ["other.xml", "outside"]),
        ("<mujoco><asset><texture type='cube' fileright='../x.png'/></asset></mujoco>", ["../x.png", "outside"]),
        ("<mujoco><asset><mesh file='none.stl'/></asset></mujoco>", ["none.stl", "no such file"]),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><mujoco/>", ["document type"]),
        ("<mujoco><extension><plugin plugin='x'/></extension></mujoco>", ["not allowed"]),
        ("<robot/>", ["<robot>", "<mujoco>"]),
        ("<mujoco>", ["not XML"]),
        ("", ["not XML"]),
    ],
)
def test_a_hostile_or_broken_model_is_refused_by_name(folder: Path, xml: str, words: list[str]):
    (folder / "arm" / "arm.xml").write_text(xml)
    with pytest.raises(ModelError) as error:
        read(MAPPING, folder)
    assert "arm.xml" in str(error.value)
    assert all(word in str(error.value) for word in words), error.value


def test_files_inside_the_folder_are_welcome(folder: Path):
    (folder / "arm" / "part.xml").write_text("<mujocoinclude/>")
    (folder / "arm" / "arm.xml").write_text("<mujoco><include file='part.xml'/></mujoco>")
    assert [path.name for path in checked_files(folder / "arm" / "arm.xml")] == ["arm.xml", "part.xml"]


def test_a_link_out_of_the_folder_is_outside(folder: Path):
    (folder / "secret.stl").write_bytes(np.arange(4).tobytes())
    (folder / "arm" / "inside.stl").symlink_to(folder / "secret.stl")
    (folder / "arm" / "arm.xml").write_text("<mujoco><asset><mesh file='inside.stl'/></asset></mujoco>")
    with pytest.raises(ModelError, match="outside"):
        checked_files(folder / "arm" / "arm.xml")
