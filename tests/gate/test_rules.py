"""The gate fails closed: a row for every way in which evidence can be missing, too little, spoilt, or bad."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.gate.checkpoints import checkpoint
from tests.gate.runlogs import BEGAN, Tried, in_turns, runlog
from tests.gate.world import FAIR, GOOD, POOR, World, some
from twinloop.errors import ConfigError
from twinloop.gate import load_evaluation, write_evaluation
from twinloop.gate.registry import Registry
from twinloop.gate.rules import load_rules
from twinloop.pipeline.promote import Promotion


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Policy 1 in canary; nothing is live."""
    world = World(tmp_path_factory.mktemp("template"))
    world.policy(1)
    assert world.promote(1, evaluations=(world.evaluated(1),)).reached == "canary"
    return world.path


@pytest.fixture
def world(template: Path, tmp_path: Path) -> World:
    """Of one's own, to be spoilt."""
    shutil.copytree(template, tmp_path / "world")
    return World(tmp_path / "world")


def refused(found: Promotion, *rules: str) -> None:
    """Not promoted, for these reasons and no others; each is told, and it is in the ledger."""
    assert not found.promoted
    (step,) = found.steps
    assert tuple(finding.rule for finding in step.decision.failed) == rules
    assert all(finding.said for finding in step.decision.failed)
    assert step.record is not None
    assert step.record.verdict == "refused"
    assert found.registry.ledger.head == step.record.digest


def spoil(path: Path, old: bytes, new: bytes) -> None:
    path.chmod(0o600)
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def change_rows(folder: Path, change: Callable[[dict], dict]) -> None:
    """Rewrite the outcomes of an evaluation, digest and all: a careful forger, or a bug."""
    rows = folder / "episodes.parquet"
    table = pq.read_table(rows)
    pq.write_table(pa.table(change({name: table[name].to_pylist() for name in table.column_names})), rows)
    told = json.loads((folder / "evaluation.json").read_text())
    told["outcomes"]["sha256"] = hashlib.sha256(rows.read_bytes()).hexdigest()
    (folder / "evaluation.json").write_text(json.dumps(told))


def first(values: list, value: object) -> list:
    return [value, *values[1:]]


# --- candidate -> validated ------------------------------------------------------------------------------------------

TWIN: dict[str, tuple[tuple[str, ...], Callable[[World], tuple[Path, ...]]]] = {}


def twin(*rules: str):
    def add(prepare: Callable[[World], tuple[Path, ...]]):
        TWIN[prepare.__name__] = (rules, prepare)
        return prepare

    return add


NOTHING = ("episodes", "unseen draws", "success", "harm", "no regress")


@twin(*NOTHING)
def no_evaluation(world: World) -> tuple[Path, ...]:
    world.policy(2)
    return ()


@twin("evidence", *NOTHING)
def an_evaluation_that_is_not_there(world: World) -> tuple[Path, ...]:
    world.policy(2)
    return (world.path / "nowhere",)


@twin("evidence", *NOTHING)
def an_evaluation_of_another_policy(world: World) -> tuple[Path, ...]:
    world.policy(2)
    return (world.evaluated(1),)


@twin("evidence", *NOTHING)
def an_evaluation_whose_rows_were_altered(world: World) -> tuple[Path, ...]:
    world.policy(2)
    out = world.evaluated(2)
    (out / "episodes.parquet").write_bytes((out / "episodes.parquet").read_bytes() + b" ")
    return (out,)


@twin("evidence", *NOTHING)
def an_evaluation_whose_success_was_altered(world: World) -> tuple[Path, ...]:
    world.policy(2)
    out = world.evaluated(2)
    spoil(out / "evaluation.json", b'"successes": 190', b'"successes": 199')
    return (out,)


@twin("evidence", *NOTHING)
def an_evaluation_with_nan_in_its_rows(world: World) -> tuple[Path, ...]:
    world.policy(2)
    out = world.evaluated(2)
    change_rows(out, lambda columns: columns | {"duration_s": first(columns["duration_s"], float("nan"))})
    return (out,)


