"""Input drift: how unlike the training data what a policy sees on the robot is, episode by episode."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.dataset import Dataset
from twinloop.dataset.columns import STATS_PREFIX
from twinloop.dataset.stats import STATS
from twinloop.learn.resample import quaternion_starts
from twinloop.learn.space import Space

MEAN = STATS.index("mean")


@dataclass(frozen=True)
class TrainingScales:
    """Input -> (mean, deviation) over the frames it was trained on, and which elements are compared."""

    space: Space
    inputs: dict[str, tuple[np.ndarray, np.ndarray]]

    def compared(self, name: str) -> np.ndarray:
        """(d,) all but quaternions: q and -q are one rotation, and a mean of theirs is none."""
        feature = next(each for each in self.space.vectors if each.name == name)
        keep = np.ones(feature.shape[0], bool)
        for start in quaternion_starts(feature):
            keep[start : start + 4] = False
        return keep


@dataclass(frozen=True)
class Shifts:
    """(n,) of each attempt: the largest shift of an input's mean, in training deviations, and of which element; 0 and
    "" where nothing could be compared."""

    largest: np.ndarray
    element: np.ndarray


def scales_of(checkpoint: Path) -> TrainingScales:
    """What a checkpoint remembers of its training data: the numbers its network scales inputs with."""
    from twinloop.learn.checkpoint import load
    from twinloop.learn.policy import VectorInputs

    loaded = load(checkpoint)
    inputs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for module in loaded.policy.modules():
        if isinstance(module, VectorInputs):
            for index, name in enumerate(module.names):
                mean, std = (module.get_buffer(f"{what}{index}").numpy().astype(float) for what in ("mean", "std"))
                inputs[name] = (mean, std)
    return TrainingScales(loaded.card.space, inputs)


def shifts_of(path: Path, scales: TrainingScales) -> Shifts:
    """From the statistics that every stored episode has: no frame is read."""
    dataset = Dataset.open(path)
    largest: list[float] = []
    element: list[str] = []
    features = {feature.name: feature for feature in dataset.header.features}
    for entry in dataset.entries:
        columns = {name: STATS_PREFIX + name for name in scales.inputs if name in features}
        table = dataset.episodes(entry, ["attempt", *columns.values()])
        for row in table.to_pylist():
            best, who = 0.0, ""
            for name, column in columns.items():
                if row[column] is None:
                    continue
                mean = np.array(row[column], float).reshape(len(STATS), -1)[MEAN]
                centre, spread = scales.inputs[name]
                if mean.shape != centre.shape:
                    continue
                away = np.where(scales.compared(name), np.abs(mean - centre) / spread, 0.0)
                place = int(np.argmax(away))
                if away[place] > best:
                    names = features[name].names
                    best, who = float(away[place]), f"{name}.{names[place] if names else place}"
            largest.append(best)
            element.append(who)
    return Shifts(np.array(largest), np.array(element, object))
