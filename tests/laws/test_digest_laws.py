"""Law: every leaf of a resolved config decides the digest, but for a short list of leaves that decide no episode."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from twinloop.errors import UsageError
from twinloop.randomize.distribution import Uniform
from twinloop.randomize.table import TABLE
from twinloop.run.config import UNDECISIVE, RunConfig, config_from_text
from twinloop.run.scene import SceneConfig
from twinloop.twin.content import robot_content, task_content
from twinloop.twin.fixtures.hole import CLEARANCE_ROW
from twinloop.twin.relations import at
from twinloop.twin.robot_files import model_source
from twinloop.twin.robots.franka_panda import build
from twinloop.twin.skills import grasp, lift

Leaf = tuple[str | int, ...]

DISTRIBUTIONS = """
randomization:
  physics:
    friction_coefficient: {normal: {mean: [0.5, 0.6], std: 0.05}}
    object_mass_kg: {choice: {values: [0.1, 0.2], weights: [1, 3]}}
    object_yaw_deg: {truncated: {mean: 1, std: 9, low: -9, high: 9}}
    table_height_cm: 0.5
    object_shape: {choice: {values: [box, hammer], weights: [1, 2]}}
  latency:
    action_delay_ms: {log_uniform: [5, 40]}
  visual: {texture_pool: 20}
  human: {bystander_probability: 0.25}
cameras:
  front: {position_m: [1.0, 0.1, 0.6], look_at_m: [0.5, 0.0, 0.1], labels: [boxes, poses], depth: true}
  wrist: {mount: wrist, position_m: [0.05, 0.01, -0.05], look_at_m: [0.0, 0.0, 0.1], rate_hz: 5, depth: true}
"""

ROBOT = """
scene:
  robot:
    mjcf: arm/arm.xml
    arm_joints: [joint1, joint2, joint3, joint4, joint5, joint6, joint7]
    gripper: {joints: [left_finger, right_finger], actuator: gripper, fingers: [left_finger, right_finger],
              open: 0.08, closed: 0.0}
    tool_frame: {body: hand, offset: [0, 0, 0.1034], quat: [1, 0, 0, 0]}
    home: [0.0, -0.2, 0.0, -2.2, 0.0, 2.0, 0.7854]
    velocity_limits_rad_s: [2, 2, 2, 2, 2.5, 2.5, 2.5]
    reach_m: 0.8
"""


@pytest.fixture(scope="module", autouse=True)
def tried_once() -> Iterator[None]:
    """Reading a robot compiles its file in a separate process first. The file is the same here, so once is enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_source, "try_out", cache(model_source.try_out))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("robot")
    (folder / "arm").mkdir()
    spec = build()
    spec.compile()
    (folder / "arm" / "arm.xml").write_text(spec.to_xml())
    return folder


def read(text: str, folder: Path) -> RunConfig:
    return config_from_text(text, name="cell.yaml", folder=folder)


def leaves(value: Any, path: Leaf = ()) -> Iterator[Leaf]:
    if isinstance(value, (dict, list)) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from leaves(inner, (*path, key))
    else:
        yield path


def value_at(value: Any, path: Leaf) -> Any:
    for key in path:
        value = value[key]
    return value


