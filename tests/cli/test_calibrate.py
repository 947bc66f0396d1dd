"""From logs to a patch: fitted, compared with held-out logs, applied to a config and removed again."""

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.made import EXAMPLES, command, logs_of_truth, write_json, xl330
from twinloop.calibrate.patch import Fitted, FittedDrive, TwinPatch
from twinloop.cli import main
from twinloop.deploy import robots
from twinloop.deploy.robot import Description
from twinloop.deploy.twin_robot import TwinRobot

TWIN = str(EXAMPLES / "xl330_bench.yaml")
CONFIG = str(EXAMPLES / "pick_and_place.yaml")
TRUTH = {"pendulum.resistance_ohm": 2.2, "pendulum.coulomb_nm": 0.03}


def command_output(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict:
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, bench = tmp_path_factory.mktemp("bench"), xl330()
    for name, kinds in (("seen", (0, 2)), ("unseen", (1,))):
        for log in logs_of_truth(bench, TRUTH, seed=5, asked=[command(kind, 200) for kind in kinds]):
            write_json(log, folder / name)
    return folder


def test_logs_give_a_patch_that_is_applied_and_removed(place: Path, capsys: pytest.CaptureFixture[str]):
    patch = str(place / "patch.yaml")
    fit = ["--fit", "resistance_ohm", "coulomb_nm", "--threads", "1"]
    result = command_output(capsys, "calibrate", TWIN, "--logs", str(place / "seen"), "--out", patch, *fit)
    assert result["fitted"].keys() == TRUTH.keys()
    for name, value in TRUTH.items():
        assert abs(result["fitted"][name]["value"] / value - 1) < 0.05
    assert result["residual"]["position"]["rmse"] < 0.003

    page = place / "replay.html"
    unseen = ("--logs", str(place / "unseen"), "--patch", patch)
    after = command_output(capsys, "replay", TWIN, *unseen, "--out", str(page))
    before = command_output(capsys, "replay", TWIN, *unseen, "--without-patch")
    assert after["channels"]["position"]["mae"] < before["channels"]["position"]["mae"] / 5
    assert after["channels"]["position"]["unit"] == "rad"
    assert 0.8 < after["coverage"]["position"] <= 1
    assert before["coverage"] == {}
    assert "<svg" in page.read_text()

    plain = command_output(capsys, "explain", CONFIG, "--no-estimate")
    over = command_output(capsys, "explain", CONFIG, "--no-estimate", "--patch", patch)
    off = command_output(capsys, "explain", CONFIG, "--no-estimate", "--patch", patch, "--without-patch")
    assert over["patched"] == ["joint_friction_nm"]
    assert over["config"]["randomization"]["physics"]["joint_friction_nm"] == pytest.approx(
        result["randomization"]["joint_friction_nm"], rel=1e-4
    )
    assert over["config_digest"] != plain["config_digest"] == off["config_digest"]


def test_bad_logs_are_named_and_nothing_is_written(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for file in (place / "seen").iterdir():
        log = json.loads(file.read_text())
        for row in log["entries"]:
            row["position"] = float(np.rad2deg(row["position"]))
        (tmp_path / file.name).write_text(json.dumps(log))
    out = tmp_path / "patch.yaml"
    failed = command_output(capsys, "calibrate", TWIN, "--logs", str(tmp_path), "--out", str(out), code=1)
    assert "degrees for radians" in failed["error"]
    assert not out.exists()
    checked = command_output(capsys, "calibrate", TWIN, "--logs", str(place / "seen"), "--check")
    assert checked["logs"] == 2


def test_a_check_says_how_many_logs_can_be_fitted(place: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["calibrate", TWIN, "--logs", str(place / "seen"), "--check"]) == 0
    assert "2 logs can be fitted." in capsys.readouterr().out


def test_an_unknown_quantity_is_refused_without_a_list_of_all_joints(place: Path, capsys: pytest.CaptureFixture[str]):
    words = ("calibrate", TWIN, "--logs", str(place / "seen"), "--fit", "coulom_nm")
    message = command_output(capsys, *words, code=2)["error"]
    assert "did you mean coulomb_nm" in message
    assert "pendulum.coulomb_nm" not in message


def test_a_patch_of_another_twin_is_refused(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    patch = tmp_path / "other.yaml"
    patch.write_text("twin_patch: 1\nfitted: {elbow.sag: {value: 1, low: 0, high: 2, unit: '1'}}\n")
    words = ("replay", TWIN, "--logs", str(place / "unseen"), "--patch", str(patch))
    assert "which" in command_output(capsys, *words, code=2)["error"]
    patch.write_text("fitted: {}\n")
    assert "twin_patch: is missing; the version 1 was expected" in command_output(capsys, *words, code=2)["error"]


def test_workers_need_ray_and_threads_are_local(place: Path, capsys: pytest.CaptureFixture[str]):
    words = ("calibrate", TWIN, "--logs", str(place / "seen"), "--out", str(place / "none.yaml"))
    assert "--threads" in command_output(capsys, *words, "--workers", "3", code=2)["error"]
    assert "--executor ray" in command_output(capsys, *words, "--address", "auto", code=2)["error"]
    static = ("calibrate", str(EXAMPLES / "static_sensors.yaml"), "--logs", str(place), "--executor", "ray")
    assert "simulations of a bench" in command_output(capsys, *static, code=2)["error"]
    assert not (place / "none.yaml").exists()


def test_a_patch_or_config_of_the_wrong_robot_is_refused_with_file_and_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    patch, cell = tmp_path / "patch.yaml", tmp_path / "cell.yaml"
    drive = FittedDrive("position_servo", {"elbow_flex": {"delay_ms": 30.0}}, "so101", "another digest")
    TwinPatch(fitted={"elbow_flex.delay_ms": Fitted(30.0, 25.0, 35.0, "ms")}, drive=drive).write(patch)

    def error(robot: str, *words: str) -> str:
        cell.write_text(f"scene: {{robot: {robot}}}\n")
        return command_output(capsys, *words, code=2)["error"]

    explain = ("explain", str(cell), "--no-estimate", "--patch", str(patch))
    assert f"{patch}: drive.robot: the patch is of robot so101, and {cell} has scene.robot: xarm7" in error(
        "xarm7", *explain
    )
    changed = error("so101", *explain)
    assert f"{patch}: drive.robot_digest: " in changed
    assert f"twinloop calibrate {cell}" in changed
    for words in (explain, ("calibrate", str(cell), "--logs", str(tmp_path)), ("excite", str(cell), "--robot", "twin")):
        assert f"{cell}: scene.robot: quadruped is not an arm" in error("quadruped", *words)


class NarrowRobot(TwinRobot):
    """A twin that says its tool may only be in a box that its home position is not in."""

    def connect(self) -> Description:
        about = super().connect()
        box = np.array([[0.1, 0.12], [-0.5, 0.5], [0.0, 0.7]])
        return replace(about, limits=replace(about.limits, workspace_m=box))


def test_an_excitation_that_would_leave_the_workspace_is_refused_before_anything_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(robots.KINDS, "narrow", NarrowRobot)
    cell, out = tmp_path / "cell.yaml", tmp_path / "log"
    cell.write_text("scene: {robot: so101}\n")
    words = ("excite", str(cell), "--robot", f"narrow:{cell}", "--out", str(out), "--seconds", "4")
    error = command_output(capsys, *words, code=2)["error"]
    assert "no excitation from its home position: the tool would leave the workspace at (" in error
    assert "widen `workspace_m`, in the robot's file" in error
    assert not out.exists()


def test_a_replay_in_the_twin_has_no_empty_columns_and_names_the_worst_channel_of_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    cell, log = tmp_path / "cell.yaml", tmp_path / "log"
    cell.write_text("scene: {robot: so101}\n")
    words = ("excite", str(cell), "--robot", f"twin:{cell}", "--out", str(log), "--seconds", "4", "--candidates", "2")
    moved = command_output(capsys, *words)
    assert moved["played"] == 2
    assert sum(moved["limits"].values()) == round(moved["changed"] * 2 * 100)
    assert main(["replay", str(cell), "--logs", str(log), "--threads", "1"]) == 0
    printed = capsys.readouterr().out
    assert "RMSE of delay" not in printed
    assert "90 % band" not in printed
    assert "furthest off" in printed


@pytest.mark.skipif(find_spec("sapien") is not None, reason="SAPIEN is installed")
def test_an_engine_that_is_not_installed_is_refused_with_the_command_that_installs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    cell = tmp_path / "cell.yaml"
    cell.write_text("scene: {robot: so101}\n")
    error = command_output(capsys, "excite", str(cell), "--robot", "rehearsal:physx:nominal", "--dry-run", code=2)
    assert "rehearsal:physx: needs SAPIEN" in error["error"]
    assert "pip install 'twinloop[physx]', or leave out physx: to use Drake" in error["error"]
