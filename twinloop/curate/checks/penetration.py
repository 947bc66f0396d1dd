"""Did bodies sink into each other further than soft pads do?"""

from twinloop.curate.check import Check

PENETRATION = Check(
    name="penetration",
    unit="mm",
    asks="how deep was the deepest contact?",
    measure=lambda episodes, _twin, _config: 1000 * episodes.worst(episodes["penetration"][:, 0]),
    limit=lambda config: config.penetration_mm,
)
