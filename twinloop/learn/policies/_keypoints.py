"""KeypointEncoder: finds points in the images of each camera, and the poses of things from the points of all cameras.

A spatial softmax turns each heatmap into one image point. The first points of a camera are landmarks: things, fixtures
and the tool, whose pixels a simulator knows. The other points are free. A `Localiser` predicts the poses of the
landmarks from the points, from the features there and from the vectors of the observation. Both predictions have
auxiliary losses on the free labels, which teach the backbone much faster than the actions alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, one_hot, smooth_l1_loss

from twinloop.learn.augment import AugmentConfig, augmented
from twinloop.learn.policies._backbone import CELL_PX, Backbone
from twinloop.learn.policies._forward_kinematics import ForwardKinematics
from twinloop.learn.policies._localiser import Localiser, Located
from twinloop.learn.policy import LabelTensors
from twinloop.learn.scales import Scales
from twinloop.learn.space import Space
from twinloop.observe.recording import Feature

FREE_POINTS = 12
MASK_IDS = 16
"""Number of mask ids that the network distinguishes. Higher ids count as the last one."""

SUFFIXES = ("_depth", "_instances", "_classes")
PIXEL_WEIGHT = 0.1
"""Weight of the heatmaps' cross-entropy, which starts at the logarithm of the number of cells."""
POINT_WEIGHT = 0.1
"""Weight of the distance of a point from its label, in cells. Cross-entropy alone does not locate within a cell."""


@dataclass(frozen=True)
class Sighting:
    """The result of a KeypointEncoder.

    Attributes:
        cameras: (n, views, width) one vector per camera.
        located: poses of the landmarks; None without landmarks.
        loss: the auxiliary loss; None without labels.
    """

    cameras: Tensor
    located: Located | None
    loss: Tensor | None


class KeypointEncoder(nn.Module):
    """Images and vectors -> Sighting.

    Args:
        landmarks: names of the things whose pixels and poses are predicted.
        vectors: width of the observation's vectors.
        tool_joints: names of the joints of the arm that carries the tool; empty if its kinematics are not used.
    """

    def __init__(
        self, space: Space, scales: Scales, *, landmarks: Sequence[str], tool_joints: Sequence[str], vectors: int,
        image_size: int, augment: AugmentConfig, hidden: int = 256,
    ):  # fmt: skip
        super().__init__()
        if image_size < 2 * CELL_PX or image_size % (2 * CELL_PX):
            raise ValueError(f"image_size: {image_size} was given; a multiple of {2 * CELL_PX} was expected")
        self._views, self._landmarks, self._augment = views_of(space), tuple(landmarks), augment
        self._marked = len(landmarks) + 1 if landmarks else 0
        points = self._marked + FREE_POINTS
        self.backbones = nn.ModuleList(Backbone(sum(map(_channels, view))) for view in self._views.values())
        self.heat = nn.ModuleList(nn.Conv2d(Backbone.width, points, 1) for _ in self._views)
        self.width = 3 * points + (self._marked + 1) * Backbone.width
        self.locate: Localiser | None = None
        if landmarks:
            tool = ForwardKinematics(space, tool_joints, scales.chain) if tool_joints else None
            seen = len(self._views) * self.width + vectors
            self.locate = Localiser(len(landmarks), seen, scales, tool, hidden=hidden)

    def forward(
        self, inputs: Mapping[str, Tensor], vectors: Tensor, labels: LabelTensors | None = None,
        generator: torch.Generator | None = None,
    ) -> Sighting:  # fmt: skip
        """Args: labels: of the frames, for the auxiliary loss. generator: with one, images are augmented."""
        cameras, losses = [], []
        for view, backbone, heat in zip(self._views.values(), self.backbones, self.heat, strict=True):
            images, moved = self._images(inputs, view, generator)
            features = backbone(images)
            heatmaps = heat(features)
            points, summary = self._summary(features, heatmaps)
            cameras.append(summary)
            if labels is not None and self._marked:
                target = labels.pixels[view[0].name]
                if moved is not None:
                    target = target + moved[:, None] / images.shape[-1]
                losses.append(PIXEL_WEIGHT * _pixel_loss(heatmaps[:, : self._marked], target))
                cells = heatmaps.new_tensor([heatmaps.shape[3], heatmaps.shape[2]])
                losses.append(POINT_WEIGHT * _point_loss(points[:, : self._marked], target, cells))
        seen, located = torch.stack(cameras, dim=1), None
        if self.locate is not None:
            everything = torch.cat([seen.flatten(1), vectors], dim=1)
            located, loss = self.locate(everything, inputs, None if labels is None else labels.poses)
            losses += [] if loss is None else [loss]
        return Sighting(seen, located, torch.stack(losses).sum() if losses else None)

    def pose_errors(self, located: Located, labels: Tensor) -> dict[str, float]:
        """Return landmark -> mean distance of the predicted position from the true one, in metres."""
        away = (located.poses - labels)[..., :3].norm(dim=2).nanmean(dim=0)
        return dict(zip(self._landmarks, map(float, away), strict=True))

    def _images(
        self, inputs: Mapping[str, Tensor], view: Sequence[Feature], generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor | None]:
        images = torch.cat([_as_channels(inputs[feature.name], feature) for feature in view], dim=1)
        if generator is None:
            return images, None
        colours = 3 if view[0].dtype == "video" else 0
        return augmented(images, colours, self._augment, generator=generator)

    def _summary(self, features: Tensor, heatmaps: Tensor) -> tuple[Tensor, Tensor]:
        """Points, (n, points, 2) from -1 to 1, and (n, width) the summary of one camera.

        The summary has the points, their peaks, the features at the landmarks, and the mean of all features.
        """
        share = heatmaps.flatten(2).softmax(dim=2)
        grid = _grid(heatmaps.shape[2], heatmaps.shape[3], heatmaps.device)
        points, cells = share @ grid, features.flatten(2).transpose(1, 2)
        local = share[:, : self._marked] @ cells
        summary = torch.cat([points.flatten(1), share.amax(dim=2), local.flatten(1), cells.mean(dim=1)], dim=1)
        return points, summary


