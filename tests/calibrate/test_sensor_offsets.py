"""Constant errors of sensors are found in demonstrations of somebody who sees the scene."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.calibrate.sensor_offsets import SensorOffsets, sensor_offsets
from twinloop.pipeline.generate import generate
from twinloop.randomize.distribution import Constant, Distribution
from twinloop.run.config import RunConfig
from twinloop.run.default import embedded_config

WRONG = {"tracker_bias_mm.x": 6.0, "tracker_bias_mm.y": -4.0, "encoder_offset_mrad.joint2": 8.0}
NOISE = {"tracker_noise_mm": 3.0}
DELAYS = {"action_delay_ms": 80.0, "tracker_delay_ms": 80.0}


def with_errors(config: RunConfig, **errors: float) -> RunConfig:
    rows: dict[str, Distribution] = {name: Constant(value) for name, value in errors.items()}
    return replace(config, randomization={**config.randomization, **rows})


@pytest.fixture(scope="module", params=[{}, DELAYS], ids=["prompt", "delayed"])
def demonstrations(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The expert of `generate` sees the scene itself; the recorded readings have the errors."""
    folder = tmp_path_factory.mktemp("offsets") / "demonstrations"
    generate(with_errors(embedded_config(), **WRONG, **NOISE, **request.param), folder, episodes=24, workers=1)
    return folder


def test_offsets_are_found(demonstrations: Path):
    offsets = sensor_offsets(embedded_config(), [demonstrations], seed=3)
    assert offsets is not None
    np.testing.assert_allclose(offsets.tracker_mm, [6.0, -4.0], atol=1.2)
    assert (offsets.tracker_std_mm > 0.9).all()
    assert offsets.encoder_mrad["joint2"] == pytest.approx(8.0, abs=1.0)
    assert max(abs(mrad) for joint, mrad in offsets.encoder_mrad.items() if joint != "joint2") < 2.0


def test_where_a_thing_ends_narrows_the_offset_of_the_tracker(tmp_path: Path):
    """A peg in a hole is in its middle; a thing on a wide zone may be anywhere there."""
    config = embedded_config().with_task("peg_insertion")
    generate(with_errors(config, **WRONG, **NOISE), tmp_path / "inserted", episodes=12, workers=1)
    offsets = sensor_offsets(config, [tmp_path / "inserted"], seed=3)
    assert offsets is not None
    np.testing.assert_allclose(offsets.tracker_mm, [6.0, -4.0], atol=0.9)
    assert (offsets.tracker_std_mm < 0.8).all()


def test_too_few_grasps_tell_nothing(tmp_path: Path):
    assert sensor_offsets(embedded_config(), [], seed=0) is None
    generate(embedded_config(), tmp_path / "few", episodes=3, workers=1)
    assert sensor_offsets(embedded_config(), [tmp_path / "few"], seed=0) is None


def test_a_task_without_a_grasp_tells_nothing(tmp_path: Path):
    config = embedded_config().with_task("press_button")
    generate(config, tmp_path / "pressed", episodes=6, workers=1)
    assert sensor_offsets(config, [tmp_path / "pressed"], seed=0) is None


def test_samples_are_columns_of_the_draws(rng: np.random.Generator):
    offsets = SensorOffsets(np.array([6.0, -4.0]), np.array([1.0, 1.0]), {"joint2": 8.0})
    samples = offsets.samples(1000, rng)
    assert set(samples) == set(WRONG)
    assert samples["tracker_bias_mm.x"].mean() == pytest.approx(6.0, abs=0.2)
    assert samples["tracker_bias_mm.y"].std() == pytest.approx(1.0, abs=0.1)
    assert (samples["encoder_offset_mrad.joint2"] == 8.0).all()
