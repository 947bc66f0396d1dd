"""Worth of a dataset: a fill is a config of its own that makes the same episodes again, and bad input is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.learn.demonstrated import reaching
from twinloop.cli.command_line import run_command_line
from twinloop.curate.verdict import ACCEPTED
from twinloop.dataset import Dataset
from twinloop.dataset.worth import drawn_episodes, filled_config, report_json, worth_report
from twinloop.errors import ConfigError, DatasetError, UsageError
from twinloop.pipeline.generate import generate
from twinloop.run.config import config_from_text

CELL = """
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  physics: {object_mass_kg: [0.1, 2.1], friction_coefficient: [0.1, 0.6], grip_force_scale: 0.4}
expert: {retries: 0}
rollout: {seed: 3}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A dataset in which heavy and smooth objects slipped."""
    out = tmp_path_factory.mktemp("worth") / "first"
    config = config_from_text(CELL, name="cell.yaml", folder=Path())
    generate(config, out, episodes=160, workers=1)
    return out


def test_points_are_the_quantiles_of_the_stored_draws(run: Path):
    drawn = drawn_episodes([run])
    assert not drawn.accepted.all()
    assert drawn.accepted.any()
    np.testing.assert_allclose(0.1 + 2 * drawn.points["object_mass_kg"], drawn.values["object_mass_kg"], atol=1e-9)


def test_a_fill_makes_episodes_where_few_were_accepted_and_can_be_made_again(run: Path, tmp_path: Path):
    config = filled_config([run], episodes=24)
    assert config.fill is not None
    assert config.fill.of == (Dataset.open(run).digest(),)
    assert config.rollout.seed != Dataset.open(run).header.run_seed
    assert config.digest != replace(config, fill=None).digest
    # The written config is the same config: its digest, seed and an index make any episode again.
    again = config_from_text(config.to_yaml(), name="config.yaml", folder=Path())
    assert again.digest == config.digest
    first, second = (made.sampler().draw(5, 6).values for made in (config, again))
    assert all(first[column] == second[column] for column in first)
    words = ["generate", "--fill", str(run), "--episodes", "24", "--out", str(tmp_path / "fill"), "--workers", "1"]
    assert run_command_line(words) == 0
    stored = Dataset.open(tmp_path / "fill")
    assert stored.header.config_digest == config.digest
    both = drawn_episodes([run, tmp_path / "fill"])
    assert len(both.accepted) == 184
    assert len(both.digests) == 2


def test_the_report_counts_instructions_and_finds_no_duplicates(run: Path):
    report = worth_report([run])
    accepted = Dataset.open(run).attempts()["verdict"].to_pylist().count(ACCEPTED)
    assert sum(counts[0] for counts in report.instructions.values()) == accepted
    assert report.novelty is not None
    assert not report.novelty.duplicates
    assert report_json(report)["thin_regions"] == len(report.thin) > 0


def test_data_that_cannot_be_filled_is_refused(run: Path, tmp_path: Path):
    real = reaching(tmp_path / "real", episodes=8, source="real")
    with pytest.raises(DatasetError, match="has no draws \\(source 'real'\\)"):
        drawn_episodes([real])
    few = config_from_text(CELL, name="cell.yaml", folder=Path())
    generate(few, tmp_path / "few", episodes=4, workers=1)
    with pytest.raises(UsageError, match="accepted episodes; 32 or more are needed"):
        filled_config([tmp_path / "few"], episodes=10)
    other = config_from_text(CELL.replace("2.1", "1.9"), name="cell.yaml", folder=Path())
    generate(other, tmp_path / "other", episodes=4, workers=1)
    with pytest.raises(UsageError, match="was made with another config than"):
        drawn_episodes([run, tmp_path / "other"])


@pytest.mark.parametrize(
    ("regions", "problem"),
    [
        ("[{share: 0.5, quantiles: {object_yaw_deg: [0, 0.5]}}]", "names the column 'object_yaw_deg'"),
        ("[{share: 0.5, quantiles: {object_mass_kg: [0, 1.5]}}]", "must be from 0 to 1"),
        ("[{share: 0.9, quantiles: {}}, {share: 0.9, quantiles: {}}]", "sum to 1.8"),
        ("[]", "regions"),
    ],
)
def test_regions_that_make_no_sense_are_refused(regions: str, problem: str):
    with pytest.raises(ConfigError, match=problem):
        config_from_text(f"{CELL}fill: {{of: [x], regions: {regions}}}\n", name="cell.yaml", folder=Path())


@pytest.mark.parametrize("more", [["cell.yaml"], ["--task", "stack"]])
def test_a_fill_takes_its_config_from_the_dataset(run: Path, more: list[str], capsys: pytest.CaptureFixture[str]):
    assert run_command_line(["generate", *more, "--fill", str(run), "--episodes", "10"]) != 0
    assert "takes the config from the dataset; remove" in capsys.readouterr().err
    assert run_command_line(["generate", "--fill", str(run)]) != 0
    assert "give the number of attempts with --episodes" in capsys.readouterr().err


def test_a_fill_of_several_tasks_gives_more_episodes_to_the_task_that_lacks_them(tmp_path: Path):
    config = config_from_text(CELL, name="cell.yaml", folder=Path()).with_tasks(["pick_and_place", "press_button"])
    config = replace(config, dataset=replace(config.dataset, shard_episodes=2))
    generate(config, tmp_path / "both", episodes=64, workers=1)
    drawn = drawn_episodes([tmp_path / "both"])
    counts = {name: int(drawn.accepted[drawn.task_names == name].sum()) for name in config.scene.tasks}
    assert counts["pick_and_place"] < counts["press_button"]
    filled = filled_config([tmp_path / "both"], episodes=32)
    assert filled.fill is None
    assert filled.scene.tasks["pick_and_place"] > filled.scene.tasks["press_button"]
    assert config_from_text(filled.to_yaml(), name="config.yaml", folder=Path()).digest == filled.digest
