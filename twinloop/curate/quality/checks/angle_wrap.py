"""Does an angle jump by a whole turn where the joint moves on?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode
from twinloop.curate.quality.spans import quantile

TURNS = {"rad": (2 * np.pi,), "deg": (360.0,), "°": (360.0,)}
ANY_TURN = (2 * np.pi, 360.0, 4096.0)  # the last: ticks of a common encoder
LINEAR = ("m", "mm", "cm", "m/s", "N", "N·m", "Nm", "A", "V", "s", "kg", "°C", "C", "quaternion")
SLOW = 0.12  # of a turn: the largest motion between two rows


def find(episode: RecordedEpisode, _statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows:
        return
    for channel in episode.channels:
        if channel.unit in LINEAR or channel.unit.endswith("/s"):
            continue
        steps = np.diff(channel.values)
        for turn in TURNS.get(channel.unit, ANY_TURN):
            wraps = _wraps(channel.values, turn)
            if len(wraps):
                text = (
                    f"{channel.name} jumps by {steps[wraps[0]]:.4g} after row {wraps[0]}, a turn of {turn:.4g}, and "
                    f"is smooth after unwrapping; {len(wraps)} such jumps."
                )
                yield ANGLE_WRAP.finding(
                    channel.name, (wraps[0], wraps[-1] + 1), abs(steps[wraps[0]]), turn / 2, channel.unit, text
                )
                break


def _wraps(values: np.ndarray, turn: float) -> np.ndarray:
    """Rows before a jump by one turn, where the joint moves on evenly after unwrapping.

    A wrapped angle stays within one turn and jumps from one end of that turn to the other.
    """
    steps = np.diff(values)
    sizes = np.abs(steps)
    unwrapped = np.abs(sizes - turn)
    wraps = np.flatnonzero(unwrapped < SLOW * turn)
    if not len(wraps) or np.ptp(values) > (1 + SLOW) * turn:
        return wraps[:0]
    from_end = np.maximum(values[wraps], values[wraps + 1]) > values.max() - SLOW * turn
    to_end = np.minimum(values[wraps], values[wraps + 1]) < values.min() + SLOW * turn
    wraps = wraps[from_end & to_end]
    rest = np.delete(sizes, wraps)
    ordinary = quantile(rest, 0.99) if len(rest) else 0.0
    near = [np.delete(sizes[max(0, at - 3) : at + 4], min(at, 3)) for at in wraps]
    around = np.array([part[part < SLOW * turn].max(initial=0.0) for part in near])
    # A real jump would hit a whole turn only by chance, to within the speed of the joint.
    smooth = unwrapped[wraps] <= 2 * np.maximum(around, ordinary) + 0.003 * turn
    wraps = wraps[smooth] if ordinary < SLOW * turn else wraps[:0]
    return wraps[:0] if _there_and_back(steps, wraps) else wraps


def _there_and_back(steps: np.ndarray, wraps: np.ndarray) -> bool:
    """Are there only pairs that undo each other within two rows? Those are spikes, which have their own check."""
    if not len(wraps) or len(wraps) % 2:
        return False
    first, second = wraps[::2], wraps[1::2]
    return bool(((second - first <= 2) & (np.sign(steps[first]) != np.sign(steps[second]))).all())


ANGLE_WRAP = QualityCheck(name="angle_wrap", asks="does an angle jump by a whole turn?", find=find)
