"""Did it take too long?"""

from twinloop.curate.check import Check

DURATION = Check(
    name="duration",
    unit="s",
    asks="how long did the episode take?",
    measure=lambda episodes, twin, _config: episodes.lengths * twin.control_period_s,
    limit=lambda config: config.longest_s,
)
