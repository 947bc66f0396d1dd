"""Laws that all policies satisfy, and tests of each kind."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.learn.fork_and_spot import CAMERA, forked, spotted
from twinloop.learn.augment import shifted
from twinloop.learn.demonstrations import Demonstrations, load_demonstrations
from twinloop.learn.mixture import Mixture, split
from twinloop.learn.optimise import Optimisation, TrainConfig
from twinloop.learn.pictures import open_pictures
from twinloop.learn.policies import POLICIES
from twinloop.learn.policy import Policy, tensors_of
from twinloop.learn.scales import UNSCALED, scales_of
from twinloop.learn.space import DEFAULT_INPUTS
from twinloop.observe.recording import Feature

PLAIN = {"image_size": 32, "shift_px": 1, "colour": 0.0, "cutout": 0.0, "blur": 0.0}
SMALL = {
    "mlp": {"width": 48, "depth": 2},
    "act": {
        "width": 32,
        "heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "image_size": 32,
        "shift_px": 1,
        **PLAIN,
    },
    "flow": {"width": 64, "depth": 2, "steps": 6, **PLAIN},
}
HORIZON = 4


def small(kind: str, demonstrations: Demonstrations) -> Policy:
    scales = scales_of([demonstrations], [1.0], HORIZON)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return POLICIES[kind](demonstrations.space, scales, horizon=HORIZON, executed=2, **SMALL[kind])


def taught(policy: Policy, mixture: Mixture, held_out: Mixture | None, tmp_path: Path, **changes):
    config = replace(TrainConfig(steps=300, batch=64, learning_rate=3e-3, look_every=100), **changes)
    optimisation = Optimisation(policy, config, seed=0)
    looks = list(optimisation.run(mixture, held_out, bad_batch=tmp_path / "bad", on_step=lambda *_: None))
    with torch.no_grad():
        for parameter, average in zip(optimisation._trained, optimisation._average, strict=True):
            parameter.copy_(average)
    policy.eval()
    return looks


@pytest.fixture(scope="module")
def demonstrations(reached: Path) -> Demonstrations:
    return load_demonstrations(reached, DEFAULT_INPUTS)


@pytest.fixture(scope="module")
def spots(tmp_path_factory: pytest.TempPathFactory) -> Demonstrations:
    pytest.importorskip("av", reason="needs twinloop[video]")
    return spotted(tmp_path_factory.mktemp("data") / "spots")


def noise_of(count: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, HORIZON, 2, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("kind", SMALL)
def test_other_scales_change_no_action(kind: str, demonstrations: Demonstrations):
    """A value that was constant and varies in new data is scaled; the policy acts as before."""
    policy, goal = small(kind, demonstrations).eval(), "observation.environment_state"
    frames = np.random.default_rng(0).standard_normal((demonstrations.frames, 1))
    moved = demonstrations.vectors[goal] + np.array([2, 0, 0.02, 0, 0, 0, 0]) * frames
    other = replace(demonstrations, vectors={**demonstrations.vectors, goal: moved.astype(np.float32)})
    vectors = policy.readers()[-1][0]
    place = vectors.names.index(goal)
    assert vectors.get_buffer(f"std{place}")[2] == UNSCALED
    inputs = {name: torch.tensor(values[:32]) for name, values in other.vectors.items()}
    real, noise = torch.arange(32) % 2, torch.randn(32, HORIZON, 2, generator=torch.Generator().manual_seed(1))
    before = policy(inputs, real.float(), noise)
    policy.rescale(scales_of([other], [1.0], HORIZON))
    assert vectors.get_buffer(f"std{place}")[2] == pytest.approx(0.02, rel=0.1)
    torch.testing.assert_close(policy(inputs, real.float(), noise), before, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", POLICIES)
def test_settings_rebuild_a_policy_also_without_memory(kind: str, demonstrations: Demonstrations):
    policy = small(kind, demonstrations)
    assert set(policy.settings()) == set(policy.default_settings())
    with torch.device("meta"):
        again = type(policy)(demonstrations.space, scales_of([demonstrations], [1.0], HORIZON), **policy.settings())
    shapes = {name: value.shape for name, value in policy.state_dict().items()}
    assert {name: value.shape for name, value in again.state_dict().items()} == shapes
    assert all(value.is_meta for value in again.state_dict().values())


@pytest.mark.parametrize("kind", POLICIES)
def test_a_policy_uses_only_the_given_generator(kind: str, demonstrations: Demonstrations):
    policy = small(kind, demonstrations)
    batch = tensors_of(Mixture([demonstrations], [1.0]).batch(16, HORIZON, seed=0, step=0))
    before = torch.get_rng_state()
    losses = [policy.loss(batch, generator=torch.Generator().manual_seed(3)).item() for _ in range(2)]
    assert losses[0] == losses[1]
    policy(batch.inputs, batch.real, noise_of(16))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", POLICIES)
def test_actions_do_not_depend_on_the_batch_or_on_quaternion_signs(kind: str, demonstrations: Demonstrations):
    policy = small(kind, demonstrations).eval()
    batch = tensors_of(Mixture([demonstrations], [1.0]).batch(9, HORIZON, seed=0, step=0))
    noise = noise_of(9)
    with torch.inference_mode():
        together = policy(batch.inputs, batch.real, noise)
        alone = policy({name: values[4:5] for name, values in batch.inputs.items()}, batch.real[4:5], noise[4:5])
        torch.testing.assert_close(alone, together[4:5], atol=1e-5, rtol=1e-5)
        turned = {name: values.clone() for name, values in batch.inputs.items()}
        turned["observation.environment_state"][:, 3:] *= -1
        torch.testing.assert_close(policy(turned, batch.real, noise), together)
        elsewhere = policy(batch.inputs, 1 - batch.real, noise)
    assert not torch.allclose(elsewhere, together)


@pytest.mark.parametrize("kind", ["act", "flow"])
def test_a_policy_learns_the_law_of_its_demonstrations(kind: str, demonstrations: Demonstrations, tmp_path: Path):
    learnt, held = split(demonstrations, 0.2, seed=0)
    policy = small(kind, learnt)
    taught(policy, Mixture([learnt], [1.0]), None, tmp_path, steps=400)
    (batch, *_) = Mixture([held], [1.0]).sweep(256, HORIZON, most=256, seed=0)
    tensors = tensors_of(batch)
    with torch.inference_mode():
        wrong = (policy(tensors.inputs, tensors.real, noise_of(len(batch.real))) - tensors.actions).abs().mean()
    motion = (tensors.actions - tensors.inputs["observation.state"][:, None]).abs().mean()
    assert wrong < 0.4 * motion


def test_flow_chooses_one_of_two_modes_where_mlp_averages(tmp_path: Path):
    fork = forked(tmp_path / "fork")
    batch = tensors_of(Mixture([fork], [1.0]).batch(256, HORIZON, seed=1, step=0))
    aside = {}
    for kind in ("mlp", "flow"):
        policy = small(kind, fork)
        taught(policy, Mixture([fork], [1.0]), None, tmp_path, steps=500)
        with torch.inference_mode():
            aside[kind] = [policy(batch.inputs, batch.real, noise_of(256, seed))[:, :, 1].numpy() for seed in (0, 0, 1)]
    # The same noise, the same chunk; another, for some the other way.
    first, again, other = aside["flow"]
    np.testing.assert_array_equal(first, again)
    assert 0.2 < np.mean(np.sign(first[:, 0]) != np.sign(other[:, 0])) < 0.8
    # Both modes occur equally often, and a chunk stays in one mode.
    assert np.mean(np.abs(np.abs(first) - 1) < 0.35) > 0.85
    assert 0.3 < np.mean(first > 0) < 0.7
    assert np.mean(np.ptp(np.sign(first), axis=1) == 0) > 0.9
    between, same, _ = aside["mlp"]
    np.testing.assert_array_equal(between, same)
    assert np.mean(np.abs(np.abs(between) - 1) < 0.35) < 0.6


@pytest.mark.parametrize("kind", ["act", "flow"])
def test_a_policy_uses_images_in_held_out_episodes(kind: str, spots: Demonstrations, tmp_path: Path):
    learnt, held = split(spots, 0.2, seed=0)
    store = open_pictures([spots], 32, cache=tmp_path / "cache", workers=1)
    policy = small(kind, learnt)
    mixture, exam = Mixture([learnt], [1.0], store), Mixture([held], [1.0], store)
    looks = taught(policy, mixture, exam, tmp_path, steps=160, batch=32, look_every=40)
    assert looks[-1].held_out_loss < 0.5 * looks[0].held_out_loss
    (batch, *_) = exam.sweep(64, 1, most=64, seed=0)
    tensors = tensors_of(batch)
    with torch.inference_mode():
        output = policy(tensors.inputs, tensors.real, noise_of(len(batch.real)))[:, 0]
    assert (output - tensors.actions[:, 0]).abs().mean() < 0.2 * tensors.actions[:, 0].abs().mean()


def test_images_are_shifted_by_whole_pixels_only_in_training(spots: Demonstrations, tmp_path: Path):
    pictures = torch.arange(5 * 3 * 8 * 8).reshape(5, 3, 8, 8).float()
    moved = shifted(pictures, 2, generator=torch.Generator().manual_seed(0))
    places = set()
    for one, before in zip(moved, pictures, strict=True):
        inside = before[0] == one[0, 4, 4]
        assert inside.sum() == 1
        row, column = (int(place) - 4 for place in np.argwhere(inside.numpy())[0])
        places.add((row, column))
        assert max(abs(row), abs(column)) <= 2
        assert torch.equal(one[:, 2:6, 2:6], before[:, 2 + row : 6 + row, 2 + column : 6 + column])
    assert len(places) > 1
    store = open_pictures([spots], 32, cache=tmp_path, workers=1)
    batch = tensors_of(Mixture([spots], [1.0], store).batch(8, HORIZON, seed=0, step=0))
    policy = small("act", spots)
    losses = [policy.loss(batch, generator=torch.Generator().manual_seed(seed)).item() for seed in (0, 1)]
    assert losses[0] != losses[1]
    policy.eval()
    losses = [policy.loss(batch, generator=torch.Generator().manual_seed(seed)).item() for seed in (0, 1)]
    assert losses[0] == losses[1]


def test_a_policy_without_image_input_is_refused(demonstrations: Demonstrations):
    space, scales = demonstrations.space, scales_of([demonstrations], [1.0], HORIZON)
    seeing = replace(space, inputs=(*space.inputs, Feature(CAMERA, "video", (40, 56, 3))))
    with pytest.raises(ValueError, match="act or flow"):
        POLICIES["mlp"](seeing, scales, horizon=HORIZON)
    with pytest.raises(ValueError, match="image_size: 44"):
        POLICIES["act"](seeing, scales, horizon=HORIZON, image_size=44)
    measuring = replace(space, inputs=(*space.inputs, Feature("observation.images.far", "depth", (40, 56, 1))))
    with pytest.raises(ValueError, match=r"observation\.images\.far: the backbone `grid` reads RGB only"):
        POLICIES["flow"](measuring, scales, horizon=HORIZON, backbone="grid")
    with pytest.raises(ValueError, match="valid: keypoints, grid"):
        POLICIES["act"](seeing, scales, horizon=HORIZON, backbone="resnet")
