"""Laws of rehearsal cells: reproducible, true parameters stay in the cell's process, and a dead cell is an error."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.conftest import need_drake
from twinloop.deploy.reading_check import ReadingCheck
from twinloop.deploy.rehearsal.client import RehearsalRobot
from twinloop.deploy.rehearsal.truth import TRUTHS
from twinloop.errors import ConfigError, RobotError, UsageError
from twinloop.twin.objects import OBJECTS

PERIODS = 12


def wandering(robot: RehearsalRobot, episode: int) -> dict[str, np.ndarray]:
    """Features of a short episode with the same commands each time."""
    robot.begin(episode)
    home = np.array(robot.describe().home)
    readings = []
    for period in range(PERIODS):
        readings.append(robot.observe())
        robot.act(home + 0.05 * np.sin(period / 3))
    return {name: np.stack([reading.features[name] for reading in readings]) for name in readings[0].features}


@pytest.fixture(scope="module")
def harsh():
    need_drake()
    with RehearsalRobot("harsh") as robot:
        yield robot


def test_the_same_commands_give_the_same_readings_after_any_history(harsh: RehearsalRobot):
    first = wandering(harsh, 3)
    wandering(harsh, 4)
    again = wandering(harsh, 3)
    with RehearsalRobot("harsh") as other:
        elsewhere = wandering(other, 3)
    for name, values in first.items():
        np.testing.assert_array_equal(again[name], values)
        np.testing.assert_array_equal(elsewhere[name], values)


def test_other_episodes_and_other_cells_differ(harsh: RehearsalRobot, nominal: RehearsalRobot):
    name = "observation.environment_state"
    assert not np.array_equal(wandering(harsh, 3)[name], wandering(harsh, 4)[name])
    assert not np.array_equal(wandering(harsh, 3)[name], wandering(nominal, 3)[name])


def test_a_late_command_moves_the_arm_late(nominal: RehearsalRobot, tmp_path: Path):
    path = tmp_path / "late.yaml"
    path.write_text("seed: 11\nlatency: {action_delay_ms: 120}\n")

    def moved(robot: RehearsalRobot) -> list[bool]:
        robot.begin(0)
        target = np.array(robot.describe().home)
        target[0] += 0.2
        seen = []
        for _ in range(6):
            robot.act(target)
            seen.append(bool(abs(robot.observe().features["observation.state"][0]) > 1e-3))
        return seen

    with RehearsalRobot(str(path)) as late:
        assert moved(late).index(True) - moved(nominal).index(True) == 3


def test_in_real_time_the_simulation_advances_without_actions(tmp_path: Path):
    need_drake()
    path = tmp_path / "live.yaml"
    path.write_text("realtime: true\n")
    with RehearsalRobot(str(path)) as robot:
        assert not robot.describe().lockstep
        robot.begin(0)
        before = robot.observe()
        time.sleep(0.2)
        after = robot.observe()
    assert after.sequence - before.sequence >= 5
    assert after.timestamp_s > before.timestamp_s


def test_the_client_holds_no_truth(nominal: RehearsalRobot):
    briefing = nominal.begin(0)
    names = {row.name for row in TRUTHS}
    held = json.dumps([str(vars(nominal)), str(vars(nominal.describe())), str(nominal.observe()), str(briefing)])
    assert not [name for name in names if name in held]
    assert set(briefing.conditions) == {"object", "light", "human"}
    public = {name for name in dir(nominal) if not name.startswith("_")}
    assert public == {"act", "begin", "close", "connect", "describe", "end", "id", "observe", "stop"}


def test_the_client_does_not_read_the_cell():
    """The client process imports neither the physics nor the true parameters of the cell."""
    script = (
        "import sys, twinloop.deploy.rehearsal.client\n"
        "assert not [name for name in sys.modules if name.startswith('pydrake')]\n"
        "assert 'twinloop.deploy.rehearsal.cell_file' not in sys.modules\n"
        "assert 'twinloop.deploy.rehearsal.truth' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_killed_cell_is_an_error_and_the_next_connect_a_new_cell():
    need_drake()
    robot = RehearsalRobot("nominal")
    robot.connect()
    robot.begin(0)
    assert robot._process is not None
    os.kill(robot._process.pid, signal.SIGKILL)
    with pytest.raises(RobotError, match="signal 9"):
        robot.act(np.array([0.0] * 8))
    with pytest.raises(RobotError, match="not connected"):
        robot.observe()
    robot.connect()
    robot.begin(0)
    assert robot.observe().sequence == 0
    robot.close()


@pytest.mark.parametrize(
    ("kind", "message"),
    [("vanishes", "exit code 3"), ("loses_joint", "7 elements; 8"), ("clock_jumps", "clock jumped by")],
)
def test_faults_are_errors_and_the_next_episode_runs(tmp_path: Path, kind: str, message: str):
    need_drake()
    path = tmp_path / "faulty.yaml"
    path.write_text(f"fault: {{kind: {kind}, episode: 0, period: 3}}\n")
    robot = RehearsalRobot(str(path))
    home = np.array(robot.connect().home)

    def episode(number: int) -> None:
        robot.begin(number)
        check = ReadingCheck(robot.describe())
        for _ in range(6):
            check.see(robot.observe())
            robot.act(home)

    with pytest.raises(RobotError, match=message):
        episode(0)
    robot.connect()
    episode(1)
    robot.close()


def test_no_cell_outlives_its_client():
    need_drake()
    script = (
        "from twinloop.deploy.rehearsal.client import RehearsalRobot\n"
        "import os\n"
        "robot = RehearsalRobot('nominal'); robot.connect(); robot.begin(0)\n"
        "print(robot._process.pid, flush=True); os._exit(1)\n"
    )
    pid = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout)
    until = time.monotonic() + 30
    while _alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_connecting_to_an_invalid_cell_raises_an_error(tmp_path: Path):
    path = tmp_path / "wrong.yaml"
    path.write_text("contact:\n  friction: 1\n")
    with pytest.raises(UsageError, match=r"wrong.yaml:2: contact.friction: is not a key") as error:
        RehearsalRobot(str(path)).connect()
    assert not isinstance(error.value, ConfigError)


def test_every_kind_of_object_can_lie_in_a_cell(tmp_path: Path):
    need_drake()
    cell, seen = tmp_path / "all.yaml", set()
    cell.write_text(f"object:\n  pool: [{', '.join(OBJECTS)}]\n")
    with RehearsalRobot(str(cell)) as robot:
        for episode in range(100):
            kind = robot.begin(episode).conditions["object"]
            if kind in seen:
                continue
            for _ in range(3):
                robot.act(np.array(robot.describe().home))
            height_m = robot.observe().features["observation.environment_state"][2]
            assert abs(height_m - OBJECTS[kind].half_extents_m[2]) < 0.003  # it lies on the table
            seen.add(kind)
            if seen == set(OBJECTS):
                return
    raise AssertionError(f"only {sorted(seen)} were drawn")