@twin("evidence", *NOTHING)
def an_evaluation_with_a_success_nobody_knows(world: World) -> tuple[Path, ...]:
    world.policy(2)
    out = world.evaluated(2)
    change_rows(out, lambda columns: columns | {"success": first(columns["success"], None)})
    return (out,)


@twin("evidence", *NOTHING)
def an_evaluation_with_an_attempt_twice(world: World) -> tuple[Path, ...]:
    world.policy(2)
    out = world.evaluated(2)
    change_rows(out, lambda columns: columns | {"attempt": first(columns["attempt"], columns["attempt"][1])})
    return (out,)


@twin("episodes")
def too_few_episodes(world: World) -> tuple[Path, ...]:
    world.policy(2)
    return (world.evaluated(2, count=199),)


@twin("success")
def too_little_success(world: World) -> tuple[Path, ...]:
    world.policy(2)
    return (world.evaluated(2, rate=0.63),)  # 0.57 at least


@twin("success")
def one_of_two_twins_is_too_hard(world: World) -> tuple[Path, ...]:
    world.policy(2)
    return (world.evaluated(2), world.evaluated(2, rate=POOR, twin="d" * 64))


@twin("success")
def a_better_seed_does_not_undo_a_worse_one(world: World) -> tuple[Path, ...]:
    world.policy(2)
    assert not world.promote(2, evaluations=(world.evaluated(2, rate=0.3),)).promoted
    return (world.evaluated(2, rate=0.8, seed=1_000_001),)


@twin("harm")
def too_much_harm(world: World) -> tuple[Path, ...]:
    world.policy(2)
    out = world.evaluated(2)
    found = load_evaluation(out)
    verdict = found.outcomes.verdict.copy()
    verdict[:10] = "person_force"
    write_evaluation(replace(found, outcomes=replace(found.outcomes, verdict=verdict)), out)
    return (out,)


@twin("unseen draws")
def draws_it_was_trained_on(world: World) -> tuple[Path, ...]:
    world.policy(2)
    return (world.evaluated(2, seed=7),)


@twin("finished")
def a_training_that_was_cut_short(world: World) -> tuple[Path, ...]:
    world.policy(2, finished=False)
    return (world.evaluated(2),)


@twin("metrics")
def a_loss_that_is_not_a_number(world: World) -> tuple[Path, ...]:
    world.policy(2, metrics={"loss": float("nan"), "held_out_loss": 0.2, "held_out_error": {}})
    return (world.evaluated(2),)


@twin("metrics")
def a_metric_that_is_missing(world: World) -> tuple[Path, ...]:
    world.policy(2, metrics={"loss": 0.1, "held_out_loss": None, "held_out_error": {}})
    return (world.evaluated(2),)


@twin("training data")
def training_data_that_no_longer_verifies(world: World) -> tuple[Path, ...]:
    world.policy(2)
    frames = next((world.path / "datasets" / "data" / "shards").rglob("frames.parquet"))
    frames.chmod(0o600)
    frames.write_bytes(frames.read_bytes() + b" ")
    return (world.evaluated(2),)


@twin("training data")
def training_data_that_is_gone(world: World) -> tuple[Path, ...]:
    world.policy(2)
    shutil.move(world.path / "datasets" / "data", world.path / "away")
    return (world.evaluated(2),)


@twin("training data")
def training_data_that_is_other_data(world: World) -> tuple[Path, ...]:
    checkpoint(world.path / "policies" / "p2", number=2, data=(world.data(digest="d" * 64),))
    return (world.evaluated(2),)


@twin("training data")
def a_card_that_names_no_data(world: World) -> tuple[Path, ...]:
    checkpoint(world.path / "policies" / "p2", number=2)
    return (world.evaluated(2),)


@pytest.mark.parametrize("name", TWIN)
def test_what_the_twin_did_not_show_is_not_validated(world: World, name: str):
    rules, prepare = TWIN[name]
    evaluations = prepare(world)
    refused(world.promote(2, to="validated", evaluations=evaluations), *rules)
    assert Registry.open(world.registry).stage(world.digest(2)) == "candidate"


def test_with_everything_shown_it_is_validated(world: World):
    world.policy(2)
    assert world.promote(2, to="validated", evaluations=(world.evaluated(2),)).reached == "validated"


