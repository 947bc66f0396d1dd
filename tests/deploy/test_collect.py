"""Collecting: on the twin, on a simulated arm with a leader, and invalid options."""

import json
import shutil

import numpy as np
import pytest

from tests.dataset.people.peopled import ADA, BO, consent_of, mentions
from tests.deploy.conftest import need_drake
from tests.deploy.lerobot.conftest import write  # noqa: F401
from twinloop.cli import main
from twinloop.dataset import Dataset, verify
from twinloop.dataset.people.consent import write_consent
from twinloop.deploy import collect as collect_module
from twinloop.deploy import schedule
from twinloop.deploy.collect import CollectConfig, collect
from twinloop.deploy.estop import EStop
from twinloop.deploy.plan_file import CollectionRequest, read_plan
from twinloop.deploy.rehearsal.client import RehearsalRobot, scene_seen_by_a_person
from twinloop.errors import ConsentError, EStopError, UsageError
from twinloop.learn.demonstrations import load_demonstrations
from twinloop.twin.tasks import tasks

LEADER = "tests.deploy.lerobot.servo_arm:ScriptedLeader"


@pytest.fixture(autouse=True)
def _own_e_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # Deadlines have tests of their own; a busy machine should not fail these.
    monkeypatch.setattr(schedule, "MAX_MISSED", 1 << 20)


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Three demonstrations on the twin, the last of them by a second call."""
    out = tmp_path_factory.mktemp("collected") / "runlog"
    stop = out.parent / "stop"
    first = collect("twin", out, episodes=2, stop_file=stop)
    return first, collect("twin", out, episodes=3, stop_file=stop)


def test_demonstrations_are_a_dataset_of_real_episodes_and_collecting_resumes(collected):
    first, second = collected
    assert (first.succeeded, first.fresh, second.succeeded, second.fresh) == (2, 2, 3, 1)
    dataset = Dataset.open(second.path)
    assert dataset.header.source == "real"
    assert verify(second.path).exported
    rows = dataset.attempts().to_pylist()
    assert [row["scene"] for row in rows] == [0, 1, 2]
    assert {(row["robot_id"], row["demonstrator"], row["checkpoint"], row["participant"]) for row in rows} == {
        ("twin", "human-like", "", "")
    }
    frames = dataset.episode(0)
    assert np.abs(frames["action"] - frames["command"]).max() < 0.1  # the filter has little to do
    assert set(np.unique(frames["phase"])) >= {0, 4}
    assert load_demonstrations(second.path, ("observation.state",)).frames == sum(row["length"] for row in rows)


def test_episodes_that_are_stored_are_not_repeated(collected):
    _, second = collected
    again = collect("twin", second.path, episodes=3, stop_file=second.path.parent / "stop")
    assert (again.fresh, again.digest) == (0, second.digest)


def test_a_demonstrator_who_sees_the_scene_is_not_misled_by_the_tracker(tmp_path):
    need_drake()
    cell = tmp_path / "cell.yaml"
    cell.write_text("sensing: {tracker_bias_mm: [40, 40]}\n")
    done = {
        sees: collect(
            f"rehearsal:{cell}", tmp_path / sees, episodes=2, stop_file=tmp_path / "stop",
            config=CollectConfig(imperfection=None, sees=sees),
        )
        for sees in ("readings", "scene")
    }  # fmt: skip
    assert (done["readings"].succeeded, done["scene"].succeeded) == (0, 2)
    rows = Dataset.open(tmp_path / "scene").attempts().to_pylist()
    assert {row["setting/sees"] for row in rows} == {"scene"}
    # Recorded are the readings, with the tracker's error.
    with RehearsalRobot(str(cell)) as robot:
        robot.begin(0)
        readings = robot.observe(), scene_seen_by_a_person(robot)
        read, true = (reading.features["observation.environment_state"] for reading in readings)
    stored = Dataset.open(tmp_path / "scene").episode(0)["observation.environment_state"][0]
    assert np.hypot(*(read - true)[:2]) == pytest.approx(0.04, abs=0.005)
    np.testing.assert_allclose(stored, read, atol=1e-6)


def test_the_task_is_that_of_the_cell_and_another_one_is_refused(tmp_path):
    need_drake()
    done = collect(
        "rehearsal:nominal,task=press_button", tmp_path / "d", episodes=1, stop_file=tmp_path / "stop",
        config=CollectConfig(imperfection=None),
    )  # fmt: skip
    assert done.succeeded == 1
    assert "press" in Dataset.open(done.path).header.phases
    with pytest.raises(UsageError, match="--task 'stack': twin is set up for pick_and_place; leave --task out"):
        collect("twin", tmp_path / "e", episodes=1, stop_file=tmp_path / "stop", task=tasks()["stack"])


def test_a_robot_without_a_scene_to_see_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot see the scene: twin has readings only"):
        collect(
            "twin", tmp_path / "d", episodes=1, stop_file=tmp_path / "stop", config=CollectConfig(sees="scene")
        )  # fmt: skip
    assert not (tmp_path / "d").exists()


def test_each_try_is_another_demonstration(tmp_path):
    config = CollectConfig(tries=2, speed=0.02)  # too slow to succeed
    done = collect("twin", tmp_path / "d", episodes=1, config=config, stop_file=tmp_path / "stop")
    rows = Dataset.open(tmp_path / "d").attempts().to_pylist()
    assert done.succeeded == 0
    assert [(row["try"], row["outcome"], row["verdict"]) for row in rows] == [
        (0, "failure", "task_failed"),
        (1, "failure", "task_failed"),
    ]
    assert rows[0]["length"] != rows[1]["length"]


def test_scenes_with_other_conditions_are_skipped_and_it_is_an_error_if_all_are(tmp_path, monkeypatch):
    monkeypatch.setattr(collect_module, "MAX_SCENES", 8)
    config = CollectConfig(conditions={"object": "can", "floor": "tiled"})
    with pytest.raises(UsageError, match="none of 8 scenes on this robot has object=can, floor=tiled"):
        collect("twin", tmp_path / "d", episodes=1, config=config, stop_file=tmp_path / "stop")
    config = CollectConfig(conditions={"object": "cube", "floor": "tiled"})
    collect("twin", tmp_path / "d", episodes=1, config=config, stop_file=tmp_path / "stop")
    (row,) = Dataset.open(tmp_path / "d").attempts().to_pylist()
    assert (row["condition/object"], row["condition/floor"]) == ("cube", "tiled")


def test_a_human_leads_an_arm_and_everything_is_kept(write, tmp_path):  # noqa: F811
    config = CollectConfig(consent=consent_of(ADA))
    done = collect(f"lerobot:{write()}", tmp_path / "d", episodes=2, config=config, stop_file=tmp_path / "stop")
    assert (done.succeeded, done.fresh) == (2, 2)
    dataset = Dataset.open(tmp_path / "d")
    for row in dataset.attempts().to_pylist():
        assert (row["outcome"], row["outcome_by"], row["demonstrator"]) == ("success", "human", "teleoperation")
        assert (row["participant"], row["consent/scope"], row["condition/light"]) == (ADA, "record,train", "dim")
    frames = dataset.episode(0)
    assert frames["observation.state"].shape[1] == 3
    # The leader jumps; sent commands keep to the limits of the file.
    assert (np.abs(np.diff(frames["command"], axis=0)) * 50 <= [6.01, 6.01, 1.01]).all()
    assert (np.abs(frames["action"] - frames["command"]) > 1e-3).any()


@pytest.mark.parametrize(
    ("leader", "outcome", "failure"),
    [
        ({"ends_with": "failure"}, "failure", ""),
        ({"ends_with": "rerecord_episode"}, "aborted", "discarded_by_human"),
        ({"ends_with": "terminate_episode"}, "unknown", ""),
        ({"lost_after": 5}, "aborted", "robot_fault"),
    ],
)
def test_outcomes_given_by_a_human_are_stored(write, tmp_path, leader, outcome, failure):  # noqa: F811
    file = write(teleoperator={"type": LEADER, "config": leader})
    done = collect(f"lerobot:{file}", tmp_path / "d", episodes=1, stop_file=tmp_path / "stop")
    (row,) = Dataset.open(tmp_path / "d").attempts().to_pylist()
    assert (done.succeeded, row["outcome"], row["failure"]) == (0, outcome, failure)


def test_a_robot_that_is_lost_is_kept_as_aborted_and_the_next_episode_runs(write, tmp_path):  # noqa: F811
    arm = {"type": "tests.deploy.lerobot.servo_arm:ServoArm", "config": {"lost_after": 60}}
    collect(f"lerobot:{write(robot=arm)}", tmp_path / "d", episodes=2, stop_file=tmp_path / "stop")
    rows = Dataset.open(tmp_path / "d").attempts().to_pylist()
    assert "aborted" in {row["outcome"] for row in rows}
    assert len(rows) == 2
    assert verify(tmp_path / "d").ok


def test_nothing_moves_without_consent_or_with_a_latched_e_stop(tmp_path):
    expired = consent_of(ADA, scope=("train",))
    with pytest.raises(ConsentError, match="but not record"):
        collect("twin", tmp_path / "d", episodes=1, config=CollectConfig(consent=expired), stop_file=tmp_path / "stop")
    EStop(tmp_path / "stop").trip("a test")
    with pytest.raises(EStopError, match="latched"):
        collect("twin", tmp_path / "d", episodes=1, stop_file=tmp_path / "stop")
    assert not (tmp_path / "d").exists()


def test_demonstrations_of_a_participant_can_be_removed(write, tmp_path, monkeypatch, capsys):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for who in (ADA, BO):
        write_consent(tmp_path / f"{who}.yaml", consent_of(who))
        command = ["collect", "--robot", f"lerobot:{write()}", "--episodes", "1", "--out", "runlogs/arm", "--json"]
        assert main([*command, "--participant", who, "--consent", f"{who}.yaml"]) == 0
        output = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert (output["succeeded"], output["runlogs"][0]["fresh"]) == (1, 1)
    assert main(["forget", ADA, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["episodes"] == 1
    assert not mentions(tmp_path / "runlogs", ADA)
    (tmp_path / f"{ADA}.yaml").unlink()
    # The log continues, and earlier episodes are kept.
    assert main([*command, "--participant", BO, "--consent", f"{BO}.yaml", "--episodes", "2"]) == 0
    people = Dataset.open(tmp_path / "runlogs/arm").attempts()["participant"].to_pylist()
    assert people == [None, BO, BO]
    assert verify(tmp_path / "runlogs/arm").ok
    shutil.rmtree(tmp_path / "runlogs")


def test_the_command_refuses_incompatible_options(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_consent(tmp_path / "ada.yaml", consent_of(ADA))
    for words, complaint in (
        (["--episodes", "3"], "give either --robot or --plan"),
        (["--robot", "twin", "--plan", "p.json"], "give either"),
        (["--plan", "p.json", "--episodes", "3"], "sets the number of episodes"),
        (["--robot", "twin", "--participant", ADA], "give both"),
        (["--robot", "twin", "--participant", BO, "--consent", "ada.yaml"], f"is the consent of {ADA}"),
        (["--robot", "lerobot:x.yaml", "--workers", "2"], "lerobot:x.yaml allows one worker"),
    ):
        assert main(["collect", *words]) == 2
        assert complaint in capsys.readouterr().err


def test_a_plan_is_read_strictly(tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(
        '[{"robot": "twin", "episodes": 2}, {"robot": "twin", "episodes": 1, "conditions": {"light": "dim"}}]'
    )
    assert read_plan(file) == (CollectionRequest("twin", 2, 0), CollectionRequest("twin", 1, 2, {"light": "dim"}))
    for text, complaint in (
        ("{}", "plan.json: is {}; a list of requests was expected: each has a robot"),
        ("[]", r"plan.json: is \[\]; a list of requests was expected"),
        ("[1]", r"plan.json: \[0\]: is 1; a mapping of robot, episodes, conditions was expected"),
        ('[{"robot": "twin"}]', r"\[0\].episodes: is missing; a whole number from 1 to"),
        ('[{"robot": "twin", "episodes": 0}]', r"\[0\].episodes: is 0; it must be from 1"),
        ('[{"episodes": 3}]', r"\[0\].robot"),
        ('[{"robot": "twin", "episodes": 1, "condition": {}}]', "did you mean conditions"),
        ('[{"robot": "twin", "episodes": 1, "conditions": {"light": 3}}]', r"\[0\].conditions.light: is 3; a text"),
        ("[", "is not JSON"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=complaint):
            read_plan(file)


def test_a_plan_is_carried_out_on_two_cells_at_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text('[{"robot": "twin", "episodes": 2}, {"robot": "twin", "episodes": 2}]')
    assert main(["collect", "--plan", "plan.json", "--out", "logs", "--workers", "2", "--json"]) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (output["planned"], output["succeeded"]) == (4, 4)
    assert sorted(Dataset.open(tmp_path / "logs").attempts()["scene"].to_pylist()) == [0, 1, 2, 3]
