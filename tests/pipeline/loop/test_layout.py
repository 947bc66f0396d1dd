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
