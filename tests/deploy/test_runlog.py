"""Runlogs are datasets: committed episode by episode, continued after a kill, read by every command."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.made_up import CAMERA, PHASES, described, episode_log
from twinloop.cli import main
from twinloop.dataset import Dataset, merge, query, verify
from twinloop.deploy.episode_log import SAFETY
from twinloop.deploy.runlog import Runlog
from twinloop.errors import CorruptError, DatasetError, LockedError
from twinloop.learn.demonstrations import load_demonstrations
from twinloop.learn.space import DEFAULT_INPUTS
from twinloop.twin.twin import Twin


def opened(path: Path, twin: Twin, **changes) -> Runlog:
    return Runlog.open(path, described(twin, **changes), task="pick_and_place", phases=PHASES)


@pytest.fixture(scope="module")
def logged(twin: Twin, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two that succeeded, one that failed, one that was aborted, and one that was aborted before its first frame."""
    path, about = tmp_path_factory.mktemp("runlogs") / "bench", described(twin)
    with opened(path, twin) as runlog:
        runlog.add(episode_log(about, 0))
        runlog.add(episode_log(about, 1, arm="candidate", checkpoint="c0ffee", columns={"setting/speed": 0.5}))
        runlog.add(episode_log(about, 2, outcome="failure", failure="never_grasped", last_phase=PHASES[2]))
        runlog.add(episode_log(about, 3, outcome="aborted", failure="robot_lost", last_phase=PHASES[0]))
        runlog.add(episode_log(about, 4, length=0, outcome="aborted", failure="robot_lost", last_phase=""))
        runlog.finish()
    return path


def test_every_episode_is_stored_with_its_columns(logged: Path):
    dataset = Dataset.open(logged)
    assert dataset.complete
    assert dataset.header.source == "real"
    assert dataset.header.keep_rejected
    rows = dataset.attempts().to_pylist()
    assert [row["verdict"] for row in rows] == ["accepted", "accepted", "task_failed", "aborted", "aborted"]
    assert [row["outcome"] for row in rows] == ["success", "success", "failure", "aborted", "aborted"]
    assert [row["success"] for row in rows] == [True, True, False, False, False]
    assert [row["scene"] for row in rows] == [0, 1, 2, 3, 4]
    assert rows[1]["setting/speed"] == 0.5
    assert rows[0]["setting/speed"] is None
    assert rows[2]["condition/light"] == "dim"
    assert rows[2]["safety/velocity"] == 2
    assert {f"safety/{reason}" for reason in SAFETY} <= set(rows[0])
    assert (rows[4]["length"], rows[4]["duration_s"]) == (0, 0.0)


def test_frames_come_back_as_they_were_logged(logged: Path, twin: Twin):
    log = episode_log(described(twin), 1)
    frames = Dataset.open(logged).episode(attempt=1)
    for name, values in log.frames.items():
        np.testing.assert_array_equal(frames[name], values)
    assert frames["next.done"].tolist() == [False] * 11 + [True]
    assert frames["next.success"].tolist() == frames["next.done"].tolist()
    assert not Dataset.open(logged).episode(attempt=2)["next.success"].any()


def test_a_log_continues_and_is_complete_after_each_episode(tmp_path: Path, twin: Twin):
    about = described(twin)
    for number in range(3):
        with opened(tmp_path / "log", twin) as runlog:
            assert len(runlog) == number
            assert runlog.add(episode_log(about, number)) == number
        report = verify(tmp_path / "log")
        assert report.complete
        assert not report.problems
    with opened(tmp_path / "whole", twin) as runlog:
        for number in range(3):
            runlog.add(episode_log(about, number))
        digest = runlog.finish()
    assert Dataset.open(tmp_path / "log").digest() == digest


