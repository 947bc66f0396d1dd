"""Input drift: how far a policy's inputs on the robot are from the training data, per episode."""

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
    """Statistics of the training data.

    Attributes:
        space: the policy's inputs and actions.
        inputs: input -> (mean, standard deviation) over the training frames.
    """

    space: Space
    inputs: dict[str, tuple[np.ndarray, np.ndarray]]

    def compared(self, name: str) -> np.ndarray:
        """(d,) which elements are compared: all except quaternions.

        q and -q are the same rotation, so the mean of quaternions is not meaningful.
        """
        feature = next(vector for vector in self.space.vectors if vector.name == name)
        keep = np.ones(feature.shape[0], bool)
        for start in quaternion_starts(feature):
            keep[start : start + 4] = False
        return keep


@dataclass(frozen=True)
class Shifts:
    """Input shifts per attempt.

    Attributes:
        largest: (n,) largest shift of an input's mean, in training deviations; 0 if nothing could be compared.
        element: (n,) name of the element with that shift; "" if nothing could be compared.
    """

    largest: np.ndarray
    element: np.ndarray


def scales_of(checkpoint: Path) -> TrainingScales:
    """Read the training statistics from a checkpoint: the numbers by which its network normalizes inputs."""
    from twinloop.learn.checkpoint import load
    from twinloop.learn.policy import VectorInputs

    loaded = load(checkpoint)
    inputs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for module in loaded.policy.modules():
        if isinstance(module, VectorInputs):
            for index, name in enumerate(module.names):
                mean, std = (
                    module.get_buffer(f"{statistic}{index}").numpy().astype(float) for statistic in ("mean", "std")
                )
                inputs[name] = (mean, std)
    return TrainingScales(loaded.card.space, inputs)


def shifts_of(path: Path, scales: TrainingScales) -> Shifts:
    """Compute the shifts from the stored statistics of each episode. No frame is read."""
    dataset = Dataset.open(path)
    largest: list[float] = []
    element: list[str] = []
    features = {feature.name: feature for feature in dataset.header.features}
    for entry in dataset.entries:
        columns = {name: STATS_PREFIX + name for name in scales.inputs if name in features}
        table = dataset.episodes(entry, ["attempt", *columns.values()])
        for row in table.to_pylist():
            best, worst = 0.0, ""
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
                    best, worst = float(away[place]), f"{name}.{names[place] if names else place}"
            largest.append(best)
            element.append(worst)
    return Shifts(np.array(largest), np.array(element, object))