def views_of(space: Space) -> dict[str, list[Feature]]:
    """Camera -> its images: RGB first, then depth and masks. They share one backbone."""
    views: dict[str, list[Feature]] = {}
    for feature in sorted(space.pictures, key=lambda picture: ("video", "depth", "mask").index(picture.dtype)):
        name = feature.name
        for suffix in SUFFIXES if feature.dtype != "video" else ():
            name = name.removesuffix(suffix)
        views.setdefault(name, []).append(feature)
    return dict(sorted(views.items()))


def _channels(feature: Feature) -> int:
    return min(len(feature.names), MASK_IDS) if feature.dtype == "mask" else feature.shape[2]


def _as_channels(images: Tensor, feature: Feature) -> Tensor:
    if feature.dtype != "mask":
        return images
    count = _channels(feature)
    return one_hot(images[:, 0].long().clamp(max=count - 1), count).permute(0, 3, 1, 2).to(images.dtype)


def _grid(rows: int, columns: int, device: torch.device) -> Tensor:
    """(rows * columns, 2) centres of the cells, u and v from -1 to 1."""
    v = (torch.arange(rows, device=device) + 0.5) * 2 / rows - 1
    u = (torch.arange(columns, device=device) + 0.5) * 2 / columns - 1
    return torch.stack([u.repeat(rows), v.repeat_interleave(columns)], dim=1)


def _pixel_loss(heatmaps: Tensor, pixels: Tensor) -> Tensor:
    """Cross-entropy of (n, k, rows, columns) heatmaps to (n, k, 2) pixels, as shares; NaN pixels do not count.

    The target is spread over the four nearest cells, so that its mean is the pixel.
    """
    rows, columns = heatmaps.shape[2:]
    inside = _inside(pixels)
    place = torch.where(inside[..., None], pixels, 0.5) * pixels.new_tensor([columns, rows]) - 0.5
    first = place.floor()
    part = place - first
    scores = log_softmax(heatmaps.flatten(2), dim=2)
    loss = torch.zeros_like(inside, dtype=scores.dtype)
    for du in (0, 1):
        for dv in (0, 1):
            u = (first[..., 0] + du).clamp(0, columns - 1).long()
            v = (first[..., 1] + dv).clamp(0, rows - 1).long()
            weight = (part[..., 0] if du else 1 - part[..., 0]) * (part[..., 1] if dv else 1 - part[..., 1])
            loss = loss - weight * scores.gather(2, (v * columns + u)[..., None])[..., 0]
    return (loss * inside).sum() / inside.sum().clamp(min=1)


def _point_loss(points: Tensor, pixels: Tensor, cells: Tensor) -> Tensor:
    """Mean distance of (n, k, 2) points, from -1 to 1, from pixels, as shares, in cells; NaN pixels do not count."""
    inside = _inside(pixels)
    away = ((points + 1) / 2 - torch.where(inside[..., None], pixels, 0.5)) * cells
    errors = smooth_l1_loss(away, torch.zeros_like(away), beta=0.25, reduction="none").sum(dim=2)
    return (errors * inside).sum() / inside.sum().clamp(min=1)


def _inside(pixels: Tensor) -> Tensor:
    return (pixels.isfinite() & (pixels >= 0) & (pixels < 1)).all(dim=2)
