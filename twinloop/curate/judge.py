"""Episodes -> Verdicts: apply every check to every episode."""

import numpy as np

from twinloop.curate.checks import CHECKS
from twinloop.curate.failure import failures_of
from twinloop.curate.limits import CurateConfig
from twinloop.curate.verdict import ACCEPTED, Verdicts
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


def judge(episodes: Episodes, twin: Twin, config: CurateConfig) -> Verdicts:
    config = config.for_task(twin.task)
    count = len(episodes.lengths)
    reasons = np.full(count, ACCEPTED, dtype=object)
    storable = np.ones(count, bool)
    measures = {}
    for check in CHECKS:
        with np.errstate(invalid="ignore"):
            measured = check.measure(episodes, twin, config)
            # The comparison is negated because a comparison with NaN is false, and NaN must not pass.
            failed = ~(measured <= check.limit(config))
        measures[check.name] = measured
        reasons[failed & (reasons == ACCEPTED)] = check.name
        if not check.storable:
            storable &= ~failed
    return Verdicts(tuple(reasons), failures_of(episodes, twin, config), storable & (episodes.lengths > 0), measures)
