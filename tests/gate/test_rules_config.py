"""Rule files: the defaults are those of rules.yaml, a user's file changes single keys, and bad values are refused."""

import json
import re
from dataclasses import fields
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from twinloop.config.fields import kind_of
from twinloop.config.yaml_file import parse_yaml
from twinloop.errors import ConfigError
from twinloop.gate.rules.config import RulesConfig, load_rules, rules_schema

ROOT = Path(__file__).parents[2]
YAML = files("twinloop.gate").joinpath("rules.yaml").read_text(encoding="utf-8")


def test_the_defaults_and_their_help_are_those_of_the_yaml_file():
    values = parse_yaml(YAML, "rules.yaml")[0]
    comments = re.findall(r"^  (\w+): \S+ +# (.*)$", YAML, flags=re.M)
    declared = []
    for step, keys in values.items():
        part = getattr(load_rules(), step)
        assert {field.name: getattr(part, field.name) for field in fields(part)} == keys
        declared += [(field.name, kind.help) for field in fields(part) if (kind := kind_of(field)) is not None]
    assert declared == comments


def test_a_file_changes_single_keys(tmp_path: Path):
    (tmp_path / "rules.yaml").write_text("production: {trials: 12}\nmonitor:\n", encoding="utf-8")
    rules = load_rules(tmp_path / "rules.yaml")
    assert rules.production.trials == 12
    assert (rules.validated, rules.canary, rules.monitor) == (
        RulesConfig().validated, RulesConfig().canary, RulesConfig().monitor
    )  # fmt: skip
    assert rules.digest != RulesConfig().digest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("production: {trial: 3}", ["rules.yaml:1: production.trial", "did you mean trials"]),
        ("production:\n  trials: 0", ["rules.yaml:2: production.trials", "from 1 to"]),
        ("validated: {confidence: 1}", ["validated.confidence", "0.999"]),
        ("production: {success: 0.9}", ["production.aim", "above success"]),
        ("production: {gain: 0, regress: 0}", ["production.gain", "above minus regress"]),
        ("canery: {}", ["canery", "did you mean canary"]),
    ],
)
def test_a_bad_file_is_refused_by_name(text: str, words: list[str], tmp_path: Path):
    (tmp_path / "rules.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load_rules(tmp_path / "rules.yaml")
    assert all(word in str(error.value) for word in words), error.value


def test_the_committed_schema_is_current_and_accepts_the_defaults():
    committed = json.loads((ROOT / "docs" / "schema" / "rules.json").read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(rules_schema())), "run `make docs`"
    jsonschema.Draft202012Validator(committed).validate(parse_yaml(YAML, "rules.yaml")[0])
