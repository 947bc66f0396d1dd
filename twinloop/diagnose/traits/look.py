"""How a scene looks to its cameras: the light, colours and sharpness of a few pictures of an episode."""

from twinloop.diagnose.traits.episode import Shown

PERCENT = 100.0


def brightness_percent(shown: Shown) -> float:
    return PERCENT * shown.look.brightness if shown.look else float("nan")


def contrast_percent(shown: Shown) -> float:
    return PERCENT * shown.look.contrast if shown.look else float("nan")


def saturation_percent(shown: Shown) -> float:
    return PERCENT * shown.look.saturation if shown.look else float("nan")


def warmth_percent(shown: Shown) -> float:
    """Red above blue."""
    return PERCENT * (shown.look.red - shown.look.blue) if shown.look else float("nan")


def sharpness_percent(shown: Shown) -> float:
    return PERCENT * shown.look.sharpness if shown.look else float("nan")
