"""Weights of a vision backbone from another checkpoint, or from any safetensors file with the same tensors."""

from pathlib import Path

import torch

from twinloop.errors import CheckpointError, UsageError
from twinloop.learn.card import CARD, read_card
from twinloop.learn.policy import Policy
from twinloop.learn.tensors import read_tensors

PART = "sight."
"""Prefix of the vision part in the weights of a policy."""


def backbone_file(path: Path) -> Path:
    """Return the safetensors file of a checkpoint folder, or the file itself."""
    return path / read_card(path).file if (path / CARD).is_file() else path


def load_backbone(policy: Policy, path: Path) -> list[str]:
    """Copy the tensors of the vision part whose names and shapes agree, and return their names.

    A file may name the tensors with or without the prefix `sight.`. Tensors that depend on the data (cameras,
    landmarks, vectors) may differ; they keep their new values.

    Raises:
        UsageError: the policy reads no images.
        CheckpointError: the file has no backbone that fits.
    """
    ours = {name: value for name, value in policy.state_dict().items() if name.startswith(PART)}
    convolutions = [name for name, value in ours.items() if value.ndim == 4]
    if not convolutions:
        raise UsageError(f"--backbone {path}: the policy reads no images; name cameras in --inputs")
    file = backbone_file(path)
    tensors, _ = read_tensors(file)
    given = {name if name.startswith(PART) else PART + name: tensor for name, tensor in tensors.items()}
    fitting = [name for name, value in ours.items() if name in given and given[name].shape == value.shape]
    if not set(fitting) & set(convolutions):
        shapes = ", ".join(f"{name} {list(ours[name].shape)}" for name in convolutions[:3])
        raise CheckpointError(
            f"{file}: has no vision backbone that fits; tensors such as {shapes} were expected. It has "
            f"{', '.join(list(tensors)[:3])}, ..."
        )
    with torch.no_grad():
        for name in fitting:
            ours[name].copy_(given[name])
    return fitting