def test_a_rule_can_be_left_out_and_the_ledger_says_so(world: World):
    world.policy(2)
    shutil.move(world.path / "datasets" / "data", world.path / "away")
    world.rules = replace(world.rules, validated=replace(world.rules.validated, training_data=False))
    found = world.promote(2, to="validated", evaluations=(world.evaluated(2),))
    assert found.promoted
    record = found.steps[0].record
    assert record is not None
    assert record.rules == world.rules.digest != load_rules().digest


# --- validated -> canary ---------------------------------------------------------------------------------------------


def test_without_somebody_ready_no_robot_moves(world: World):
    world.policy(2)
    world.promote(2, to="validated", evaluations=(world.evaluated(2),))
    refused(world.promote(2, human_ready=False), "human ready")
    refused(world.promote(2, canary=None), "speed", "count")
    too_fast = replace(world.canary, speed=0.9, episodes=10_000) if world.canary else None
    refused(world.promote(2, canary=too_fast), "speed", "count")
    assert Registry.open(world.registry).stage(world.digest(2)) == "validated"


def test_evidence_that_was_altered_in_the_registry_is_noticed(world: World):
    world.policy(2)
    world.promote(2, to="validated", evaluations=(world.evaluated(2),))
    record = next(each for each in Registry.open(world.registry).standing.shown[world.digest(2)])
    copy = world.registry / "evidence" / str(record["digest"]) / "evaluation.json"
    spoil(copy, b'"seed": 1000000', b'"seed": 1000001')
    found = world.promote(2)
    assert not found.promoted
    assert "evidence" in {finding.rule for finding in found.steps[0].decision.failed}


# --- canary -> production --------------------------------------------------------------------------------------------


def alone(world: World, episodes: list[Tried], **changes) -> Promotion:
    return world.promote(1, to="production", runlogs=(runlog(world.path / "runs" / "log", episodes, **changes),))


def fine(world: World, count: int = 16, **columns) -> list[Tried]:
    return [Tried(world.digest(1), columns=columns) for _ in range(count)]


NONE_TRIED = (
    "trials", "sequential test", "success", "interventions", "safety", "filter", "finite commands", "aborted",
    "unknown", "deadlines",
)  # fmt: skip

ROBOT: dict[str, tuple[tuple[str, ...], Callable[[World], list[Tried]]]] = {
    "episodes of another policy only": (NONE_TRIED, lambda _: [Tried("e" * 64)] * 16),
    "too few trials": (("trials", "sequential test"), lambda world: fine(world, 4)),
    "a test that does not know yet": (
        ("sequential test",), lambda world: [Tried(world.digest(1), bool(each)) for each in some(0.66, 12)]
    ),
    "too little success": (
        ("sequential test", "success"), lambda world: [Tried(world.digest(1), bool(each)) for each in some(0.2, 20)]
    ),
    "interventions": (("interventions",), lambda world: fine(world, 24) + fine(world, 4, interventions=2)),
    "a robot at the end of its workspace": (("safety",), lambda world: fine(world, 12, **{"safety/workspace": 2})),
    "a filter at work all the time": (("filter",), lambda world: fine(world, 12, **{"safety/velocity": 18})),
    "one command that was no number": (
        ("finite commands",), lambda world: fine(world, 20) + fine(world, 1, **{"safety/non_finite": 1})
    ),
    "aborted episodes": (("aborted",), lambda world: fine(world, 24) + fine(world, 4, outcome="aborted")),
    "outcomes nobody knows": (("unknown",), lambda world: fine(world, 24) + fine(world, 4, outcome="unknown")),
    "missed deadlines": (("deadlines",), lambda world: fine(world, 12, deadlines_missed=1)),
    "no column of interventions": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, interventions=None)),
    "no column of the outcome": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, outcome=None)),
    "an outcome of another word": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, outcome="splendid")),
    "a time that is none": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, recorded_at="yesterday")),
    "a count that is not a number": (
        ("evidence", *NONE_TRIED), lambda world: fine(world, 12, interventions=float("nan"))
    ),
    "a count below nothing": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, **{"safety/force": -1})),
}  # fmt: skip


