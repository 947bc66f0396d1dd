"""The config of a fitted twin: every episode has the values of one sample."""

from pathlib import Path

import numpy as np
import pytest

from tests.pipeline.loop.test_steps import ranged
from twinloop.calibrate.by_traits import FittedTwin
from twinloop.calibrate.fitted_twin import KERNEL, read_fitted, with_fitted
from twinloop.curate.rates import Rate
from twinloop.errors import CorruptError
from twinloop.run.config import config_from_text

ACTION, OBSERVATION, BIAS = "action_delay_ms", "observation_delay_ms", "tracker_bias_mm.x"


def test_values_of_a_sample_stay_together():
    delays = np.linspace(0.0, 100.0, 32)
    values = {ACTION: delays, OBSERVATION: 100.0 - delays, BIAS: np.full(32, 3.0)}
    config = with_fitted(ranged(1.0), FittedTwin(values, Rate(1, 2), Rate(1, 2), ("a runlog",)))
    again = config_from_text(config.to_yaml(), name="again.yaml", folder=Path())
    assert again.digest == config.digest
    draws = again.sampler().draw(0, 200).values
    total = draws[ACTION] + draws[OBSERVATION]
    assert np.abs(total - 100.0).max() <= 4 * KERNEL * 100.0 + 1e-6
    assert np.ptp(draws[ACTION]) > 80.0
    assert set(draws[BIAS]) == {3.0}
    assert np.ptp(draws["object_position_noise_cm.x"]) > 1.0  # other rows vary as before


def test_a_damaged_file_is_refused(tmp_path: Path):
    assert read_fitted(tmp_path / "fitted.json") is None
    (tmp_path / "fitted.json").write_text('{"values": {"action_delay_ms": ["x"]}, "gaps": []}')
    with pytest.raises(CorruptError, match="delete it"):
        read_fitted(tmp_path / "fitted.json")
