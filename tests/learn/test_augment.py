"""Laws of the augmentation: what it changes, what it leaves alone, and where the content goes."""

import pytest
import torch

from twinloop.learn.augment import AugmentConfig, augmented

STRONG = AugmentConfig(shift_px=3, colour=0.3, cutout=0.4, blur=0.8)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_without_strength_nothing_changes():
    images = torch.rand(4, 5, 16, 16, generator=generator(1))
    changed, moved = augmented(images, 3, AugmentConfig(), generator=generator())
    assert torch.equal(changed, images)
    assert not moved.any()


def test_augmentation_returns_the_shift_of_the_content():
    images = torch.zeros(32, 3, 16, 16)
    images[:, :, 8, 7] = 1
    changed, moved = augmented(images, 3, AugmentConfig(shift_px=3), generator=generator())
    for image, (u, v) in zip(changed, moved, strict=True):
        assert image[0, 8 + int(v), 7 + int(u)] == 1
    assert len({tuple(way.tolist()) for way in moved}) > 10


def test_equal_generators_give_equal_images_and_every_image_differs():
    images = torch.rand(1, 3, 16, 16, generator=generator(1)).expand(8, -1, -1, -1)
    first, again, other = (augmented(images, 3, STRONG, generator=generator(seed))[0] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert all(not torch.equal(first[0], image) for image in first[1:])
    assert 0 <= first.min() <= first.max() <= 1


@pytest.mark.parametrize("config", [AugmentConfig(colour=0.3), AugmentConfig(blur=0.8)])
def test_depth_and_masks_keep_their_values(config: AugmentConfig):
    images = torch.rand(4, 5, 16, 16, generator=generator(1))
    changed, _ = augmented(images, 3, config, generator=generator())
    assert torch.equal(changed[:, 3:], images[:, 3:])
    assert not torch.equal(changed[:, :3], images[:, :3])


def test_a_cutout_has_one_value_and_half_of_the_images_stay_whole():
    images = torch.rand(64, 3, 32, 32, generator=generator(1))
    changed, _ = augmented(images, 3, AugmentConfig(cutout=0.5), generator=generator())
    different = (changed != images).any(dim=1)
    touched = different.flatten(1).any(dim=1)
    assert 16 < touched.sum() < 48
    for image, mask in zip(changed[touched], different[touched], strict=True):
        assert len(image[:, mask].unique()) == 1
