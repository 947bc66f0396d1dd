"""Batches: their content, the shares of datasets, and determinism."""

from dataclasses import replace

import numpy as np
import pytest

from tests.learn.demonstrated import FEATURES, reaching
from twinloop.errors import CorruptError, DatasetError, UsageError
from twinloop.learn.demonstrations import DataSource, load_demonstrations
from twinloop.learn.mixture import Mixture, split, weights_of
from twinloop.learn.space import DEFAULT_INPUTS


@pytest.fixture(scope="module")
def demonstrations(reached):
    return load_demonstrations(reached, DEFAULT_INPUTS)


def test_chunks_are_the_actions_that_followed_and_never_the_next_episode(demonstrations):
    frames = np.arange(demonstrations.frames)
    chunks = demonstrations.chunks(frames, 8)
    for frame in frames:
        end = demonstrations.last_frame[frame]
        rows = np.minimum(np.arange(frame, frame + 8), end)
        np.testing.assert_array_equal(chunks[frame], demonstrations.action[rows])


def test_a_batch_is_a_function_of_seed_and_step(demonstrations):
    mixture = Mixture([demonstrations], [1.0])
    again, other = (mixture.batch(32, 4, seed=1, step=step) for step in (5, 6))
    first = mixture.batch(32, 4, seed=1, step=5)
    np.testing.assert_array_equal(first.actions, again.actions)
    assert not np.array_equal(first.actions, other.actions)


def test_a_batch_pairs_observations_with_their_own_actions(demonstrations):
    batch = Mixture([demonstrations], [1.0]).batch(64, 1, seed=0, step=0)
    state, goal = batch.inputs["observation.state"], batch.inputs["observation.environment_state"][:, :2]
    np.testing.assert_allclose(batch.actions[:, 0], state + 0.3 * (goal - state), atol=1e-5)


def test_batches_have_the_requested_shares(demonstrations, tmp_path):
    real = load_demonstrations(reaching(tmp_path / "real", episodes=4, source="real"), DEFAULT_INPUTS)
    mixture = Mixture([demonstrations, real], weights_of([demonstrations.source, real.source], "sim=0.8,real=0.2"))
    share = np.mean([mixture.batch(500, 1, seed=0, step=step).real.mean() for step in range(20)])
    assert share == pytest.approx(0.2, abs=0.02)


def test_weights():
    sources = [
        DataSource(path, path, kind, "", "", 0, 1, frames)
        for path, kind, frames in (("a", "sim", 300), ("b", "sim", 100), ("c", "real", 100))
    ]
    assert weights_of(sources, None) == pytest.approx([0.6, 0.2, 0.2])
    assert weights_of(sources, "sim=0.8,real=0.2") == pytest.approx([0.6, 0.2, 0.2])
    assert weights_of(sources, "a=1,b=1,c=2") == pytest.approx([0.25, 0.25, 0.5])
    for wrong in ("sim=0.8", "sim=0.8,rael=0.2", "sim=0,real=0", "sim=-1,real=1", "sim,real", "a=1,b=nan,c=1"):
        with pytest.raises(UsageError, match="--mix"):
            weights_of(sources, wrong)


def test_whole_episodes_are_held_out_and_the_split_is_stable(reached):
    some, all_ = (load_demonstrations(reached, DEFAULT_INPUTS, most=most) for most in (12, None))
    learnt, held = split(all_, 0.3, seed=0)
    assert sorted([*learnt.attempts, *held.attempts]) == sorted(all_.attempts)
    assert 0 < len(held.attempts) < len(all_.attempts)
    _, held_of_some = split(some, 0.3, seed=0)
    assert set(held_of_some.attempts) >= set(held.attempts) & set(some.attempts)


def test_resampling_keeps_the_motion(reached):
    at_50, at_25 = (load_demonstrations(reached, DEFAULT_INPUTS, rate_hz=rate) for rate in (None, 25.0))
    assert at_25.space.rate_hz == 25
    for one in range(len(at_50.lengths)):
        full = at_50.vectors["observation.state"][at_50.starts[one] :][: at_50.lengths[one]]
        half = at_25.vectors["observation.state"][at_25.starts[one] :][: at_25.lengths[one]]
        np.testing.assert_allclose(half, full[::2][: len(half)], atol=1e-6)
    faster = load_demonstrations(reached, DEFAULT_INPUTS, rate_hz=80.0)
    quaternions = faster.vectors["observation.environment_state"][:, 3:7]
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1, atol=1e-5)


def test_datasets_that_do_not_fit_are_refused_with_a_table(demonstrations, tmp_path):
    swapped = tuple(
        replace(feature, names=("elbow", "shoulder")) if feature.name == "action" else feature for feature in FEATURES
    )
    other = load_demonstrations(reaching(tmp_path / "other", episodes=2, features=swapped), DEFAULT_INPUTS)
    with pytest.raises(DatasetError, match=r"action: elements +shoulder, elbow +elbow, shoulder"):
        Mixture([demonstrations, other], [0.5, 0.5])


def test_another_rate_comes_with_the_offer_to_resample(demonstrations, tmp_path):
    other = load_demonstrations(reaching(tmp_path / "other", episodes=2, fps=30), DEFAULT_INPUTS)
    with pytest.raises(DatasetError, match="--rate 30"):
        Mixture([demonstrations, other], [0.5, 0.5])


def test_damaged_data_is_refused(tmp_path):
    path = reaching(tmp_path / "reach", episodes=8)
    file = next(path.glob("shards/*/frames.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)
    with pytest.raises(CorruptError, match=r"frames\.parquet"):
        load_demonstrations(path, DEFAULT_INPUTS)
