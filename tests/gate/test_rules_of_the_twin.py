"""The gate fails closed: one row for each kind of missing, insufficient, altered or bad evidence of the twin."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.gate.checkpoints import checkpoint
from tests.gate.world import POOR, World, refused
from twinloop.errors import ConfigError
from twinloop.gate import load_evaluation, write_evaluation
from twinloop.gate.registry import Registry
from twinloop.gate.rules import load_rules


def spoil(path: Path, old: bytes, new: bytes) -> None:
    path.chmod(0o600)
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def change_rows(folder: Path, change: Callable[[dict], dict]) -> None:
    """Rewrite the outcomes of an evaluation with a matching digest."""
    rows = folder / "episodes.parquet"
    table = pq.read_table(rows)
    pq.write_table(pa.table(change({name: table[name].to_pylist() for name in table.column_names})), rows)
    output = json.loads((folder / "evaluation.json").read_text())
    output["outcomes"]["sha256"] = hashlib.sha256(rows.read_bytes()).hexdigest()
    (folder / "evaluation.json").write_text(json.dumps(output))


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


def with_verdicts(out: Path, count: int, name: str) -> Path:
    """Give the first attempts of an evaluation another verdict."""
    result = load_evaluation(out)
    verdict = result.outcomes.verdict.copy()
    verdict[:count] = name
    write_evaluation(replace(result, outcomes=replace(result.outcomes, verdict=verdict)), out)
    return out


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
    return (with_verdicts(world.evaluated(2), 10, "person_pushed"),)


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
def test_a_failed_rule_prevents_validation(world: World, name: str):
    rules, prepare = TWIN[name]
    evaluations = prepare(world)
    refused(world.promote(2, to="validated", evaluations=evaluations), *rules)
    assert Registry.open(world.registry).stage(world.digest(2)) == "candidate"


def test_with_all_rules_satisfied_it_is_validated(world: World):
    world.policy(2)
    assert world.promote(2, to="validated", evaluations=(world.evaluated(2),)).reached == "validated"


def test_an_attempt_that_takes_too_long_is_no_harm(world: World):
    world.policy(2)
    slow = with_verdicts(world.evaluated(2), 40, "too_long")
    assert world.promote(2, to="validated", evaluations=(slow,)).reached == "validated"


def test_a_disabled_rule_is_recorded_in_the_ledger(world: World):
    world.policy(2)
    shutil.move(world.path / "datasets" / "data", world.path / "away")
    world.rules = replace(world.rules, validated=replace(world.rules.validated, training_data=False))
    promotion = world.promote(2, to="validated", evaluations=(world.evaluated(2),))
    assert promotion.promoted
    record = promotion.steps[0].record
    assert record is not None
    assert record.rules == world.rules.digest != load_rules().digest


# --- validated -> canary ---------------------------------------------------------------------------------------------


def test_without_human_ready_no_robot_moves(world: World):
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
    record = next(entry for entry in Registry.open(world.registry).state.evidence[world.digest(2)])
    copy = world.registry / "evidence" / str(record["digest"]) / "evaluation.json"
    spoil(copy, b'"seed": 1000000', b'"seed": 1000001')
    promotion = world.promote(2)
    assert not promotion.promoted
    assert "evidence" in {finding.rule for finding in promotion.steps[0].decision.failed}


# --- the file of rules -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
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
def test_rules_are_read_strictly(tmp_path: Path, text: str, message: str):
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    if not message:
        assert load_rules(path).production.gain == 0.05
        return
    with pytest.raises(ConfigError, match=message):
        load_rules(path)


def test_a_rules_file_changes_only_its_keys(tmp_path: Path):
    path = tmp_path / "rules.yaml"
    path.write_text("validated: {episodes: 50}\n")
    rules = load_rules(path)
    assert rules.validated.episodes == 50
    assert replace(rules, validated=replace(rules.validated, episodes=200)) == load_rules()
    assert rules.digest != load_rules().digest
