"""The reason for a score in words: which aspect of which channel, and how far beyond its limit."""

ASPECTS = {
    "object_acceleration": "{channel} accelerates more than any force explains",
    "object_speed": "{channel} is faster than in any good episode",
    "energy_gain": "{channel} gains energy while nothing touches it",
    "moves_untouched": "{channel} accelerates while nothing touches it",
    "drifts_untouched": "{channel} moves while nothing touches it",
    "free_fall": "{channel} has no support and does not fall with gravity",
    "support_change": "the force of {channel} changes while the object lies still",
    "support_contradicts": "{channel} contradicts the height at which the object is",
    "stands_in_hand": "{channel} keeps exactly one pose while the hand that touches it moves",
    "jumps_from_rest": "{channel} jumps after it was exactly at rest",
    "rest_height": "{channel} rests at another height than it did at the start",
    "below_start": "{channel} is below where it rested at the start: it penetrates its support",
    "quaternion_norm": "the quaternion of {channel} is not of length 1",
    "turns_alone": "{channel} turns unlike anything that could turn it",
    "slips_in_grip": "the {channel} slips in the grip",
    "shifts_in_grip": "the {channel} shifts in the grip",
    "grip_drift": "the {channel} drifts in the grip",
    "touch_at_distance": "the fingers report contact, but no object is between them",
    "touch_place": "a finger reports contact where nothing can be touched",
    "contact_distance": "the distance of hand and {channel} changes while a finger touches it",
    "blocked_without_contact": "the hand pushes and does not move, but no finger reports {channel}",
    "squeeze_without_effort": "both fingers report {channel}, but the hand's motor does not push",
    "moves_alone": "{channel} moves unlike anything that could move or carry it",
    "travels_untouched": "{channel} travels while no finger touches it",
    "rest_level": "{channel} rests at a height where nothing supports it",
    "blocked_motion": "{channel} moves in a direction in which it cannot move",
    "tool_speed": "the {channel} is faster than in any good episode",
    "fixture_acceleration": "{channel} accelerates more than in any good episode",
    "velocity_mismatch": "{channel} differs from the slope of the position",
    "label": "the success label contradicts the end of the episode ({channel})",
    "length": "the {channel} is unlike that of good episodes",
    "duplicate": "the episode is a copy of attempt {channel}",
    "step": "{channel} does not follow from the frames before it",
    "static": "{channel} does not fit the other channels",
    "free_step": "{channel} does not follow from the frames before it, while the hand touches nothing",
    "free_static": "{channel} does not fit the other channels, while the hand touches nothing",
    "range": "{channel} leaves the range of good episodes",
    "jump": "{channel} jumps",
    "repeats": "{channel} repeats one value",
    "lag": "the delay of {channel} is unlike that of good episodes",
    "match": "{channel} does not correlate with its reference",
    "motion": "{channel} moves more or less than in good episodes",
    "image_static": "the images of {channel} do not fit the motion of the robot",
    "image_step": "the images of {channel} jump",
    "image_view": "the images of {channel} show the view of another camera, or are turned or mirrored",
    "image_still": "the images of {channel} stand still while the robot moves",
    "image_content": "the images of {channel} show another scene than those of good episodes",
}
"""Aspect -> sentence. Of `step:action|peak`, the aspect is `step`."""

SPREAD = {
    "peak": "in single frames",
    "level": "over the episode",
    "offset": "by a constant amount",
    "burst": "beyond the noise of the episode",
}


def aspect_of(feature: str) -> str:
    return feature.partition("|")[0].partition(":")[0]


def reason_in_words(feature: str, channel: str, ratio: float) -> str:
    """E.g. `observation.state/joint3 jumps in single frames (4.1 times the limit)`."""
    text = ASPECTS[aspect_of(feature)].format(channel=channel)
    spread = SPREAD.get(feature.partition("|")[2], "")
    return f"{text}{' ' + spread if spread else ''} ({ratio:.1f} times the limit)"
