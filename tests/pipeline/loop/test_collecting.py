from pathlib import Path

import pytest

from tests.diagnose.test_plan import report
from twinloop.dataset import Dataset
from twinloop.deploy.questions import People, WaitingError
from twinloop.deploy.robots import Workplace
from twinloop.deploy.twin_robot import TwinRobot
from twinloop.diagnose.report import GapReport
from twinloop.errors import UsageError
from twinloop.pipeline.loop.collecting import BEFORE, FIRST_SCENE, Collecting
from twinloop.pipeline.loop.record import write_json
from twinloop.pipeline.loop.settings import LoopConfig, Strategy
from twinloop.pipeline.loop.steps import Steps

CANS_FAIL = {"about": "object", "kind": "can", "p": 0.001, "corrected": 0.01,
             "these": {"successes": 1, "trials": 10}, "others": {"successes": 28, "trials": 30}}  # fmt: skip


def collecting_in(folder: Path, settings: LoopConfig) -> Collecting:
    return Collecting(folder, settings, People(folder, simulated=settings.simulated))


def requested(tmp_path: Path, gap_report: GapReport | None, **settings) -> list[tuple[int, int, dict[str, str]]]:
    collecting = collecting_in(tmp_path, LoopConfig(robot="twin", **settings))
    requests = collecting.requests(0, gap_report, tmp_path)
    # A second call, as after a kill, returns the same requests for any report.
    assert collecting.requests(0, report({}), tmp_path) == requests
    return [(request.first, request.episodes, dict(request.conditions)) for request in requests]


def test_the_requests_of_the_plan_are_collected(tmp_path: Path):
    result = requested(tmp_path, report({"object": 20.0, "latency": 20.0}, looks=(CANS_FAIL,)), budget=60, rounds=1)
    assert len(result) == 2
    assert sum(many for _, many, _ in result) == 60
    assert {"object": "can"} in [conditions for _, _, conditions in result]
    assert {} in [conditions for _, _, conditions in result]
    assert [first for first, _, _ in result] == [0, result[0][1]]


def test_the_rest_of_the_budget_is_collected_without_conditions(tmp_path: Path):
    for name, result in (("blind", None), ("closed", report({}))):
        (tmp_path / name).mkdir()
        assert requested(tmp_path / name, result, budget=30, rounds=3) == [(0, 10, {})]
    assert requested(tmp_path, None, budget=0, rounds=3) == []


def test_demonstrations_are_collected_on_a_robot_object(tmp_path: Path):
    """A robot object has no name; one worker uses it for any setting of workers."""
    robot, settings = TwinRobot(), LoopConfig(robot="TwinRobot", budget=1, rounds=1, demonstrator="script", workers=2,
                                              simulated=True)  # fmt: skip
    collecting = Collecting(tmp_path, settings, People(tmp_path, simulated=True), Workplace(robot))
    requests = collecting.requests(0, None, tmp_path)
    assert collecting.run(0, requests, on_activity=lambda _: None) == 1


def test_requests_are_carried_out_in_order_and_deducted_from_the_budget(tmp_path: Path):
    settings = LoopConfig(robot="twin", budget=8, rounds=2, demonstrator="script", workers=1, simulated=True)
    collecting = collecting_in(tmp_path, settings)
    assert [collecting.part(number) for number in (BEFORE, 0, 1)] == [2, 4, 8]
    write_json(tmp_path / "requests.json", [
        {"robot": "twin", "episodes": 1, "conditions": {"cloth": "blue"}},
        {"robot": "twin", "episodes": 1, "conditions": {"cloth": "red"}},
    ])  # fmt: skip
    output: list[str] = []
    good = collecting.run(0, collecting.requests(0, None, tmp_path), on_activity=output.append)
    assert output == [f"collecting 1 demonstrations with cloth {colour}" for colour in ("blue", "red")]
    rows = Dataset.open(collecting.log(0)).attempts()
    assert rows["condition/cloth"].to_pylist() == ["blue", "red"]
    assert good == rows["verdict"].to_pylist().count("accepted") > 0
    assert rows["scene"].to_pylist() == [FIRST_SCENE, FIRST_SCENE + 1]
    assert (collecting.known(0), collecting.known(1)) == ((), (collecting.log(0),))
    assert collecting.part(1) == 6
    # The next round continues with the next scene.
    write_json(tmp_path / "requests.json", [{"robot": "twin", "episodes": 1, "conditions": {}}])
    collecting.run(1, collecting.requests(1, None, tmp_path), on_activity=output.append)
    assert Dataset.open(collecting.log(1)).attempts()["scene"].to_pylist() == [FIRST_SCENE + 2]


@pytest.mark.parametrize(("strategy", "rounds"), [("blind", (0, 1, 2)), ("real", (BEFORE, 0, 1))])
def test_a_schedule_says_how_many_demonstrations_each_round_adds(tmp_path: Path, strategy: Strategy, rounds):
    """All strategies have the same demonstrations and the same scenes of trials at the same place of the schedule."""
    settings = LoopConfig(
        robot="twin", strategy=strategy, schedule=(1, 3, 4), rounds=2, demonstrator="script", workers=1, simulated=True
    )
    collecting = collecting_in(tmp_path, settings)
    scenes = []
    for place, number in enumerate(rounds[:2]):
        (tmp_path / str(place)).mkdir()
        assert collecting.part(number) == (1, 2)[place]
        collecting.run(number, collecting.requests(number, None, tmp_path / str(place)), on_activity=lambda _: None)
        scenes += Dataset.open(collecting.log(number)).attempts()["scene"].to_pylist()
        trials = Steps(tmp_path, settings, number + 1, lambda _: None).trial_scenes(2)
        assert list(trials) == [10_000 * (place + 1), 10_000 * (place + 1) + 1]
    assert scenes == [FIRST_SCENE, FIRST_SCENE + 1, FIRST_SCENE + 2]
    assert collecting.part(rounds[2]) == 1


@pytest.mark.parametrize("schedule", [(10, 10), (20, 10), (0, 10)])
def test_a_schedule_that_does_not_rise_is_refused(schedule):
    with pytest.raises(UsageError, match=r"does not rise; give .* 10,25,50,100"):
        LoopConfig(robot="twin", schedule=schedule, rounds=2)
    with pytest.raises(UsageError, match=r"has 2 numbers for 3 rounds"):
        LoopConfig(robot="twin", schedule=(10, 20), rounds=3)


def test_on_hardware_the_loop_waits_until_people_have_collected(tmp_path: Path):
    collecting = collecting_in(tmp_path, LoopConfig(robot="lerobot:arm.yaml", budget=4, rounds=1))
    requests = collecting.requests(0, None, tmp_path)
    with pytest.raises(WaitingError, match=r"4 of 4 demonstrations are missing") as waiting:
        collecting.run(0, requests, on_activity=lambda _: None)
    assert waiting.value.commands[0].startswith("twinloop collect --plan")
    assert (tmp_path / "waiting.json").exists()