def test_a_kill_loses_at_most_the_running_episode(tmp_path: Path, twin: Twin):
    script = (
        "import os, sys; from pathlib import Path\n"
        "from tests.deploy.made_up import *\n"
        "from twinloop.deploy.runlog import Runlog\n"
        "from twinloop.twin.assemble import assemble; from twinloop.twin.objects import OBJECTS\n"
        "from twinloop.twin.robots.franka_panda import FRANKA_PANDA\n"
        "about = described(assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS['cube']))\n"
        "runlog = Runlog.open(Path(sys.argv[1]), about, task='pick_and_place', phases=PHASES)\n"
        "runlog.add(episode_log(about, 0))\n"
        "runlog._writer.grow(2)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "log")], cwd=root, env={**os.environ})
    assert done.returncode == -9
    with opened(tmp_path / "log", twin) as runlog:
        assert len(runlog) == 1
        assert runlog.add(episode_log(described(twin), 1)) == 1
        assert runlog.header.episodes == 2
    assert not verify(tmp_path / "log").problems


def test_only_one_writes_and_only_of_one_robot(tmp_path: Path, twin: Twin):
    with opened(tmp_path / "log", twin), pytest.raises(LockedError):
        opened(tmp_path / "log", twin)
    with pytest.raises(DatasetError, match="in the log: id: bench\n  this robot: id: another"):
        opened(tmp_path / "log", twin, id="another")


def test_a_log_continues_after_an_update_of_the_software(tmp_path: Path, twin: Twin):
    with opened(tmp_path / "log", twin) as runlog:
        older = replace(runlog.header, versions={"twinloop": "0.0.9"})
    (tmp_path / "log" / "dataset.json").write_bytes(older.to_bytes())
    with opened(tmp_path / "log", twin) as runlog:
        runlog.add(episode_log(described(twin), 0))
        assert runlog.header.versions == {"twinloop": "0.0.9"}
        assert runlog.attempts()["version/twinloop"].to_pylist() == ["0.1.0"]


def test_pictures_are_stored_with_the_frames(tmp_path: Path, twin: Twin):
    pytest.importorskip("av", reason="needs twinloop[video]")
    about = described(twin, cameras=(CAMERA,))
    with Runlog.open(tmp_path / "seen", about, task="pick_and_place", phases=PHASES) as runlog:
        runlog.add(episode_log(about, 0))
        runlog.add(episode_log(about, 1, length=0, outcome="aborted"))
        runlog.finish()
    assert not verify(tmp_path / "seen").problems
    assert Dataset.open(tmp_path / "seen").pictures(0, CAMERA.name).shape == (12, 32, 48, 3)


def test_an_episode_of_another_robot_is_refused_and_the_log_continues(tmp_path: Path, twin: Twin):
    log = episode_log(described(twin), 0)
    short = {**log.frames, "command": log.frames["command"][:-1]}
    with opened(tmp_path / "log", twin) as runlog:
        with pytest.raises(DatasetError, match="command of an episode has 11 frames, but the action has 12"):
            runlog.add(replace(log, frames=short))
        with pytest.raises(DatasetError, match=r"observation\.effort of an episode is missing"):
            runlog.add(replace(log, frames={k: v for k, v in log.frames.items() if k != "observation.effort"}))
        assert runlog.add(log) == 0
    assert not verify(tmp_path / "log").problems


def command_output(capsys: pytest.CaptureFixture, *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_commands_for_datasets_work_on_a_runlog(logged: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    facts = command_output(capsys, "info", str(logged))
    assert facts["episodes"]["rejected"] == {"aborted": 2, "task_failed": 1}
    assert facts["failures"] == {"robot_lost": 2, "never_grasped": 1}
    assert command_output(capsys, "verify", str(logged))["problems"] == []
    report = Path(command_output(capsys, "report", str(logged))["report"]).read_text()
    assert "recorded on a robot" in report
    table = query(logged, 'select arm, sum("safety/velocity") as n from attempts group by arm order by arm')
    assert table.to_pylist() == [{"arm": "", "n": 9}, {"arm": "candidate", "n": 1}]
    merge(tmp_path / "two", [logged, logged])
    assert len(Dataset.open(tmp_path / "two").attempts()) == 10


def test_successful_episodes_of_a_runlog_are_real_demonstrations(logged: Path):
    demonstrations = load_demonstrations(logged, DEFAULT_INPUTS)
    assert demonstrations.real
    assert demonstrations.attempts.tolist() == [0, 1]


def test_an_episode_of_a_runlog_is_viewed_in_the_twin(logged: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    pytest.importorskip("rerun", reason="needs twinloop[view]")
    seen = command_output(capsys, "view", str(logged), "--episode", "2", "--out", str(tmp_path / "look.rrd"))
    assert seen["note"] == ""
    assert any("robot" in entity for entity in seen["entities"])


@pytest.mark.parametrize("cut", [True, False])
def test_a_damaged_episode_is_not_deleted(logged: Path, twin: Twin, tmp_path: Path, cut: bool):
    """Recorded data cannot be made again: a damaged log is not continued and no file is changed."""
    path = tmp_path / "bench"
    shutil.copytree(logged, path)
    file = min((path / "shards").rglob("*.parquet"))
    whole = file.read_bytes()
    if cut:
        file.write_bytes(whole[:-7])
    else:
        file.unlink()
    before = contents(path / "shards")
    with pytest.raises(CorruptError, match=rf"{file.name}.*from a copy"):
        opened(path, twin)
    assert contents(path / "shards") == before
    assert any(str(file.relative_to(path)) in str(problem) for problem in verify(path).problems)
    file.write_bytes(whole)
    with opened(path, twin) as runlog:
        assert len(runlog) == 5
    verify(path).require()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
