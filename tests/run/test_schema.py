"""The JSON Schema of a run's config. tests/config/test_schemas.py tests the laws of all schemas."""

from pathlib import Path

import jsonschema
import pytest

from twinloop.config.yaml_file import read_yaml
from twinloop.errors import UsageError
from twinloop.run.config import config_from_text, run_schema

ROOT = Path(__file__).parents[2]
LINE = "# yaml-language-server: $schema=../docs/schema/run.json"
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.yaml")) if LINE in path.read_text(encoding="utf-8")]


def test_all_run_configs_among_the_examples_name_it():
    named = {path.stem for path in EXAMPLES}
    assert named == {"cameras", "handover", "mobile_panda", "mug", "pick_and_place", "so101_pick_and_place"}


@pytest.mark.parametrize(
    "text",
    [
        "rollout: {control_hz: fast}",
        "rollout: {parallel_env: 3}",
        "scene: {robot: frank_panda}",
        "scene: {robot: {mjcf: arm.xml}}",
        "randomization: {physics: {object_mass_kg: heavy}}",
        "randomization: {physics: {object_mass_kg: {gauss: [0.1, 0.2]}}}",
        "randomization: {physics: {friction: 1}}",
        "cameras: {top: {position_m: [0, 0, 1]}}",
        "cameras: {top: {position_m: [0, 0, 1], look_at_m: [0, 0, 0], labels: [boxs]}}",
    ],
)
def test_the_schema_refuses_configs_that_the_reader_refuses(text: str, tmp_path: Path):
    with pytest.raises(UsageError):
        config_from_text(text, name="cell.yaml", folder=tmp_path)
    (tmp_path / "cell.yaml").write_text(text, encoding="utf-8")
    assert not jsonschema.Draft202012Validator(run_schema()).is_valid(read_yaml(tmp_path / "cell.yaml")[0])


def test_a_resolved_config_fits_the_schema(tmp_path: Path):
    config = config_from_text("randomization: realistic", name="cell.yaml", folder=tmp_path)
    jsonschema.Draft202012Validator(run_schema()).validate(config.resolved())
