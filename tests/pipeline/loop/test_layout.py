from dataclasses import replace
from pathlib import Path

import pytest

from twinloop.diagnose.layout import as_laid_out
from twinloop.pipeline.generate import generate
from twinloop.randomize.distribution import Constant, Uniform
from twinloop.run.config import RunConfig
from twinloop.run.default import embedded_config
from twinloop.twin.tasks import tasks


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of scenes that are laid out otherwise."""
    rows = {
        "object_position_noise_cm": Uniform(-5.0, 5.0),
        "object_yaw_deg": Uniform(-30.0, 30.0),
        "table_height_cm": Constant(0.6),
    }
    log = tmp_path_factory.mktemp("layout") / "log"
    generate(replace(embedded_config(), randomization=rows), log, episodes=24, workers=1)
    return log


def laid_out(log: Path, **rows) -> RunConfig:
    return as_laid_out(replace(embedded_config(), randomization=rows), log)


def test_scenes_are_laid_as_the_log_shows_them(elsewhere: Path):
    after = laid_out(elsewhere, object_position_noise_cm=Uniform(-2.0, 2.0)).randomization
    low, high = after["object_position_noise_cm"].support()
    assert -6.5 < low < -3.5
    assert 3.5 < high < 6.5
    low, high = after["object_yaw_deg"].support()
    assert -40 < low < -20
    assert 20 < high < 40
    low, high = after["table_height_cm"].support()
    assert (low, high) == pytest.approx((0.0, 0.6), abs=0.02)
    assert max(map(abs, after["target_position_noise_cm"].support())) < 0.1


def test_ranges_that_are_wide_enough_are_unchanged(elsewhere: Path):
    wide = Uniform(-9.0, 9.0)
    assert laid_out(elsewhere, object_position_noise_cm=wide).randomization["object_position_noise_cm"] == wide


def test_scenes_that_other_rows_lay_are_left_alone(elsewhere: Path):
    config = embedded_config()
    handing_over = replace(config, scene=replace(config.scene, task=tasks()["handover"]))
    assert as_laid_out(handing_over, elsewhere).digest == handing_over.digest


@pytest.mark.parametrize("task", ["peg_insertion", "stack"])
def test_things_and_fixtures_of_any_task_are_laid_as_the_log_shows_them(task: str, tmp_path: Path):
    scene = replace(embedded_config().scene, task=tasks()[task])
    log = tmp_path / "log"
    rows = {"object_position_noise_cm": Uniform(-3.0, 3.0), "object_yaw_deg": Uniform(-20.0, 20.0)}
    if task == "peg_insertion":
        rows["fixture_position_noise_cm"] = Uniform(-1.0, 1.0)
    generate(replace(embedded_config(), scene=scene, randomization=rows), log, episodes=12, workers=1)
    before = replace(embedded_config(), scene=scene, randomization={"object_position_noise_cm": Uniform(-0.5, 0.5)})
    after = as_laid_out(before, log).randomization
    for row, distribution in rows.items():
        low, high = after[row].support()
        (lowest, highest) = distribution.support()
        assert 1.3 * lowest < low < 0.4 * lowest
        assert 0.4 * highest < high < 1.3 * highest
    assert "target_position_noise_cm" not in after
