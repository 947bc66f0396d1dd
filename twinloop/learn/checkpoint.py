"""Checkpoint: a trained policy on disk: a folder with the weights and the card that describes them.

The card refers to the weights by digest. A new checkpoint therefore replaces an old one atomically, when its card is
replaced: after a kill, the folder holds either the old checkpoint or the new one.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from twinloop.durable import FileDigest, digest_file, replace_file, storage_errors
from twinloop.errors import CheckpointError, UsageError, nearest
from twinloop.learn.card import CARD, Card, read_card
from twinloop.learn.policies import POLICIES
from twinloop.learn.policies._vision import names_in
from twinloop.learn.policy import Policy
from twinloop.learn.scales import blank_scales
from twinloop.learn.tensors import read_tensors, to_bytes
from twinloop.learn.torch_runtime import TorchRuntime

MAX_SETTING = 4096
MAX_LAYERS = 64
LAYERS = ("depth", "encoder_layers", "decoder_layers")
MAX_ELEMENTS = 1 << 16
"""Limit on the elements of an observation or action chunk, since the network is built before the file is compared."""


@dataclass(frozen=True)
class Checkpoint:
    """A trained policy, loaded from a folder.

    Attributes:
        path: the folder.
        card: what the policy is: its kind, inputs, action, training data, settings and metrics.
        policy: the network, with its weights.

    Example:
        >>> checkpoint = tl.Checkpoint.load("policies/demo")
        >>> checkpoint.card.space.robot
        'franka_panda'
    """

    path: Path
    card: Card
    policy: Policy

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Checkpoint":
        """Read and check the checkpoint in a folder that `train` or `finetune` wrote."""
        return load(Path(path))


def load(path: Path) -> Checkpoint:
    """Read and check a checkpoint. No code from it is executed: the file holds only numbers."""
    card = read_card(path)
    file = path / card.file
    # Built without memory first, so that memory is allocated only after the file matches the card.
    with torch.device("meta"):
        claimed = build(path / CARD, card).state_dict()
    tensors, _ = read_tensors(file, claimed)
    with storage_errors(file):
        digest = digest_file(file).sha256
    if digest != card.weights.sha256:
        raise CheckpointError(f"{file}: does not match its card (sha256 {digest[:12]}...)")
    policy = build(path / CARD, card)
    policy.load_state_dict(tensors)
    return Checkpoint(path, card, policy.eval())


def save(folder: Path, policy: Policy, card: Callable[[str, FileDigest], Card]) -> Card:
    """Save a policy in `folder` and replace any checkpoint there. card: makes the card from file name and digest."""
    content = to_bytes(policy.state_dict())
    digest = FileDigest(hashlib.sha256(content).hexdigest(), len(content))
    file = f"policy-{digest.sha256[:12]}.safetensors"
    written = card(file, digest)
    with storage_errors(folder):
        replace_file(folder / file, content, scratch=folder)
        written.write(folder)
        for other in folder.glob("policy-*.safetensors"):
            if other.name != file:
                other.unlink()
    return written


def build(where: Path, card: Card) -> Policy:
    """Return the network that a card describes, before its weights are loaded."""
    kind = POLICIES.get(card.policy)
    if kind is None:
        raise CheckpointError(f"{where}: policy: {card.policy!r} is unknown; {nearest(str(card.policy), POLICIES)}")
    for name, value in card.settings.items():
        largest = MAX_LAYERS if name in LAYERS else MAX_SETTING
        if isinstance(value, int) and not 0 <= value <= largest:
            raise CheckpointError(
                f"{where}: settings.{name}: {value} was given; a number from 0 to {largest} was expected"
            )
    horizon = card.settings.get("horizon", 0)
    sizes = {feature.name: feature.shape for feature in (*card.space.inputs, card.space.action)}
    claimed = sum(math.prod(feature.shape) for feature in card.space.vectors)
    claimed = max(claimed, math.prod(card.space.action.shape) * (horizon if isinstance(horizon, int) else 0))
    if claimed > MAX_ELEMENTS or any(side < 1 for shape in sizes.values() for side in shape):
        shapes = ", ".join(f"{name} {list(shape)}" for name, shape in sizes.items())
        raise CheckpointError(f"{where}: space: {shapes:.200} was given; the maximum is {MAX_ELEMENTS:,} elements")
    try:
        settings = _current(kind, card.settings)
        marked, joints = (len(names_in(str(settings.get(name, "")))) for name in ("landmarks", "tool_joints"))
        scales = blank_scales(card.space, int(settings["horizon"]), marked, joints)
        return kind(card.space, scales, **settings)
    except (TypeError, KeyError, ValueError, RuntimeError, AttributeError) as error:
        raise CheckpointError(f"{where}: settings: invalid for policy {card.policy}: {error}") from None


def with_settings(checkpoint: Checkpoint, settings: Mapping[str, Any]) -> Checkpoint:
    """Return the checkpoint with other settings of its policy. They must not change the shape of the network.

    The card stays that of the checkpoint.
    """
    card = replace(checkpoint.card, settings={**checkpoint.card.settings, **settings})
    policy = build(checkpoint.path, card)
    try:
        policy.load_state_dict(checkpoint.policy.state_dict())
    except RuntimeError:
        given = ", ".join(f"{name}={value}" for name, value in settings.items())
        raise UsageError(
            f"{checkpoint.path}: {given} changes the shape of the network; train a new policy with `twinloop train`"
        ) from None
    return replace(checkpoint, policy=policy.eval())


def _current(kind: type[Policy], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a card. Cards from before there was a choice of backbones have `grid`."""
    return {"backbone": "grid", **settings} if "backbone" in kind.default_settings() else settings


def load_runtime(path: Path) -> TorchRuntime:
    checkpoint = load(path)
    return TorchRuntime(checkpoint.card.space, checkpoint.policy)
