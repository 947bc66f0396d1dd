"""The backbone `keypoints`: finds labelled points, reads RGB, depth and masks, and survives a round trip to ONNX."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.learn.fork_and_spot import CAMERA, spotted
from twinloop.errors import CheckpointError, UsageError
from twinloop.learn.backbone_weights import load_backbone
from twinloop.learn.demonstrations import Demonstrations
from twinloop.learn.free_labels import FreeLabels
from twinloop.learn.frozen_features import use_frozen_features
from twinloop.learn.mixture import Mixture, split
from twinloop.learn.onnx import export_onnx
from twinloop.learn.optimise import Optimisation, TrainConfig
from twinloop.learn.pictures import open_pictures
from twinloop.learn.policies import POLICIES
from twinloop.learn.policies._backbone import Backbone
from twinloop.learn.policies._keypoints import _pixel_loss
from twinloop.learn.policies._vision import FEATURES, KeypointTokens
from twinloop.learn.policy import Policy, tensors_of
from twinloop.learn.scales import scales_of
from twinloop.learn.tensors import write_tensors
from twinloop.learn.training_job import TrainingJob, TrainingJobConfig
from twinloop.observe.instruction import INSTRUCTION, instruction_feature, instruction_vectors
from twinloop.observe.recording import Feature

HORIZON = 2
SMALL = {"width": 32, "heads": 2, "encoder_layers": 1, "image_size": 32, "colour": 0.0, "cutout": 0.0, "blur": 0.0}


@pytest.fixture(scope="module")
def spots(tmp_path_factory: pytest.TempPathFactory) -> Demonstrations:
    """A bright spot per picture. Its label is its place, in space and in the picture."""
    pytest.importorskip("av", reason="needs twinloop[video]")
    part = spotted(tmp_path_factory.mktemp("data") / "spots")
    v, u = part.action.T
    poses = np.stack([u, v, 0 * u, 1 + 0 * u, 0 * u], axis=1)[:, None].astype(np.float32)
    pixels = np.stack([(u + 1) / 2, (v + 1) / 2], axis=1)[:, None].repeat(2, axis=1)
    pixels[:, 1] = np.nan  # no tool
    return replace(part, labels=FreeLabels(("spot",), poses, {CAMERA: pixels.astype(np.float32)}))


def policy_for(part: Demonstrations, **settings) -> Policy:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return POLICIES["act"](part.space, scales_of([part], [1.0], HORIZON), horizon=HORIZON, **SMALL | settings)


def sight_of(policy: Policy) -> KeypointTokens:
    sight = getattr(policy, "sight", None)
    assert isinstance(sight, KeypointTokens)
    return sight


def test_the_heatmap_loss_is_least_where_the_label_is():
    pixel = torch.tensor([[[0.30, 0.55]]])
    losses = {}
    for u in range(8):
        for v in range(8):
            heat = torch.full((1, 1, 8, 8), -5.0)
            heat[0, 0, v, u] = 5.0
            losses[u, v] = float(_pixel_loss(heat, pixel))
    assert min(losses, key=lambda cell: losses[cell]) == (2, 4)
    assert float(_pixel_loss(torch.randn(1, 1, 8, 8), torch.full((1, 1, 2), torch.nan))) == 0


def test_labels_improve_localisation_in_held_out_episodes(spots: Demonstrations, tmp_path: Path):
    learnt, held = split(spots, 0.2, seed=0)
    store = open_pictures([spots], 32, cache=tmp_path / "cache", workers=1)
    policy = policy_for(learnt, landmarks="spot", shift_px=2)
    config = TrainConfig(steps=90, batch=32, learning_rate=3e-3, look_every=90)
    optimisation = Optimisation(policy, config, seed=0)
    list(optimisation.run(Mixture([learnt], [1.0], store), None, bad_batch=tmp_path / "bad", on_step=lambda *_: None))
    (batch, *_) = Mixture([held], [1.0], store).sweep(64, HORIZON, most=64, seed=0)
    tensors = tensors_of(batch)
    assert tensors.labels is not None
    sight, encoder = sight_of(policy.eval()), sight_of(policy).encoder
    with optimisation.averaged(), torch.inference_mode():
        seen = encoder(tensors.inputs, sight.vectors(tensors.inputs, tensors.real))
        away = encoder.pose_errors(seen.located, tensors.labels.poses)["spot"]
    # The spots are spread over 1.6 m in both directions; guessing their mean is 0.6 m off.
    assert away < 0.15


def test_the_encoder_reads_depth_and_masks_and_onnx_computes_the_same(spots: Demonstrations, tmp_path: Path):
    depth = Feature(f"{CAMERA}_depth", "depth", (40, 56, 1), (), "m")
    mask = Feature(f"{CAMERA}_classes", "mask", (40, 56, 1), ("background", "robot", "spot"))
    space = replace(spots.space, inputs=(*spots.space.inputs, depth, mask))
    part = replace(spots, space=space)
    policy = policy_for(part, landmarks="spot").eval()
    (backbone,) = (module for module in policy.modules() if isinstance(module, Backbone))
    assert backbone.enter.in_channels == 3 + 1 + 3
    parity = export_onnx(policy, space, tmp_path / "policy.onnx", card_digest="0" * 64, seed=0)
    assert parity.max_abs_difference <= parity.tolerance


def test_a_backbone_starts_from_another_checkpoint(spots: Demonstrations, tmp_path: Path):
    first, second = policy_for(spots, landmarks="spot"), policy_for(spots)
    with torch.no_grad():
        for value in first.parameters():
            value.add_(1.0)
    file = tmp_path / "backbone.safetensors"
    write_tensors(file, {name.removeprefix("sight."): value for name, value in first.state_dict().items()})
    copied = load_backbone(second, file)
    assert any(name.startswith("sight.encoder.backbones.0.") for name in copied)
    for name in copied:
        assert torch.equal(second.state_dict()[name], first.state_dict()[name])
    write_tensors(file, {"layer1.weight": torch.zeros(2, 2)})
    with pytest.raises(CheckpointError, match="has no vision backbone that fits"):
        load_backbone(second, file)
    blind = replace(spots, space=replace(spots.space, inputs=spots.space.vectors))
    with pytest.raises(UsageError, match="reads no images"):
        load_backbone(policy_for(blind), file)


def test_features_of_a_frozen_encoder_stand_for_the_images(spots: Demonstrations, tmp_path: Path):
    store = open_pictures([spots], 32, cache=tmp_path / "cache", workers=1)
    policy, mixture = policy_for(spots, landmarks="spot").eval(), Mixture([spots], [1.0], store)
    frames = [np.array([7, 0, spots.frames - 1, 100])]
    job = TrainingJob(
        TrainingJobConfig((), train=TrainConfig(frozen=("sight.encoder",))), (spots,), (1.0,), mixture, None
    )
    generator = torch.Generator().manual_seed(0)
    seen = policy.loss(tensors_of(mixture.gather(frames, HORIZON)), generator=generator)
    assert use_frozen_features(job, policy)
    batch = mixture.gather(frames, HORIZON)
    assert CAMERA not in batch.inputs
    torch.testing.assert_close(policy.loss(tensors_of(batch), generator=generator), seen)
    trained = TrainingJob(TrainingJobConfig(()), (spots,), (1.0,), mixture, None)
    assert not use_frozen_features(trained, policy)


def test_tokens_of_landmarks_contain_the_instruction(spots: Demonstrations):
    spoken = instruction_vectors(["point at the spot", "look away"])
    part = replace(
        spots,
        space=replace(spots.space, inputs=(*spots.space.inputs, instruction_feature())),
        vectors={**spots.vectors, INSTRUCTION: spoken[np.arange(spots.frames) % 2]},
    )
    sight = sight_of(policy_for(part, landmarks="spot").eval())
    width = len(sight.views) * sight.encoder.width + 6
    inputs = {
        FEATURES: torch.zeros(2, width), INSTRUCTION: torch.from_numpy(spoken),
        "observation.state": torch.zeros(2, 2),
    }  # fmt: skip
    with torch.inference_mode():
        first, second = sight(inputs, torch.zeros(2))[0]
    views = len(sight.views)
    assert torch.equal(first[:views], second[:views])
    assert not torch.allclose(first[views:], second[views:])
