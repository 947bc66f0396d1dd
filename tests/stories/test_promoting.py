"""A policy goes from candidate to production and back, with the real commands."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.scripted_robot import ScriptedRobot
from tests.forked_servers import forked_servers
from tests.gate.runlogs import Trial, in_turns, runlog
from tests.gate.world import POOR, some
from tests.short_episodes import short_episodes
from twinloop.cli import main
from twinloop.cli.command_line import parser_of
from twinloop.dataset import verify
from twinloop.deploy.canary import runlog_maker
from twinloop.gate.case import Canary, Case, case_of
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import PROMOTED
from twinloop.gate.rules import load_rules
from twinloop.gate.sequence import judge_real_trials
from twinloop.gate.stage_limits import PERMIT, StageLimits, expiry
from twinloop.twin.twin import Twin

pytest.importorskip("torch")
pytest.importorskip("safetensors")

# Rules that a hardly trained policy can pass.
EASY = """
validated: {episodes: 4, success: 0, harm: 1, regress: 1}
canary: {predicted: 0, gap: 1}
production: {deadlines: 1, safety: 1}
"""
MODEL = "franka_panda"


@pytest.fixture(scope="module", autouse=True)
def limit() -> Iterator[None]:
    """The policies fail: they are trained in three steps."""
    with short_episodes("pick_and_place", 5.5), forked_servers():
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("promoting")
    assert main(["generate", "--episodes", "12", "--workers", "1", "--out", str(folder / "datasets" / "data")]) == 0
    for seed, name in enumerate(("first", "second")):
        words = ["--steps", "3", "--batch", "16", "--set", "width=16", "--held-out", "0.2", "--seed", str(seed)]
        assert main(["train", str(folder / "datasets" / "data"), *words, "--out", str(folder / "policies" / name)]) == 0
    (folder / "rules.yaml").write_text(EASY)
    (folder / "cell.yaml").write_text("rollout: {parallel_envs: 8}\n")
    return folder


def command_output(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    capsys.readouterr()
    code = main([*map(str, words), "--json"])
    return json.loads(capsys.readouterr().out.splitlines()[-1]) | {"code": code}


def test_from_candidate_to_production_and_back(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(place)
    easy = ("--rules", "rules.yaml")

    # Nothing was shown: not promoted, and why.
    promotion = command_output(capsys, "promote", "policies/first", *easy)
    assert promotion["code"] == 3
    assert promotion["stage"] == "candidate"
    assert any("no evaluation of this policy" in reason for reason in promotion["steps"][0]["reasons"])

    # Missing evidence is made: an evaluation in the twin. The robot moves only with --human-ready.
    twin = (*easy, "--config", "cell.yaml", "--workers", 1)
    promotion = command_output(capsys, "promote", "policies/first", *twin)
    assert (promotion["code"], promotion["stage"]) == (0, "validated")
    assert [step["entered"] for step in promotion["steps"]] == [True, False]
    promotion = command_output(capsys, "promote", "policies/first", *easy, "--human-ready", "--to", "canary")
    assert (promotion["code"], promotion["stage"]) == (0, "canary")
    first = promotion["checkpoint"]

    # Two trials on a robot: they are run, logged and shown, and they are too few.
    promotion = command_output(
        capsys, "promote", first[:10], *easy, "--robot", "twin", "--human-ready", "--episodes", 2
    )
    assert (promotion["code"], promotion["stage"]) == (3, "canary")
    findings = {finding["rule"]: finding for finding in promotion["steps"][0]["findings"]}
    assert findings["trials"]["measured"] == 2
    assert findings["evidence"]["passed"]
    assert findings["speed"]["passed"]
    assert "decisions" in promotion["pages"][0]

    # Successful trials on the robot allow the next stage; earlier evidence still counts.
    log = runlog(place / "runs" / "cell", [Trial(first)] * 30, model=MODEL)
    promotion = command_output(capsys, "promote", "policies/first", *easy, "--runlog", log)
    assert (promotion["code"], promotion["stage"], promotion["live"]) == (0, "production", first)
    findings = {finding["rule"]: finding for finding in promotion["steps"][0]["findings"]}
    assert findings["trials"]["measured"] == 32

    # The second meets the first on the same draws and, in turns, on the robot.
    promotion = command_output(capsys, "promote", "policies/second", *twin, "--to", "canary", "--human-ready")
    assert promotion["code"] == 0
    second = promotion["checkpoint"]
    assert any(finding["rule"] == "no regress" and "4 draws" in finding["said"]
               for finding in promotion["steps"][0]["findings"])  # fmt: skip
    turns = in_turns(second, [True] * 20, first, list(some(POOR, 20)))
    met = runlog(place / "runs" / "ab", turns, model=MODEL)
    promotion = command_output(capsys, "promote", "policies/second", *easy, "--runlog", met)
    assert (promotion["code"], promotion["live"]) == (0, second)
    status = command_output(capsys, "status", "--html")
    assert status["live"]["checkpoint"] == second
    assert Path(status["live"]["path"]).is_dir()
    assert {entry["kind"] for entry in status["live"]["evidence"]} == {"evaluation", "runlog"}
    assert {entry["name"]: entry["stage"] for entry in status["policies"]} == {
        "first": "canary",
        "second": "production",
    }
    assert Path(status["page"]).stat().st_size > 5_000

    # At work it is followed; while it does as promised nothing happens, then it drops and is undone.
    began = datetime.now(UTC) + timedelta(minutes=1)
    work = runlog(place / "runs" / "work", [Trial(second, arm="")] * 10, began=began, model=MODEL, shard=10)
    assert command_output(capsys, "monitor", "--runlog", work)["code"] == 0
    dropped = [Trial(second, arm="")] * 10 + [Trial(second, False, arm="")] * 30
    runlog(place / "runs" / "work", dropped, began=began, model=MODEL, shard=10)
    watched = command_output(capsys, "monitor", "--runlog", work)
    assert (watched["code"], watched["live"]) == (4, first)
    assert json.loads(Path(watched["incidents"][0]).read_text())["episodes"]

    # The checkpoint that a robot runs, as in the docs.
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text()
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    capsys.readouterr()
    exec(script, {})
    assert first in capsys.readouterr().out

    # Back to the second by hand, and back again; everything that was decided can be checked.
    assert command_output(capsys, "rollback", "--to", second[:8], "--reason", "the camera was dirty")["live"] == second
    assert command_output(capsys, "rollback")["live"] == first
    verified = command_output(capsys, "status", "--verify", "--head", status["head"])
    assert (verified["ok"], verified["problems"], verified["code"]) == (True, [], 0)
    records = Registry.open(place / "registry").ledger.records
    assert [record.verdict for record in records if record.kind == "decision"].count("rolled back") == 3


def test_trials_are_repeated_in_the_twin(place: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """With a config, real trials are done again there, once; where both draw the same scenes, they count together."""
    (tmp_path / "cell.yaml").write_text(
        "randomization: {physics: {object_position_noise_cm: [-2, 2]}}\nrollout: {parallel_envs: 8}\n"
    )
    easy = ("--rules", place / "rules.yaml", "--registry", tmp_path / "registry", "--data", place / "datasets")
    twin = (*easy, "--config", tmp_path / "cell.yaml", "--workers", 1)
    robot = ("--robot", f"twin:{tmp_path / 'cell.yaml'}", "--human-ready", "--episodes", 2, "--speed", 1)
    assert (
        command_output(capsys, "promote", place / "policies" / "first", *twin, "--to", "canary", "--human-ready")[
            "code"
        ]
        == 0
    )
    promotion = command_output(capsys, "promote", place / "policies" / "first", *twin, *robot)
    assert (promotion["code"], promotion["stage"]) == (3, "canary")
    findings = {finding["rule"]: finding for finding in promotion["steps"][0]["findings"]}
    assert findings["evidence"]["passed"]
    assert "worth" in findings["with the twin"]["said"]
    assert isinstance(findings["with the twin"]["measured"], float)
    registry = Registry.open(tmp_path / "registry")
    (entry,) = [evidence for evidence in registry.ledger.records[-1].evidence if evidence["kind"] == "repeats"]
    assert (entry["trials"], entry["repeated"]) == (2, 2)
    assert "2 of 2 real trials repeated in cell" in Path(promotion["pages"][0]).read_text()
    (path,) = (tmp_path / "registry" / "trials").glob("*/repeats-*.json")
    before = path.stat().st_mtime_ns
    promotion = command_output(capsys, "promote", promotion["checkpoint"], *twin, "--to", "production")
    assert (promotion["code"], path.stat().st_mtime_ns) == (3, before)


@contextmanager
def quietly(_: str) -> Iterator[Callable[[object], None]]:
    yield lambda _: None


def test_trials_stop_when_the_sequential_test_decides(place: Path, tmp_path: Path, twin: Twin):
    """On a robot where everything succeeds: after as many trials as it takes, and none when asked again."""
    with writing(tmp_path / "registry") as writer:
        pinned = writer.pin(place / "policies" / "first")
        limits = StageLimits(0.3, 100.0, 0.0, True, 40, expiry(1), (), ())
        writer.decide(
            PROMOTED, checkpoint=pinned.digest, transition="validated -> canary", details={PERMIT: limits.to_json()}
        )
    rules, canary = load_rules(), Canary("scripted", 0.3, 40)
    robot = ScriptedRobot(twin)
    make = runlog_maker(
        robot, attended=False, show=quietly, progress_of=lambda *_: None, longest_s=0.3, stop_file=tmp_path / "stop"
    )

    def case(*runlogs: Path, ready: bool = True) -> Case:
        registry = Registry.open(tmp_path / "registry")
        return case_of(registry, pinned, rules, runlogs=runlogs, human_ready=ready, canary=canary)

    assert make(case(ready=False), tmp_path / "out") is None
    assert not robot.sent
    log = make(case(), tmp_path / "out")
    assert log is not None
    current = case(log)
    assert current.problems == ()
    trials = judge_real_trials(current)
    assert trials.decision == "accept"
    assert trials.trials == len(robot.sent) < 40
    all_but_last = current.episodes.take(np.arange(trials.trials - 1))
    before = replace(current, runlogs=(replace(current.runlogs[0], episodes=all_but_last),))
    assert trials.trials == rules.production.trials or judge_real_trials(before).decision == "continue"
    assert verify(log).ok
    assert make(current, tmp_path / "out") == log
    assert len(robot.sent) == trials.trials


def test_impossible_promotions_are_refused(place: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    for words, code, error in (
        (("promote", tmp_path / "nowhere", "--registry", tmp_path / "none"), 2, "is not a folder"),
        (("promote", place / "policies" / "first", "--to", "prodcution"), 2, "did you mean production"),
        (("status", "--registry", tmp_path / "none"), 2, "is not a registry"),
        (("rollback", "--registry", tmp_path / "none"), 2, "is not a registry"),
        (("monitor", "--runlog", tmp_path, "--registry", tmp_path / "none"), 2, "is not a registry"),
        (("promote", place / "policies" / "first", "--rules", tmp_path / "none.yaml"), 2, "no such file"),
    ):  # fmt: skip
        result = command_output(capsys, *words)
        assert result["code"] == code, result
        assert error in result["error"]


def test_a_changed_ledger_is_detected(tmp_path: Path, capsys: pytest.CaptureFixture[str], place: Path):
    registry = tmp_path / "registry"
    assert command_output(capsys, "promote", place / "policies" / "first", "--registry", registry)["code"] == 3
    ledger = registry / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"refused", b"Refused", 1))
    result = command_output(capsys, "status", "--verify", "--registry", registry)
    assert result["code"] == 1
    assert "record 3 (line 3): was altered" in result["problems"][0]
    assert command_output(capsys, "status", "--registry", registry)["code"] == 1
    assert command_output(capsys, "promote", place / "policies" / "first", "--registry", registry)["code"] == 1


def test_the_commands_of_the_gate_page_are_valid(tmp_path: Path):
    """Every command of the docs is one the parser takes, and the rules in them are rules."""
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text()
    commands = re.findall(r"^    (twinloop .*)$", page, re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        words = shlex.split(command)[1:]
        parser_of(words).parse_args(words)
    (rules,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "rules.yaml").write_text(rules)
    assert load_rules(tmp_path / "rules.yaml").validated.episodes == 500
