"""The JSON Schemas of `twinloop schema`: committed, current, and named and fitted by the examples."""

import json
from pathlib import Path

import jsonschema
import pytest

from twinloop.cli import main
from twinloop.cli.schema import SCHEMAS
from twinloop.config.yaml_file import read_yaml

ROOT = Path(__file__).parents[2]
LINE = "# yaml-language-server: $schema="
CELLS = ROOT / "twinloop" / "deploy" / "rehearsal" / "cells"
FILES = [path for folder in (ROOT / "examples", CELLS) for path in sorted(folder.rglob("*.yaml"))]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_committed_schema_is_current_and_valid(kind: str):
    committed = json.loads((ROOT / "docs" / "schema" / f"{kind}.json").read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(SCHEMAS[kind]())), "run `make docs`"
    jsonschema.Draft202012Validator.check_schema(committed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_names_a_schema_and_fits_it(path: Path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    schema = (path.parent / first.removeprefix(LINE)).resolve()
    assert schema.parent == ROOT / "docs" / "schema"
    jsonschema.Draft202012Validator(SCHEMAS[schema.stem]()).validate(read_yaml(path)[0])


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_command_prints_it(kind: str, capsys: pytest.CaptureFixture[str]):
    assert main(["schema", kind]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(SCHEMAS[kind]()))
