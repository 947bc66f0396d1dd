"""Was this episode recorded before?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.crowd import Crowd, fingerprint
from twinloop.curate.quality.finding import Finding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.take import Take


def find(take: Take, crowd: Crowd, config: QualityConfig) -> Iterator[Finding]:
    if take.rows < config.shortest_rows or not any(np.ptp(each.values) > 0 for each in take.channels):
        return
    first = crowd.first_with.get(fingerprint(take), take.attempt)
    if first != take.attempt:
        said = f"Every number is that of attempt {first}: the same recording twice."
        yield DUPLICATE.finding("", (0, take.rows - 1), 1, 0, "copies", said)


DUPLICATE = QualityCheck(name="duplicate", asks="is it a copy of an earlier episode?", find=find)
