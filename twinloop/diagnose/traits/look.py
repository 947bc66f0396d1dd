"""Traits of camera images: brightness, colours and sharpness of a few images of an episode."""

from collections.abc import Callable

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.signals.pictures import Appearance


def brightness_percent(episode: EpisodeTrace) -> float:
    return _percent(episode, lambda look: look.brightness)


def contrast_percent(episode: EpisodeTrace) -> float:
    return _percent(episode, lambda look: look.contrast)


def saturation_percent(episode: EpisodeTrace) -> float:
    return _percent(episode, lambda look: look.saturation)


def warmth_percent(episode: EpisodeTrace) -> float:
    """Mean of red minus mean of blue."""
    return _percent(episode, lambda look: look.red - look.blue)


def sharpness_percent(episode: EpisodeTrace) -> float:
    return _percent(episode, lambda look: look.sharpness)


def _percent(episode: EpisodeTrace, of: Callable[[Appearance], float]) -> float:
    return float("nan") if episode.look is None else 100 * of(episode.look)
