"""Did it end as the task wants it?"""

import numpy as np

from twinloop.curate.check import Check

SUCCESS = Check(
    name="success",
    unit="",
    asks="did the episode end without success?",
    measure=lambda episodes, _twin, _config: (~episodes.success).astype(float),
    limit=lambda config: 0.0 if config.require_success else np.inf,
)
