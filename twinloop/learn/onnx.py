"""ONNX: a policy as one file that runs without torch, and only if it computes what torch computes.

The graph is all of it: normalisation, rotations, bytes of pictures to numbers, the network, and back to the units of
the action. Inputs are named like the features, plus `real` and `noise`; any number of situations at once. Pictures go
in as bytes at the policy's own size. What a reader must know beside the graph is in the file's metadata.
"""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from twinloop.durable import replace_file, storage_errors
from twinloop.errors import CheckpointError, UsageError
from twinloop.learn.onnx_runtime import FORMAT_VERSION, METADATA, session_of
from twinloop.learn.policy import Policy, VectorInputs, picture_tensor
from twinloop.learn.space import Space

if TYPE_CHECKING:
    from onnx import ModelProto

TOLERANCE = 1e-4
"""In units of the action: a ten-thousandth of a radian, a tenth of a millimetre. Sums in another order differ by a
hundredth of that."""

SAMPLES = 256


@dataclass(frozen=True)
class OnnxParity:
    """How far ONNX Runtime and torch were apart on made-up situations like those of the data."""

    path: Path
    card_digest: str
    bytes: int
    samples: int
    max_abs_difference: float
    tolerance: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"path": str(self.path)}


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
    """Write the policy to `path`; refused, with nothing written, where the two differ by more than `tolerance`.

    knows_real: whether it was shown anything that a robot recorded.
    """
    policy.eval()
    content = _graph(policy, space, card_digest, knows_real).SerializeToString(deterministic=True)
    difference = _difference(policy, space, content, seed=seed)
    # Also where it is NaN.
    if not difference <= tolerance:
        raise CheckpointError(
            f"{path}: was not written: ONNX Runtime and torch differ by {difference:.3g} in an action of {SAMPLES} "
            f"situations; {tolerance:g} at most was expected"
        )
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content, scratch=path.parent)
    return OnnxParity(path, card_digest, len(content), SAMPLES, difference, tolerance)


class _Whole(nn.Module):
    """A policy whose inputs have an order, as those of a graph do."""

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
    made = examples(policy, space, 2, seed=0)
    count = torch.export.Dim("n", min=1, max=1 << 16)
    with _quiet():
        # In two steps: in one, a number of situations that cannot be left open would be fixed without a word.
        traced = torch.export.export(
            _Whole(policy, space), tuple(made.values()), dynamic_shapes=(tuple({0: count} for _ in made),), strict=False
        )
        program = torch.onnx.export(
            traced, dynamo=True, input_names=list(made), output_names=["actions"], optimize=True, verbose=False
        )
    if program is None:
        raise CheckpointError(f"{policy.name}: torch exported nothing")
    model = cast("ModelProto", program.model_proto)
    # Where each node came from: lines of source and folders of this machine, of no use to a reader.
    for node in (*model.graph.node, *(node for function in model.functions for node in function.node)):
        del node.metadata_props[:]
        node.ClearField("doc_string")
    del model.graph.metadata_props[:]
    del model.metadata_props[:]
    facts = {
        "format_version": FORMAT_VERSION,
        "card_digest": card_digest,
        "policy": policy.name,
        "horizon": policy.horizon,
        "executed": policy.executed,
        "image_size": policy.image_size,
        "space": space.to_json(),
        "knows_real": knows_real,
    }
    model.metadata_props.add(key=METADATA, value=json.dumps(facts, sort_keys=True))
    return model


def examples(policy: Policy, space: Space, count: int, *, seed: int) -> dict[str, Tensor]:
    """Every input of the graph, in its order, made up: vectors like those of the data, pictures of any pixels."""
    generator = torch.Generator().manual_seed(seed)
    vectors: dict[str, Tensor] = {}
    for module in policy.modules():
        if isinstance(module, VectorInputs):
            vectors |= module.examples(count, generator=generator)
    picture = (count, policy.image_size, policy.image_size, 3)
    inputs = {
        feature.name: torch.randint(0, 256, picture, generator=generator, dtype=torch.uint8)
        if feature.is_picture
        else vectors[feature.name]
        for feature in space.inputs
    }
    real = torch.randint(0, 2, (count,), generator=generator).float()
    noise = torch.randn(count, policy.horizon, space.action.shape[0], generator=generator)
    return inputs | {"real": real, "noise": noise}


def _difference(policy: Policy, space: Space, content: bytes, *, seed: int) -> float:
    """The largest, over a batch and over situations one at a time: both are how it is asked."""
    session, whole = session_of(content, threads=1), _Whole(policy, space)
    situations = examples(policy, space, SAMPLES, seed=seed)
    worst = 0.0
    for rows in (slice(0, SAMPLES), *(slice(row, row + 1) for row in range(16))):
        given = {name: values[rows] for name, values in situations.items()}
        with torch.inference_mode():
            wanted = whole(*given.values()).numpy()
        found = np.asarray(session.run(None, {name: values.numpy() for name, values in given.items()})[0])
        if found.shape != wanted.shape:
            raise CheckpointError(f"ONNX Runtime answers with shape {found.shape}, torch with {wanted.shape}")
        # maximum, not max: NaN stays NaN.
        worst = float(np.maximum(worst, np.abs(found - wanted).max()))
    return worst


def _need(*packages: str) -> None:
    for package in packages:
        try:
            __import__(package)
        except ImportError:
            raise UsageError(f"exporting needs {package}: pip install 'twinloop[learn]'") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter warns of its own old habits and of packages that policies do not use."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