def changes(value: Any) -> list[Any]:
    """Other values of the same type, near to it; the first that reads as a config is used."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, value + 2, 2 * value]
    if isinstance(value, float):
        return [value + 0.01, value - 0.01, value * 1.05, value * 0.95, value / 2, 0.5]
    words = [
        "so101", "handover", "can", "differentiated", "wrist", "fixed", "instances", "keypoints", "tee", "box", "link7",
        "left_finger", "right_finger", "joint1", "fast",
    ]  # fmt: skip
    return [word for word in words if word != value]


def changed(config: RunConfig, path: Leaf, folder: Path) -> RunConfig | None:
    resolved = config.resolved()
    for other in changes(value_at(resolved, path)):
        content = copy.deepcopy(resolved)
        value_at(content, path[:-1])[path[-1]] = other
        try:
            return read(yaml.safe_dump(content), folder)
        except UsageError:
            continue
    return None


# Leaves without another valid value here: names in the model, whose change is tested below, and a gripper to attach,
# because this arm has one.
FIXED = {"mjcf", "arm_joints", "joints", "actuator", "fingers", "tool_frame", "attach"}
# The reach of a robot only decides the hints of `explain`.
NO_EPISODE = {".".join(map(str, path)) for path in [("scene", "robot", "reach_m")]} | set(UNDECISIVE)


@pytest.mark.parametrize("text", ["scene: {}", DISTRIBUTIONS, ROBOT], ids=["defaults", "rows and cameras", "robot"])
def test_every_leaf_decides_the_digest(text: str, folder: Path):
    config = read(text, folder)
    compared = 0
    for path in leaves(config.resolved()):
        if value_at(config.resolved(), path) in ({}, []):
            continue  # an empty section
        if text is ROBOT and path[:2] != ("scene", "robot"):
            continue  # all other sections are those of the defaults
        other = changed(config, path, folder)
        name = ".".join(map(str, path))
        if other is None:
            assert FIXED & set(path), name
            continue
        compared += 1
        assert (other.digest == config.digest) == (name in NO_EPISODE), name
    assert compared >= 20


def test_every_row_and_every_distribution_decides_the_digest():
    digests, count = {read("scene: {}", Path()).digest}, 1
    for row in TABLE:
        low, high = row.plausible
        forms: list[Any] = [[low, high], {"truncated": {"mean": low, "std": 1, "low": low, "high": high}}]
        if row.pool:
            forms = [int(low) + 1, int(low) + 2]
        elif row.words:
            forms = [[word] for word in row.words]
        elif row.chance is not None:
            forms = [0.1, 0.2]
        for form in forms:
            scene = {"object": "sponge"} if "soft" in row.only_with else {"object": "cube"}
            if row.name == CLEARANCE_ROW:
                scene = {"task": "peg_insertion"}
            if "arm" not in row.robots:
                scene = {"robot": "quadruped" if "legs" in row.robots else "diff_drive"}
            if "products" in row.only_with:
                scene = {"task": "bin_picking"}
            text = yaml.safe_dump({"scene": scene, "randomization": {row.group: {row.name: form}}})
            digests.add(read(text, Path()).digest)
            count += 1
    assert len(digests) == count


def test_the_names_in_a_robots_mapping_decide_it_too(folder: Path):
    digests = {read(ROBOT, folder).digest}
    for old, new in (
        ("joint1, joint2", "joint2, joint1"),
        ("joints: [left_finger, right_finger]", "joints: [left_finger]"),
        ("fingers: [left_finger, right_finger]", "fingers: [right_finger, left_finger]"),
        ("body: hand", "body: link7"),
        ("{body: hand, offset: [0, 0, 0.1034], quat: [1, 0, 0, 0]}", "tool"),
    ):
        assert old in ROBOT
        digests.add(read(ROBOT.replace(old, new).replace("open: 0.08", "open: 0.04"), folder).digest)
    assert len(digests) == 6


def test_a_robots_files_decide_it_and_their_folder_does_not(folder: Path, tmp_path: Path):
    here = read(ROBOT, folder)
    (tmp_path / "arm").mkdir()
    file = tmp_path / "arm" / "arm.xml"
    file.write_text((folder / "arm" / "arm.xml").read_text())
    assert read(ROBOT, tmp_path).digest == here.digest
    file.write_text(file.read_text().replace('mass="0.73"', 'mass="0.74"'))
    assert read(ROBOT, tmp_path).digest != here.digest


def test_a_robot_or_task_of_another_package_decides_by_content():
    """Two packages, or two versions of one, may use the same name for different models."""
    scene = SceneConfig()
    heavier = build()
    heavier.body("hand").mass = 0.8
    other = replace(scene.robot, build=lambda: heavier)
    assert robot_content(other) != robot_content(scene.robot)
    assert robot_content(replace(scene.robot, build=lambda: build())) == robot_content(scene.robot)
    slower = replace(scene.task, program=tuple(replace(phase, speed_m_s=0.1) for phase in scene.task.program))
    assert task_content(slower) != task_content(scene.task)
    higher = replace(scene.task, program=(*grasp("object"), *lift("object", by_m=0.13), *scene.task.program[4:]))
    assert task_content(higher) != task_content(scene.task)
    (wide, *rest) = scene.task.success
    narrow = at("object", "goal", within_m=0.01)
    assert narrow.name == wide.name
    assert task_content(replace(scene.task, success=(narrow, *rest))) != task_content(scene.task)
    same = replace(scene.task, program=(*grasp("object"), *lift("object"), *scene.task.program[4:]))
    assert task_content(same) == task_content(scene.task)
    foreign = replace(wide, holds=lambda scene: scene.speed_m_s("object") < 1)
    assert task_content(replace(scene.task, success=(foreign, *rest))) != task_content(scene.task)


def test_distributions_of_the_same_range_have_different_digests():
    config = read("randomization: {physics: {object_mass_kg: [0.1, 0.2]}}", Path())
    assert config.randomization["object_mass_kg"] == Uniform(0.1, 0.2)
    other = read("randomization: {physics: {object_mass_kg: {log_uniform: [0.1, 0.2]}}}", Path())
    assert other.digest != config.digest
