"""A runtime without training: it returns the actions of the most similar moments of some demonstrations."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.config.record import read_record, write_record
from twinloop.config.section import Section
from twinloop.learn.space import ACTION, DEFAULT_INPUTS, Space
from twinloop.observe.features import features_of, observe
from twinloop.observe.sensors import ObserveConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


def space_of(twin: Twin, inputs: Sequence[str] = DEFAULT_INPUTS) -> Space:
    features = {feature.name: feature for feature in features_of(twin, ObserveConfig())}
    return Space(twin.robot.name, twin.control_hz, tuple(features[name] for name in inputs), features[ACTION])


@dataclass(frozen=True)
class Neighbours:
    """moments: (n, elements) standardised inputs; futures: (n, horizon, actions) the actions that followed."""

    space: Space
    moments: np.ndarray
    futures: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    executed: int = 4
    count: int = 4

    @classmethod
    def of(cls, episodes: Episodes, twin: Twin, *, horizon: int = 8, seed: int = 0) -> "Neighbours":
        space = space_of(twin)
        frames = observe(episodes, twin, ObserveConfig(), seed=seed).frames
        seen = np.concatenate([frames[feature.name] for feature in space.inputs], axis=1)
        ends = np.repeat(episodes.starts + episodes.lengths - 1, episodes.lengths)
        ahead = np.minimum(np.arange(len(seen))[:, None] + np.arange(horizon), ends[:, None])
        mean, scale = seen.mean(axis=0), np.maximum(seen.std(axis=0), 0.02)
        return cls(space, ((seen - mean) / scale).astype(np.float32), frames["action"][ahead], mean, scale)

    @property
    def horizon(self) -> int:
        return self.futures.shape[1]

    def chunks(
        self, observation: Mapping[str, np.ndarray], *, instructions: Sequence[str], real: bool, noise: np.ndarray
    ) -> np.ndarray:
        assert not real
        assert len(instructions) == len(noise)
        seen = np.concatenate([observation[feature.name] for feature in self.space.inputs], axis=1)
        seen = ((seen - self.mean) / self.scale).astype(np.float32)
        # Through BLAS, as a network would.
        near = np.square(self.moments).sum(axis=1) - 2 * seen @ self.moments.T
        best = np.argpartition(near, self.count, axis=1)[:, : self.count]
        return self.futures[best].mean(axis=1)

    def save(self, path: Path) -> None:
        arrays = {"moments": self.moments, "futures": self.futures, "mean": self.mean, "scale": self.scale}
        np.savez(path, allow_pickle=False, space=json.dumps(write_record(self.space)), executed=self.executed, **arrays)

    @classmethod
    def load(cls, path: Path) -> "Neighbours":
        with np.load(path) as arrays:
            space = read_record(Space, Section("", "", json.loads(str(arrays["space"])), {}))
            numbers = (arrays[name] for name in ("moments", "futures", "mean", "scale"))
            return cls(space, *numbers, executed=int(arrays["executed"]))