@pytest.mark.parametrize("name", ROBOT)
def test_what_the_robot_did_not_show_does_not_go_live(world: World, name: str):
    rules, episodes = ROBOT[name]
    refused(alone(world, episodes(world)), *rules)
    assert Registry.open(world.registry).production == ""


def test_trials_that_the_twin_repeated_are_combined_with_it(world: World):
    some_missing = fine(world, 12, **{"twin/success": 1.0}) + fine(world, 4, **{"twin/success": float("nan")})
    refused(alone(world, some_missing), "with the twin")
    shutil.rmtree(world.path / "runs" / "log")
    found = world.promote(
        1, to="production", runlogs=(runlog(world.path / "runs" / "log", fine(world, 16, **{"twin/success": 1.0})),)
    )
    findings = {finding.rule: finding for finding in found.steps[0].decision.findings}
    assert findings["with the twin"].passed
    assert "worth" in findings["with the twin"].said
    assert not findings["evidence"].passed  # what was shown before is gone


def test_trials_faster_than_a_canary_may_be_do_not_count(world: World):
    refused(alone(world, fine(world, 16, **{"setting/speed": 0.9})), "speed")


def test_slowing_a_slow_robot_down_is_not_held_against_it(world: World):
    slow = {"setting/speed": 0.3, "safety/velocity": 18, "safety/acceleration": 9}
    assert alone(world, fine(world, 16, **slow)).reached == "production"


def test_what_was_broken_off_is_left_out_of_the_test_but_not_overlooked(world: World):
    broken = fine(world, 4, outcome="aborted", failure="interrupted")
    refused(alone(world, fine(world, 16) + broken), "aborted")


def test_with_everything_shown_it_goes_live(world: World):
    assert alone(world, fine(world)).reached == "production"
    assert Registry.open(world.registry).production == world.digest(1)


def test_no_runlog_no_production(world: World):
    refused(world.promote(1, to="production"), *NONE_TRIED)


def test_a_runlog_that_is_no_real_one_or_does_not_verify(world: World):
    refused(alone(world, fine(world), source="mixed"), "evidence", *NONE_TRIED)
    log = runlog(world.path / "runs" / "other", fine(world))
    shard = next((log / "shards").rglob("episodes.parquet"))
    shard.chmod(0o600)
    shard.write_bytes(shard.read_bytes() + b" ")
    refused(world.promote(1, to="production", runlogs=(log,)), "evidence", *NONE_TRIED)
    refused(world.promote(1, to="production", runlogs=(world.path / "nowhere",)), "evidence", *NONE_TRIED)


def test_a_runlog_of_another_kind_of_robot_says_nothing(world: World):
    refused(alone(world, fine(world), model="so101"), "evidence", *NONE_TRIED)


def test_evidence_cannot_be_taken_back(world: World):
    """A log that showed failures stays part of the case: not shown again or gone, it counts or is missed."""
    bad = [Tried(world.digest(1), False) for _ in range(8)]
    refused(alone(world, bad), "trials", "sequential test", "success")
    good = runlog(world.path / "runs" / "good", fine(world), began=BEGAN + timedelta(days=1))
    found = world.promote(1, to="production", runlogs=(good,))
    assert "sequential test" in {finding.rule for finding in found.steps[0].decision.failed}
    shutil.rmtree(world.path / "runs" / "log")
    found = world.promote(1, to="production", runlogs=(good,))
    assert "evidence" in {finding.rule for finding in found.steps[0].decision.failed}
    runlog(world.path / "runs" / "log", fine(world))  # another one in its place
    found = world.promote(1, to="production", runlogs=(good,))
    assert "evidence" in {finding.rule for finding in found.steps[0].decision.failed}
    assert not found.promoted


def test_a_log_may_grow(world: World):
    refused(alone(world, fine(world, 4), shard=4), "trials", "sequential test")
    assert alone(world, fine(world, 16), shard=4).reached == "production"


