"""Mistakes in a scene, as a user meets them: one message with file, key and remedy, exit code 2, nothing written."""

from pathlib import Path

import pytest

from tests.twin.small_robots import urdf_arm
from twinloop.cli import main

CUBE_OBJ = "\n".join(
    [f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    + ["f 1 2 4 3", "f 5 7 8 6", "f 1 5 6 2", "f 3 4 8 7", "f 1 3 7 5", "f 2 6 8 4"]
)
OPEN_OBJ = CUBE_OBJ.rpartition("\n")[0]
TOUCHING_OBJ = "\n".join(
    [
        CUBE_OBJ, *(f"v {x} {y} {z}" for x in (1, 2) for y in (0, 1) for z in (0, 1)),
        "f 9 10 12 11", "f 13 15 16 14", "f 9 13 14 10", "f 11 12 16 15", "f 9 11 15 13", "f 10 14 16 12",
    ]
)  # fmt: skip
"""Two cubes that share a side."""
URDF = "arm_joints: [shoulder], gripper: {joints: [left], fingers: [a, b]}, home: [0]"
PANDAS = "left: {robot: franka_panda, position_m: [0, 0, 0]}, right: {robot: franka_panda, position_m: [0, 0.05, 0]}"
UNKNOWN_ROW = "randomization: {physics: {red_cub.object_mass_kg: [0.1, 0.2]}}"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("scene: {task: stak}", ["cell.yaml:", "scene.task", "stack"]),
        ("scene: {robot: so100}", ["cell.yaml:", "scene.robot", "so101"]),
        ("scene: {things: {mug: {kind: cub}}}", ["cell.yaml:", "scene.things.mug.kind", "cube"]),
        (f"{UNKNOWN_ROW}\nscene: {{task: stack}}", ["cell.yaml:", "red_cub", "red_cube"]),
        ("scene: {things: {object: {mesh: big.obj, scale: 100}}}", ["cell.yaml:", "things.object", "big.obj"]),
        ("scene: {things: {object: {mesh: open.obj, scale: 0.04}}}", ["things.object", "open.obj", "not closed"]),
        ("scene: {things: {object: {mesh: big.obj, scale: 0.2}}}", ["cell.yaml:", "gripper", "smaller scale"]),
        ("scene: {things: {crate: {mesh: big.obj, scale: 0.8}}}", ["cell.yaml: scene.things.crate", "big.obj"]),
        ("scene: {robot: so101, things: {object: {mesh: big.obj, scale: 0.08}}}", ["things.object", "80 mm wide"]),
        ("scene: {things: {object: {mesh: twice.obj, scale: 0.04}}}", ["twice.obj", "more than two faces", "touch"]),
        ("scene: {things: {table: {kind: can}}}", ["cell.yaml:", "scene.things", "'table'", "another name"]),
        ("scene: {task: sort_by_colour, things: {asked: {kind: can}}}", ["scene.things", "a role", "another name"]),
        ("scene: {task: peg_insertion, things: {peg: {kind: can}}}", ["scene.things", "'peg'", "frame tip", "Keep"]),
        ("scene: {task: stack, tasks: {pour: 1}}", ["cell.yaml:", "scene.task", "'stack'", "not one of `tasks`"]),
        ("scene: {only: stack}", ["cell.yaml:", "scene.only", "no `tasks`", "task: stack"]),
        (f"scene: {{task: hand_to_hand, robots: {{{PANDAS}}}}}", ["cell.yaml:", "scene.robots", "inside each other"]),
        (f"scene: {{robot: {{urdf: arm.urdf, {URDF}}}}}", ["arm.urdf", "forearm.stl", "missing", "--package"]),
        (f"scene: {{robot: {{urdf: other.urdf, {URDF}}}}}", ["other.urdf", "package 'nobody'", "{nobody: DIR}"]),
    ],
)  # fmt: skip
def test_a_mistake_gives_one_message_and_writes_nothing(
    config: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "cell.yaml").write_text(config + "\n")
    (tmp_path / "big.obj").write_text(CUBE_OBJ)
    (tmp_path / "open.obj").write_text(OPEN_OBJ)
    (tmp_path / "twice.obj").write_text(TOUCHING_OBJ)
    (tmp_path / "arm.urdf").write_text(urdf_arm(fingers=True, mesh="forearm.stl"))
    (tmp_path / "other.urdf").write_text(urdf_arm(fingers=True, mesh="package://nobody/forearm.stl"))
    before = sorted(tmp_path.iterdir())
    code = main(["generate", str(tmp_path / "cell.yaml"), "--episodes", "4", "--out", str(tmp_path / "data")])
    message = capsys.readouterr().err
    assert code == 2
    assert all(word in message for word in words), message
    assert message.count("twinloop:") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tasks", "stack,stack"], ["--tasks", "'stack'", "twice"]),
        (["--robots", "so101,so101"], ["--robots", "'so101'", "twice"]),
        (["--tasks", "stack,pur"], ["--tasks", "'pur'", "pour"]),
        (["--tasks", ","], ["--tasks", "commas"]),
        (["--tasks", "hand_to_hand,stack", "--robot", "so101"], ["hand_to_hand", "left and right", "so101 has one"]),
    ],
)
def test_a_mistake_in_a_list_of_names_writes_nothing(
    options: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    code = main(["generate", *options, "--episodes", "4", "--out", str(tmp_path / "data")])
    message = capsys.readouterr().err
    assert code == 2
    assert all(word in message for word in words), message
    assert not list(tmp_path.iterdir())
