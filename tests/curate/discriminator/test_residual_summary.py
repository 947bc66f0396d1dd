"""Summaries of residuals: the same for some episodes at a time, and peaks in units of an episode's own noise."""

import numpy as np
import pytest

from twinloop.curate.discriminator import residual_summary
from twinloop.curate.discriminator.feature_model import _tables
from twinloop.curate.discriminator.frame_residuals import FrameResiduals, frame_residuals
from twinloop.curate.discriminator.posture_support import PostureSupport
from twinloop.curate.discriminator.residual_summary import ResidualSummary, summary_of
from twinloop.curate.discriminator.single_channels import fit_ranges
from twinloop.curate.discriminator.trajectories import STATE, Trajectories, TrajectorySchema

LENGTHS = np.array([60, 60, 9, 31])
NOISE = np.repeat([1.0, 10.0, 1.0, 1.0], LENGTHS)


@pytest.fixture
def episodes() -> Trajectories:
    rng = np.random.default_rng(0)
    same = rng.normal(size=(60, 2))
    values = np.concatenate([same, same, rng.normal(size=(40, 2))]) * NOISE[:, None]
    schema = TrajectorySchema("nobody", 25.0, {STATE: ("joint1", "joint2")})
    return Trajectories(schema, np.arange(4), LENGTHS, {STATE: values}, np.ones(4), ("pick",) * 4)


def summarised(episodes: Trajectories) -> tuple[FrameResiduals, ResidualSummary]:
    residuals = frame_residuals(episodes, (), fit_ranges(episodes), None, None, {})
    sizes = {aspect: np.ones((3, place.stop - place.start)) for aspect, place in residuals.columns.items()}
    return residuals, summary_of(episodes, residuals, sizes, PostureSupport({}, {}))


def test_a_summary_does_not_depend_on_the_episodes_that_are_computed_together(episodes, monkeypatch):
    _, whole = summarised(episodes)
    monkeypatch.setattr(residual_summary, "CHUNK_FRAMES", 1)
    _, single = summarised(episodes)
    for name in ("peak", "level", "offset", "frames"):
        np.testing.assert_array_equal(getattr(single, name), getattr(whole, name))
    assert whole.peak[1].max() == pytest.approx(whole.frames[60:120].max())


def test_a_burst_is_relative_to_the_noise_of_the_episode(episodes):
    tables = _tables(episodes, *summarised(episodes))
    peak, burst = (tables[f"jump:{STATE}|{part}"][0] for part in ("peak", "burst"))
    np.testing.assert_allclose(peak[1] - peak[0], np.log(10), atol=0.05)
    np.testing.assert_allclose(burst[1], burst[0], atol=0.05)
    values = episodes.signals[STATE].copy()
    values[30, 0] += 20.0
    with_spike = Trajectories(episodes.schema, episodes.attempts, LENGTHS, {STATE: values}, np.ones(4), ("pick",) * 4)
    assert _tables(with_spike, *summarised(with_spike))[f"jump:{STATE}|burst"][0][0, 0] > burst[0, 0] + 1