# --- against a live policy -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Policy 1 is live, policy 2 is in canary."""
    path = tmp_path_factory.mktemp("two") / "world"
    shutil.copytree(template, path)
    world = World(path)
    world.promote(1, runlogs=(runlog(path / "runs" / "first", fine(world)),))
    world.policy(2)
    assert world.promote(2, to="canary", evaluations=(world.evaluated(2), world.evaluated(1))).reached == "canary"
    return path


@pytest.fixture
def rivals(two: Path, tmp_path: Path) -> World:
    shutil.copytree(two, tmp_path / "rivals")
    return World(tmp_path / "rivals")


def test_the_live_policy_must_have_met_the_same_draws(world: World):
    world.promote(1, runlogs=(runlog(world.path / "runs" / "first", fine(world)),))
    world.policy(2)
    other_draws = (world.evaluated(2, seed=1_000_005),)
    refused(world.promote(2, to="validated", evaluations=other_draws), "no regress")
    world.policy(3)
    worse = (world.evaluated(3, rate=FAIR),)
    refused(world.promote(3, to="validated", evaluations=worse), "no regress")
    assert Registry.open(world.registry).production == world.digest(1)


def meet(world: World, turns: list[Tried]) -> Promotion:
    return world.promote(2, to="production", runlogs=(runlog(world.path / "runs" / "met", turns),))


def test_one_after_the_other_is_not_in_turns(rivals: World):
    turns = in_turns(rivals.digest(2), [True] * 20, rivals.digest(1), list(some(POOR, 20)))
    refused(meet(rivals, turns[::2] + turns[1::2]), "interleaved")


def test_without_a_control_arm_nothing_replaces_what_is_live(rivals: World):
    refused(meet(rivals, [Tried(rivals.digest(2))] * 20), "trials", "interleaved", "sequential test")


def test_a_control_arm_of_another_policy_is_none(rivals: World):
    turns = in_turns(rivals.digest(2), [True] * 20, "e" * 64, [False] * 20)
    refused(meet(rivals, turns), "trials", "interleaved", "sequential test")


def test_a_worse_policy_does_not_replace_a_better_one(rivals: World):
    turns = in_turns(rivals.digest(2), list(some(POOR, 30)), rivals.digest(1), list(some(GOOD, 30)))
    refused(meet(rivals, turns), "sequential test")
    assert Registry.open(rivals.registry).production == rivals.digest(1)


def test_what_nobody_knows_counts_against_the_candidate_and_for_the_control(rivals: World):
    unknown = {"outcome": "unknown"}
    turns = in_turns(rivals.digest(2), [True] * 20, rivals.digest(1), [True] * 20)
    turns = [replace(each, columns=unknown) if each.arm == "control" else each for each in turns]
    assert meet(rivals, turns).steps[0].decision.figures["test"]["for"][-1] < np.log(20)


def test_a_better_policy_replaces_the_live_one(rivals: World):
    turns = in_turns(rivals.digest(2), [True] * 20, rivals.digest(1), list(some(POOR, 20)))
    assert meet(rivals, turns).reached == "production"
    registry = Registry.open(rivals.registry)
    assert registry.standing.stack == (rivals.digest(1), rivals.digest(2))


# --- the file of rules -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("validatd: {episodes: 5}", "did you mean validated"),
        ("validated: {episode: 5}", "did you mean episodes"),
        ("validated: {success: 1.5}", "from 0 to 1"),
        ("validated: {episodes: 0}", "from 1"),
        ("validated: {episodes: 2.5}", "whole number"),
        ("canary: {human_ready: 1}", "true or false"),
        ("production: {success: 0.9}", "above success"),
        ("production: {gain: 0.05, regress: 0}", ""),
        ("production: {error: .nan}", "not a finite number"),
    ],
)
def test_rules_are_read_strictly(tmp_path: Path, text: str, told: str):
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    if not told:
        assert load_rules(path).production.gain == 0.05
        return
    with pytest.raises(ConfigError, match=told):
        load_rules(path)


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path: Path):
    path = tmp_path / "rules.yaml"
    path.write_text("validated: {episodes: 50}\n")
    rules = load_rules(path)
    assert rules.validated.episodes == 50
    assert replace(rules, validated=replace(rules.validated, episodes=200)) == load_rules()
    assert rules.digest != load_rules().digest
