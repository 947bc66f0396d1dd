"""Traits of camera images: brightness, colours and sharpness of a few images of an episode."""

from collections.abc import Callable

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.signals.pictures import Appearance


def brightness_percent(shown: EpisodeTrace) -> float:
    return _percent(shown, lambda look: look.brightness)


def contrast_percent(shown: EpisodeTrace) -> float:
    return _percent(shown, lambda look: look.contrast)


def saturation_percent(shown: EpisodeTrace) -> float:
    return _percent(shown, lambda look: look.saturation)


def warmth_percent(shown: EpisodeTrace) -> float:
    """Mean of red minus mean of blue."""
    return _percent(shown, lambda look: look.red - look.blue)


def sharpness_percent(shown: EpisodeTrace) -> float:
    return _percent(shown, lambda look: look.sharpness)


def _percent(shown: EpisodeTrace, of: Callable[[Appearance], float]) -> float:
    return float("nan") if shown.look is None else 100 * of(shown.look)
