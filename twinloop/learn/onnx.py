"""ONNX export: writes a policy as one file that runs without torch, after a check that both compute the same actions.

The graph contains everything: normalisation, rotations, conversion of image bytes, the network, and the conversion to
the units of the action. Inputs are named like the features, plus `real` and `noise`; the batch size is dynamic. Images
are bytes at the policy's own size. Further facts about the policy are in the file's metadata.
"""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from twinloop.config.record import write_record
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import CheckpointError, UsageError
from twinloop.learn.onnx_runtime import METADATA, OnnxMetadata, session_of
from twinloop.learn.policy import Policy, VectorInputs, picture_tensor
from twinloop.learn.space import Space
from twinloop.observe.recording import Feature

if TYPE_CHECKING:
    from onnx import ModelProto

TOLERANCE = 1e-4
"""Largest accepted difference, in units of the action: 0.0001 rad or 0.1 mm. Another order of summation causes about a
hundredth of that."""

SAMPLES = 256


@dataclass(frozen=True)
class OnnxParity:
    """Difference between ONNX Runtime and torch on synthetic observations with the statistics of the data."""

    path: Path
    card_digest: str
    bytes: int
    samples: int
    max_abs_difference: float
    tolerance: float


def export_onnx(
    policy: Policy,
    space: Space,
    path: Path,
    *,
    card_digest: str,
    seed: int,
    knows_real: bool = False,
    tolerance: float = TOLERANCE,
) -> OnnxParity:
    """Write the policy to `path`.

    Args:
        knows_real: the policy was trained on real data.

    Raises:
        CheckpointError: ONNX Runtime and torch differ by more than `tolerance`; nothing is written then.
    """
    policy.eval()
    content = _graph(policy, space, card_digest, knows_real).SerializeToString(deterministic=True)
    difference = _difference(policy, space, content, seed=seed)
    # This form also rejects NaN.
    if not difference <= tolerance:
        raise CheckpointError(
            f"{path}: was not written: ONNX Runtime and torch differ by {difference:.3g} in an action ({SAMPLES} "
            f"inputs compared); the maximum is {tolerance:g}"
        )
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content, scratch=path.parent)
    return OnnxParity(path, card_digest, len(content), SAMPLES, difference, tolerance)


class _Whole(nn.Module):
    """A policy with positional inputs, as the export needs them."""

    def __init__(self, policy: Policy, space: Space):
        super().__init__()
        self.policy, self._features = policy, space.inputs

    def forward(self, *arrays: Tensor) -> Tensor:
        *observation, real, noise = arrays
        inputs = {
            feature.name: picture_tensor(values) if feature.is_picture else values
            for feature, values in zip(self._features, observation, strict=True)
        }
        return self.policy(inputs, real, noise)


def _graph(policy: Policy, space: Space, card_digest: str, knows_real: bool) -> "ModelProto":
    _need("onnx", "onnxscript")
    inputs = examples(policy, space, 2, seed=0)
    count = torch.export.Dim("n", min=1, max=1 << 16)
    with _quiet():
        # Two steps, because a single step would silently fix a batch size that cannot be dynamic.
        traced = torch.export.export(
            _Whole(policy, space),
            tuple(inputs.values()),
            dynamic_shapes=(tuple({0: count} for _ in inputs),),
            strict=False,
        )
        program = torch.onnx.export(
            traced, dynamo=True, input_names=list(inputs), output_names=["actions"], optimize=True, verbose=False
        )
    if program is None:
        raise CheckpointError(f"{policy.name}: torch exported nothing")
    model = cast("ModelProto", program.model_proto)
    # Remove the origin of each node: source lines and folders of this machine.
    for node in (*model.graph.node, *(node for function in model.functions for node in function.node)):
        del node.metadata_props[:]
        node.ClearField("doc_string")
    del model.graph.metadata_props[:]
    del model.metadata_props[:]
    metadata = OnnxMetadata(
        card_digest=card_digest,
        policy=policy.name,
        horizon=policy.horizon,
        executed=policy.executed,
        image_size=policy.image_size,
        space=space,
        knows_real=knows_real,
    )
    model.metadata_props.add(key=METADATA, value=json.dumps(write_record(metadata), sort_keys=True))
    return model


def examples(policy: Policy, space: Space, count: int, *, seed: int) -> dict[str, Tensor]:
    """Return synthetic inputs of the graph, in order: vectors with the statistics of the data, images of noise."""
    generator = torch.Generator().manual_seed(seed)
    vectors: dict[str, Tensor] = {}
    for module in policy.modules():
        if isinstance(module, VectorInputs):
            vectors |= module.examples(count, generator=generator)
    inputs = {
        feature.name: _image(feature, count, policy.image_size, generator=generator)
        if feature.is_picture
        else vectors[feature.name]
        for feature in space.inputs
    }
    real = torch.randint(0, 2, (count,), generator=generator).float()
    noise = torch.randn(count, policy.horizon, space.action.shape[0], generator=generator)
    return inputs | {"real": real, "noise": noise}


def _image(feature: Feature, count: int, side_px: int, *, generator: torch.Generator) -> Tensor:
    shape = (count, side_px, side_px, feature.shape[2])
    if feature.dtype == "depth":
        return 0.1 + 2 * torch.rand(shape, generator=generator)
    ids = len(feature.names) if feature.dtype == "mask" else 256
    return torch.randint(0, ids, shape, generator=generator, dtype=torch.uint8)


def _difference(policy: Policy, space: Space, content: bytes, *, seed: int) -> float:
    """Return the largest absolute difference over one batch and over single observations; both occur in use."""
    session, whole = session_of(content, threads=1), _Whole(policy, space)
    inputs = examples(policy, space, SAMPLES, seed=seed)
    worst = 0.0
    for rows in (slice(0, SAMPLES), *(slice(row, row + 1) for row in range(16))):
        given = {name: values[rows] for name, values in inputs.items()}
        with torch.inference_mode():
            expected = whole(*given.values()).numpy()
        actual = np.asarray(session.run(None, {name: values.numpy() for name, values in given.items()})[0])
        if actual.shape != expected.shape:
            raise CheckpointError(f"ONNX Runtime returns shape {actual.shape}, torch returns {expected.shape}")
        # np.maximum propagates NaN; max does not.
        worst = float(np.maximum(worst, np.abs(actual - expected).max()))
    return worst


def _need(*packages: str) -> None:
    for package in packages:
        try:
            __import__(package)
        except ImportError:
            raise UsageError(f"exporting needs {package}: pip install 'twinloop[learn]'") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's warnings about its own deprecated calls and about packages that policies do not use."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
