"""Random changes of images in training: shift, colour, cut-out and blur. All are computed on whole batches."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, pad


@dataclass(frozen=True)
class AugmentConfig:
    """Strengths of the random changes; 0 switches one off.

    Attributes:
        shift_px: largest shift, in pixels. The border is repeated.
        colour: largest relative change of brightness, contrast and of each colour channel.
        cutout: largest side of a rectangle of one random colour, as a share of the image.
        blur: largest weight of the mean over 3 × 3 pixels.
    """

    shift_px: int = 0
    colour: float = 0.0
    cutout: float = 0.0
    blur: float = 0.0


def augmented(
    images: Tensor, colours: int, config: AugmentConfig, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return changed (n, channels, height, width) images, and (n, 2) by how much their content moved: u, v in pixels.

    Args:
        colours: the first channels that are colours in 0 to 1. Depth and masks are shifted and cut only.
        generator: on the CPU, so that a batch is the same on every device.
    """
    count, _, height, width = images.shape
    device = images.device

    def uniform(*shape: int) -> Tensor:
        return torch.rand(count, *shape, generator=generator).to(device)

    moved = torch.zeros(count, 2, device=device)
    if config.shift_px:
        by = torch.randint(-config.shift_px, config.shift_px + 1, (2, count, 1), generator=generator).to(device)
        images, moved = _shifted(images, by), -by[:, :, 0].flip(0).T.float()
    if config.colour and colours:
        low, span = 1 - config.colour, 2 * config.colour
        picture = images[:, :colours]
        mean = picture.mean(dim=(1, 2, 3), keepdim=True)
        contrast, brightness = low + span * uniform(1, 1, 1), low + span * uniform(1, 1, 1)
        gain = brightness * (low + span * uniform(colours, 1, 1))
        picture = ((picture - mean) * contrast + mean) * gain
        images = torch.cat([picture.clamp(0, 1), images[:, colours:]], dim=1)
    if config.blur and colours:
        weight = (config.blur * (2 * uniform(1, 1, 1) - 1)).clamp(min=0)  # half of the images stay sharp
        soft = avg_pool2d(pad(images[:, :colours], (1, 1, 1, 1), mode="replicate"), 3, stride=1)
        images = torch.cat([torch.lerp(images[:, :colours], soft, weight), images[:, colours:]], dim=1)
    if config.cutout:
        size = config.cutout * uniform(2) * (uniform(1) < 0.5)  # half of the images stay whole
        start = uniform(2) * (1 - size)
        rows = _between(height, start[:, 0], size[:, 0])
        columns = _between(width, start[:, 1], size[:, 1])
        images = torch.where((rows[:, :, None] & columns[:, None, :])[:, None], uniform(1, 1, 1), images)
    return images, moved


def shifted(pictures: Tensor, most_px: int, *, generator: torch.Generator) -> Tensor:
    """Shift each of (n, c, height, width) images by its own random number of pixels. The border is repeated."""
    return augmented(pictures, 0, AugmentConfig(shift_px=most_px), generator=generator)[0]


def _shifted(images: Tensor, by: Tensor) -> Tensor:
    count, _, height, width = images.shape
    rows = (torch.arange(height, device=images.device) + by[0]).clamp(0, height - 1)
    columns = (torch.arange(width, device=images.device) + by[1]).clamp(0, width - 1)
    which = torch.arange(count, device=images.device)[:, None, None]
    return images.permute(0, 2, 3, 1)[which, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def _between(length: int, start: Tensor, size: Tensor) -> Tensor:
    """(n, length) whether a pixel lies in the span, given in shares of the length."""
    place = (torch.arange(length, device=start.device) + 0.5) / length
    return (place >= start[:, None]) & (place < (start + size)[:, None])
