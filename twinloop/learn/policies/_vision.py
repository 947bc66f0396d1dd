"""Vision: the part of a policy that reads images, as tokens. `grid` or `keypoints`, by the setting `backbone`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from twinloop.learn.augment import AugmentConfig
from twinloop.learn.policies._image_encoder import ImageEncoder
from twinloop.learn.policies._keypoints import KeypointEncoder, Sighting, views_of
from twinloop.learn.policies._localiser import Located, with_errors
from twinloop.learn.policy import LabelTensors, VectorInputs
from twinloop.learn.scales import Scales
from twinloop.learn.space import Space
from twinloop.observe.instruction import INSTRUCTION

BACKBONES = ("keypoints", "grid")

FEATURES = "sight.features"
"""Input with the features of a frozen encoder, in place of images."""


class KeypointTokens(nn.Module):
    """Returns (n, tokens, width): one token per camera, and one per landmark with its predicted pose.

    A policy that reads the instruction has it in the tokens of the landmarks too: which of them matters depends on it,
    and attention alone learns such products slowly.
    """

    def __init__(
        self, space: Space, scales: Scales, *, width: int, image_size: int, landmarks: tuple[str, ...],
        tool_joints: tuple[str, ...], augment: AugmentConfig, auxiliary: float,
    ):  # fmt: skip
        super().__init__()
        self._auxiliary = auxiliary
        self.vectors = VectorInputs(replace(space, inputs=space.vectors), scales)
        self.encoder = KeypointEncoder(
            space, scales, landmarks=landmarks, tool_joints=tool_joints, vectors=self.vectors.width,
            image_size=image_size, augment=augment,
        )  # fmt: skip
        self.views = nn.ModuleList(_token(self.encoder.width, width) for _ in views_of(space))
        locate = self.encoder.locate
        spoken = tuple(feature for feature in space.vectors if feature.name == INSTRUCTION)
        self.spoken = VectorInputs(replace(space, inputs=spoken), scales) if spoken else None
        wide = 0 if self.spoken is None else self.spoken.width
        self.landmarks = nn.ModuleList(_token(locate.width + wide, width) for _ in landmarks if locate is not None)
        self.tokens = len(self.views) + len(landmarks)

    def forward(
        self, inputs: Mapping[str, Tensor], real: Tensor, labels: LabelTensors | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Return the tokens and the auxiliary loss, which is None without labels.

        Inputs may have the features of a frozen encoder (`features`) in place of images.
        """
        if FEATURES in inputs:
            return self._tokens(inputs[FEATURES], inputs, real, generator), None
        sighting = self.encoder(inputs, self.vectors(inputs, real), labels, generator)
        loss = None if sighting.loss is None else self._auxiliary * sighting.loss
        return self._tokens(_joined(sighting), inputs, real, generator), loss

    def features(self, inputs: Mapping[str, Tensor], real: Tensor) -> Tensor:
        """(n, width) the output of the encoder: the vectors of all cameras, then the poses of the landmarks."""
        return _joined(self.encoder(inputs, self.vectors(inputs, real)))

    def _tokens(
        self, features: Tensor, inputs: Mapping[str, Tensor], real: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        width, views = self.encoder.width, len(self.views)
        tokens = [token(features[:, view * width : (view + 1) * width]) for view, token in enumerate(self.views)]
        if self.encoder.locate is not None:
            located = Located.of(features[:, views * width :])
            if generator is not None:
                # Errors are smaller on the images of the training than on others.
                located = with_errors(located, generator)
            described = self.encoder.locate.describe(located, inputs)
            if self.spoken is not None:
                spoken = self.spoken(inputs, real)[:, None].expand(-1, described.shape[1], -1)
                described = torch.cat([described, spoken], dim=2)
            tokens += [token(described[:, number]) for number, token in enumerate(self.landmarks)]
        return torch.stack(tokens, dim=1)


def _joined(sighting: Sighting) -> Tensor:
    cameras = sighting.cameras.flatten(1)
    # The action loss does not change the prediction of poses, which has labels of its own.
    return cameras if sighting.located is None else torch.cat([cameras, sighting.located.flat().detach()], dim=1)


def vision(space: Space, scales: Scales, *, width: int, settings: Mapping[str, Any]) -> ImageEncoder | KeypointTokens:
    """Return the module that the settings of a policy describe.

    Args:
        settings: backbone, landmarks and tool_joints (names with commas), auxiliary, image_size, shift_px, colour,
            cutout and blur.
    """
    kind, image_size, shift_px = settings["backbone"], settings["image_size"], settings["shift_px"]
    if kind not in BACKBONES:
        raise ValueError(f"backbone: {kind!r} was given; valid: {', '.join(BACKBONES)}")
    if kind == "grid" or not space.pictures:
        return ImageEncoder(space, width=width, image_size=image_size, shift_px=shift_px)
    augment = AugmentConfig(shift_px, settings["colour"], settings["cutout"], settings["blur"])
    return KeypointTokens(
        space, scales, width=width, image_size=image_size, augment=augment, auxiliary=settings["auxiliary"],
        landmarks=names_in(settings["landmarks"]), tool_joints=names_in(settings["tool_joints"]),
    )  # fmt: skip


def names_in(text: str) -> tuple[str, ...]:
    """Names of a setting that has several, with commas."""
    return tuple(name for name in text.split(",") if name)


def _token(count: int, width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(count, width), nn.GELU(), nn.Linear(width, width))
