"""Is every number a number?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.crowd import Crowd
from twinloop.curate.quality.finding import Finding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.take import Take


def find(take: Take, _crowd: Crowd, _config: QualityConfig) -> Iterator[Finding]:
    for channel in take.channels:
        bad = np.flatnonzero(~np.isfinite(channel.values))
        if len(bad):
            said = f"{channel.name} is NaN, infinite or missing in {len(bad)} of {take.rows} rows."
            yield NON_FINITE.finding(channel.name, (bad[0], bad[-1]), len(bad), 0, "rows", said)


NON_FINITE = QualityCheck(name="non_finite", asks="is every number finite?", find=find, finite=False, storable=False)
