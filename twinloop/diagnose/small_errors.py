"""Small errors of all rows: every robot differs from its twin a little everywhere, and the differences add up."""

import numpy as np

from twinloop.diagnose.emulator import Emulator

MOBILE_TOLERANCE = 0.1
"""Size up to which every row of a robot with legs or wheels may be wrong without being a finding."""


def small_errors(emulator: Emulator, tolerance: float) -> np.ndarray:
    """(entries,) root mean square change of the summary if every row is wrong by a size between 0 and `tolerance`.

    A row is wrong to one side or to the other, with the same probability. Its effect is taken as proportional to the
    size, because the size is small.
    """
    rows: dict[tuple[str, str], list[int]] = {}
    for place, cause in enumerate(emulator.causes):
        if cause.side in ("low", "high"):
            rows.setdefault((cause.row, cause.element), []).append(place)
    slopes = np.nan_to_num(emulator.changes[:, 1]) / emulator.sizes[:, 1:2]
    squares = [np.square(slopes[places]).mean(axis=0) for places in rows.values()]
    # The mean square of a size that is uniform from 0 to the tolerance is a third of its square.
    return tolerance * np.sqrt(np.sum(squares, axis=0) / 3) if squares else np.zeros(slopes.shape[1])
