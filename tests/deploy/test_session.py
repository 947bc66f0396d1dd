"""Sessions: episodes are run, judged and stored. Every fault stops the robot, and the next episode runs."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.scripted_robot import ScriptedRobot
from tests.deploy.unruly import PROGRAM, policy_file
from twinloop.dataset import Dataset, verify
from twinloop.deploy import episode_runner
from twinloop.deploy.episode_runner import DeployConfig
from twinloop.deploy.session import DeployResult, SessionProgress, deploy
from twinloop.errors import CheckpointError, EStopError, RobotError, UsageError
from twinloop.twin.twin import Twin

SHORT = DeployConfig(episode_timeout_s=0.6)
PERIODS = 15

Run = Callable[..., DeployResult]

pytestmark = pytest.mark.usefixtures("forked_servers")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """One policy, or several by arm, on a scripted robot."""

    def run(robot: ScriptedRobot, *, episodes: int = 2, does: dict | None = None, **changes) -> DeployResult:
        policies = changes.pop("policies", None) or {
            "": policy_file(tmp_path / "policy.json", robot.describe().space(), **(does or {}))
        }
        options = {"config": SHORT, "stop_file": tmp_path / "stop", "program": PROGRAM, **changes}
        return deploy(policies, robot, tmp_path / "log", episodes=episodes, **options)

    return run


def rows(deployed: DeployResult) -> list[dict]:
    return Dataset.open(deployed.path).attempts().to_pylist()


def test_episodes_are_run_judged_and_kept(run: Run, twin: Twin):
    robot = ScriptedRobot(twin)
    seen: list[SessionProgress] = []
    done = run(robot, episodes=3, on_progress=seen.append)
    assert [row["outcome"] for row in rows(done)] == ["success"] * 3
    assert [row["outcome_by"] for row in rows(done)] == ["detector"] * 3
    assert [row["length"] for row in rows(done)] == [PERIODS] * 3
    assert [row["scene"] for row in rows(done)] == [0, 1, 2]
    assert rows(done)[0]["checkpoint"] == "digest of policy"
    (tally,) = done.tallies
    assert (tally.success.successes, tally.success.trials, tally.late) == (3, 3, 0)
    assert [standing.done for standing in seen] == [0, 1, 2, 3]
    assert not verify(done.path).problems
    # The logged commands are those that were sent.
    frames = Dataset.open(done.path).episode(attempt=1)
    np.testing.assert_allclose(frames["command"], np.array(robot.sent[1]), atol=1e-6)
    np.testing.assert_allclose(frames["timing"][:, 0], np.arange(PERIODS) / 25, atol=1e-4)
    assert frames["timing"][:, 2].max() > 0


def test_the_same_command_resumes_and_more_episodes_are_added(run: Run, twin: Twin):
    assert run(ScriptedRobot(twin), episodes=2).fresh == 2
    assert run(ScriptedRobot(twin), episodes=2).fresh == 0
    more = run(ScriptedRobot(twin), episodes=3)
    assert (more.fresh, more.tallies[0].episodes) == (1, 3)
    assert run(ScriptedRobot(twin), episodes=2, first=10).fresh == 2


def test_two_policies_take_turns_in_a_drawn_order(run: Run, twin: Twin, tmp_path: Path):
    robot = ScriptedRobot(twin)
    space = robot.describe().space()
    policies = {arm: policy_file(tmp_path / f"{arm}.json", space) for arm in ("candidate", "control")}
    done = run(robot, episodes=6, policies=policies)
    order = [(row["scene"], row["arm"]) for row in rows(done)]
    assert sorted(order) == [(scene, arm) for scene in range(6) for arm in ("candidate", "control")]
    assert len({arm for _, arm in order[::2]}) == 2, "the same policy always goes first"
    assert [tally.arm for tally in done.tallies] == ["candidate", "control"]


@pytest.mark.parametrize(
    ("fault", "detail"),
    [
        ("vanishes", "it is gone"),
        ("loses_joint", "7 elements; 8 were expected"),
        ("clock_jumps", "clock jumped"),
    ],
)
def test_a_robot_that_breaks_ends_the_episode_and_the_next_one_runs(run: Run, twin: Twin, fault: str, detail: str):
    robot = ScriptedRobot(twin, faults={(0, 5): fault})
    done = run(robot)
    first, second = rows(done)
    assert (first["outcome"], first["verdict"], first["failure"]) == ("aborted", "aborted", "robot_fault")
    assert detail in first["outcome_detail"]
    assert first["length"] == 5
    assert robot.sent[0][5:] == ["stop", "stop"]
    assert second["outcome"] == "success"
    assert robot.connects == 2


def test_a_lost_robot_is_reconnected_within_the_retries(run: Run, twin: Twin, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(episode_runner, "PAUSE_S", 0.01)
    robot = ScriptedRobot(twin, faults={(0, 5): "vanishes"}, refused_connects=2)
    assert [row["outcome"] for row in rows(run(robot))] == ["aborted", "success"]
    robot = ScriptedRobot(twin, faults={(5, 5): "vanishes"}, refused_connects=99)
    with pytest.raises(RobotError, match="nobody answers"):
        run(robot, first=5)


@pytest.mark.parametrize("fault", ["freezes", "clock_stands"])
@pytest.mark.parametrize("lockstep", [True, False])
def test_a_stale_reading_stops_within_two_periods(run: Run, twin: Twin, fault: str, lockstep: bool):
    robot = ScriptedRobot(twin, faults={(0, 6): fault}, lockstep=lockstep, rate_hz=25 if lockstep else 10)
    first, second = rows(run(robot, config=DeployConfig(episode_timeout_s=1.2)))
    assert (first["outcome"], first["failure"]) == ("aborted", "stale_reading")
    # In period 6 the reading is new for the last time; one repetition is acted on, the next stops.
    after = [command for command in robot.sent[0][6:] if not isinstance(command, str)]
    assert len(after) <= 2
    assert robot.sent[0][-1] == "stop"
    assert second["outcome"] == "success"


@pytest.mark.parametrize(("does", "detail"), [("hang", "has not answered"), ("die", "exit code 7")])
def test_a_policy_that_hangs_or_dies_stops_the_robot_and_a_fresh_one_takes_over(
    run: Run, twin: Twin, does: str, detail: str
):
    robot = ScriptedRobot(twin)
    config = DeployConfig(episode_timeout_s=0.6, inference_timeout_s=1.0)
    # A new process counts its requests from 0: each episode ends at the same request.
    done = run(robot, does={"does": does, "at": 3}, config=config)
    for number, row in enumerate(rows(done)):
        assert (row["outcome"], row["failure"]) == ("aborted", "policy_fault")
        assert detail in row["outcome_detail"]
        assert row["length"] == 6
        assert robot.sent[number][6:] == ["stop", "stop"]


def test_a_policy_that_is_killed_stops_the_robot(run: Run, twin: Twin):
    robot, others = ScriptedRobot(twin), set(_children())

    def kill(standing: SessionProgress) -> None:
        for child in set(_children()) - others if standing.done == 1 else ():
            os.kill(child, signal.SIGKILL)

    # After the first episode its process is killed: the second finds it dead, the third has a new one.
    done = run(robot, episodes=3, on_progress=kill)
    assert [row["outcome"] for row in rows(done)] == ["success", "aborted", "success"]
    assert robot.sent[1] == ["stop", "stop"]


def _children() -> list[int]:
    me = str(os.getpid())
    results = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (folder / "stat").read_text().rsplit(")", 1)
        except OSError:
            continue
        if rest.split()[1] == me and "python" in name:
            results.append(int(folder.name))
    return results


def test_a_policy_with_invalid_actions_holds_the_robot(run: Run, twin: Twin):
    robot = ScriptedRobot(twin)
    done = run(robot, episodes=1, does={"does": "nan", "at": 0})
    (row,) = rows(done)
    assert row["safety/non_finite"] == PERIODS
    np.testing.assert_allclose(np.array(robot.sent[0]), [robot.describe().home] * PERIODS, atol=1e-9)
    np.testing.assert_allclose(Dataset.open(done.path).episode(0)["action"], np.array(robot.sent[0]), atol=1e-6)


def test_in_real_time_a_slow_policy_misses_its_deadline_and_stops_the_robot(run: Run, twin: Twin):
    robot = ScriptedRobot(twin, rate_hz=10, lockstep=False)
    done = run(
        robot, episodes=1, does={"does": "dawdle", "at": 3, "seconds": 2.0}, config=DeployConfig(episode_timeout_s=2.0)
    )
    (row,) = rows(done)
    assert (row["outcome"], row["failure"]) == ("aborted", "deadline")
    assert row["deadlines_missed"] >= 2
    frames = Dataset.open(done.path).episode(0)
    assert frames["timing"][-1, 3] == 1
    # From the moment at which it was due, two periods and not more.
    assert robot.sent[0][-2:] == ["stop", "stop"]
    assert (frames["timing"][:, 3] > 0).sum() <= 2
    assert row["length"] <= 6 + 2


def test_in_real_time_a_robot_that_is_too_slow_is_stopped(run: Run, twin: Twin):
    robot = ScriptedRobot(twin, rate_hz=10, lockstep=False, faults={(0, 4): "is slow"})
    (row,) = rows(run(robot, episodes=1, config=DeployConfig(episode_timeout_s=2.0)))
    assert (row["outcome"], row["failure"]) == ("aborted", "deadline")


def test_an_unknown_outcome_is_kept_as_that(run: Run, twin: Twin):
    (row,) = rows(run(ScriptedRobot(twin, success=None), episodes=1))
    assert (row["outcome"], row["outcome_by"], row["success"]) == ("unknown", "", False)


def test_failures_have_names_and_conditions_are_noted(run: Run, twin: Twin):
    config = DeployConfig(episode_timeout_s=0.6, conditions={"light": "dim", "operator": "second_shift"})
    (row,) = rows(run(ScriptedRobot(twin, success=False), episodes=1, config=config))
    assert (row["outcome"], row["failure"], row["last_phase"]) == ("failure", "never_reached", "approach")
    assert (row["condition/light"], row["condition/operator"]) == ("dim", "second_shift")
    assert row["condition/object"] == "cube"


def test_the_e_stop_ends_the_session_latches_and_has_to_be_reset(run: Run, twin: Twin, tmp_path: Path):
    robot, stop = ScriptedRobot(twin), tmp_path / "stop"

    def trip(standing: SessionProgress) -> None:
        if standing.done == 1:
            stop.touch()

    done = run(robot, episodes=5, on_progress=trip)
    assert "e-stop" in done.stopped
    assert done.tallies[0].episodes == 1
    with pytest.raises(EStopError, match="--reset-stop"):
        run(robot, episodes=5)
    stop.unlink()
    assert run(robot, episodes=2).tallies[0].episodes == 2


@pytest.mark.parametrize(
    ("number", "failure", "latched"),
    [(signal.SIGUSR1, "e_stop", True), (signal.SIGTERM, "interrupted", False), (signal.SIGINT, "interrupted", False)],
)
def test_signals_stop_the_robot_in_the_middle(
    run: Run, twin: Twin, tmp_path: Path, number: signal.Signals, failure: str, latched: bool
):
    robot = ScriptedRobot(twin)

    def soon() -> None:
        while not robot.sent.get(0):
            time.sleep(0.001)
        os.kill(os.getpid(), number)

    threading.Thread(target=soon, daemon=True).start()
    done = run(robot, episodes=2, does={"does": "dawdle", "seconds": 0.1}, config=DeployConfig(episode_timeout_s=5.0))
    (row,) = rows(done)
    assert (row["outcome"], row["failure"]) == ("aborted", failure)
    assert robot.sent[0][-1] == "stop"
    assert done.stopped
    assert (tmp_path / "stop").exists() == latched
    # Interrupted episodes are repeated; stopped ones are not.
    (tmp_path / "stop").unlink(missing_ok=True)
    assert run(ScriptedRobot(twin), episodes=2).fresh == (1 if latched else 2)


def test_a_policy_for_another_robot_is_refused_before_anything_is_written(run: Run, twin: Twin, tmp_path: Path):
    from dataclasses import replace

    robot = ScriptedRobot(twin)
    other = policy_file(tmp_path / "other.json", replace(robot.describe().space(), rate_hz=50.0))
    with pytest.raises(CheckpointError, match="25 Hz"):
        run(robot, policies={"": other})
    assert not (tmp_path / "log").exists()


def test_there_is_one_of_a_robot(run: Run, twin: Twin):
    with pytest.raises(UsageError, match="allows one worker"):
        run(ScriptedRobot(twin), workers=2)


def test_wider_limits_are_refused(run: Run, twin: Twin, tmp_path: Path):
    with pytest.raises(UsageError, match="may only narrow"):
        run(ScriptedRobot(twin), config=DeployConfig(speed=2.0))
    assert not (tmp_path / "log").exists()
