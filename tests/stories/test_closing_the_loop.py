"""A policy fails on a robot; diagnosis, plan and the next round follow. A killed loop continues."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forked_servers import forked_servers
from tests.short_chains import short_chains
from tests.short_episodes import short_episodes
from twinloop.calibrate import by_traits, trait_posterior
from twinloop.cli import main
from twinloop.diagnose.report import read_report
from twinloop.randomize.parameter import GAPS
from twinloop.run.config import load_config

pytest.importorskip("torch", reason="needs twinloop[learn]")

CELL = """\
rollout: {timestep_ms: 5}
randomization:
  physics: {object_position_noise_cm: [-0.2, 0.2]}
"""
ROBOT = """\
rollout: {timestep_ms: 5}
randomization:
  physics: {object_position_noise_cm: [-2.5, 2.5]}
"""
PLACE = "object_position_noise_cm"
LOOP = [
    "loop", "cell.yaml", "--robot", "twin:robot.yaml", "--rounds", "1", "--target", "1", "--budget", "4",
    "--trials", "8", "--episodes", "16", "--steps", "200", "--finetune-steps", "20", "--set", "width=96",
    "--set", "depth=2",
    "--cells", "1", "--cell-episodes", "4", "--evaluation-episodes", "8", "--ungated", "--workers", "1",
    "--json", "--out", "loops/a",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def limit() -> Iterator[None]:
    """The expert needs 4 s, and a twin that is fitted with fewer simulations is used in the same way."""
    with (
        short_episodes("pick_and_place", 5.5),
        short_chains(),
        forked_servers(),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(by_traits, "EPISODES", 32)
        patch.setattr(trait_posterior, "SAMPLES", 32)
        yield


@pytest.fixture(scope="module")
def looped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loop")
    (folder / "cell.yaml").write_text(CELL)
    (folder / "robot.yaml").write_text(ROBOT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(LOOP) == 0
    return folder


def test_every_round_has_its_evidence(looped: Path):
    output = json.loads((looped / "loops/a/loop.json").read_text())
    first, second = output["rounds"]
    assert (first["demonstrations"], second["demonstrations"]) == (0, first["collected"])
    assert first["robot"]["trials"] == second["robot"]["trials"] == 8
    assert first["collected"] == sum(request["episodes"] for request in first["requests"]) == 4
    for number in (0, 1):
        round_folder = looped / f"loops/a/round-{number}"
        for name in ("config.yaml", "policy/card.json", "evaluation/evaluation.json", "runlog", "round.json"):
            assert (round_folder / name).exists(), name
    page = (looped / "loops/a/loop.html").read_text()
    links = re.findall('href="([^"#]+)"', page)
    assert {"round-1/runlog", "round-0/diagnosis/report.html", "round-0/requests.json"} <= set(links)
    assert all((looped / "loops/a" / link).exists() for link in links)


def test_each_policy_is_fine_tuned_from_the_last_on_generated_and_collected_data(looped: Path):
    first, second = (json.loads((looped / f"loops/a/round-{number}/policy/card.json").read_text()) for number in (0, 1))
    assert (first["parent"], second["parent"]) == ("", first["digest"])
    assert [source["kind"] for source in first["data"]] == ["sim"]
    shares = {source["kind"]: source["weight"] for source in second["data"]}
    assert 0 < shares["real"] < shares["sim"]


def test_collection_requests_come_from_the_plan(looped: Path):
    folder = looped / "loops/a/round-0"
    planned = [line for line in json.loads((folder / "plan.json").read_text())["lines"] if line["demonstrations"]]
    requests = json.loads((folder / "requests.json").read_text())
    expected = [(line["demonstrations"], line["conditions"]) for line in planned]
    done = [(request["episodes"], request["conditions"]) for request in requests]
    assert done[: len(expected)] == expected
    assert sum(many for many, _ in done) == 4


def test_the_report_covers_all_gaps_and_sets_the_next_ranges(looped: Path):
    report = read_report(looped / "loops/a/round-0/diagnosis")
    assert {finding.gap for finding in report.findings} == set(GAPS)
    assert report.episodes == 8
    before, after = (load_config(looped / f"loops/a/round-{number}/config.yaml") for number in (0, 1))
    # Things lie further apart in the cell, so the next ranges are wider.
    (low, high), (lowest, highest) = (config.randomization[PLACE].support() for config in (before, after))
    assert lowest < 3 * low < 3 * high < highest


def test_the_same_command_continues_and_another_is_refused(looped: Path, monkeypatch, capsys):
    monkeypatch.chdir(looped)
    made = (looped / "loops/a/round-1/runlog").stat().st_mtime_ns
    assert main(LOOP) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["rounds"][1]["number"] == 1
    assert (looped / "loops/a/round-1/runlog").stat().st_mtime_ns == made
    # After a kill before the record is written, the next round still uses the collected data.
    (looped / "loops/a/round-0/round.json").unlink()
    (looped / "loops/a/loop.json").unlink()
    card = (looped / "loops/a/round-0/policy/card.json").read_bytes()
    assert main(LOOP) == 0
    first, second = json.loads(capsys.readouterr().out.splitlines()[-1])["rounds"]
    assert (first["demonstrations"], first["collected"], second["demonstrations"]) == (0, 4, 4)
    assert (looped / "loops/a/round-0/policy/card.json").read_bytes() == card
    assert main([*LOOP[:-1], "loops/a", "--budget", "8"]) == 2
    assert "was started with other settings" in capsys.readouterr().out


def test_diagnose_and_plan_as_separate_commands(looped: Path, monkeypatch, capsys):
    monkeypatch.chdir(looped)
    words = [
        "diagnose", "loops/a/round-0/runlog", "--policy", "loops/a/round-0/policy", "--twin", "cell.yaml",
        "--cells", "1", "--episodes", "4", "--cache", "loops/a/banks", "--out", "diagnoses/a", "--json",
    ]  # fmt: skip
    assert main(words) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert output["episodes"] == 8
    assert "<svg" in (looped / "diagnoses/a/report.html").read_text()
    assert main(["plan", "diagnoses/a", "--robot", "twin:robot.yaml", "--budget", "20", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert plan["demonstrations"] <= 20
    assert json.loads((looped / "diagnoses/a/requests.json").read_text()) == plan["requests"]
    assert "In order of gain per hour" in (looped / "diagnoses/a/plan.html").read_text()


def test_an_unreachable_robot_is_reported_before_work_starts(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["loop", "--robot", "rehearsal:hrsh", "--out", "b", "--json"]) == 2
    assert "did you mean harsh" in capsys.readouterr().out
    assert not (tmp_path / "b" / "datasets").exists()


def test_episodes_of_another_policy_are_refused(looped: Path, monkeypatch, capsys):
    monkeypatch.chdir(looped)
    words = [
        "diagnose",
        "loops/a/round-0/runlog",
        "--policy",
        "loops/a/round-1/policy",
        "--twin",
        "cell.yaml",
        "--json",
    ]
    assert main(words) == 2
    assert "a diagnosis needs 8 or more" in capsys.readouterr().out
