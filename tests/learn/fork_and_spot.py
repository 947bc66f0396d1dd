"""Small datasets for the policies that draw and see: demonstrations that go two ways, and a spot to be pointed at."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from tests.dataset.synthetic import CONFIG_TEXT, header
from twinloop.dataset import DatasetWriter, write_shard
from twinloop.learn.demonstrations import Demonstrations, load_demonstrations
from twinloop.observe.recording import Feature, Recording

CAMERA = "observation.images.front"
FORKED = (
    Feature("observation.state", "float32", (2,), ("x", "y"), "m"),
    Feature("action", "float32", (2,), ("ahead", "aside"), "m"),
)
SPOTTED = (*FORKED, Feature(CAMERA, "video", (40, 56, 3), ("height", "width", "channels"), "RGB"))


def forked(path: Path, *, episodes: int = 48, length: int = 12) -> Demonstrations:
    """Actions follow the state with an offset of 1 m: to the left in half of the episodes, else to the right."""
    rng = np.random.default_rng(5)
    sides = rng.permutation(np.resize([-1.0, 1.0], episodes))
    state = rng.normal(size=(episodes, length, 2))
    action = np.stack([state[..., 0], np.broadcast_to(sides[:, None], state.shape[:2])], axis=2)
    _write(path, FORKED, state, action)
    return load_demonstrations(path, ("observation.state",))


def spotted(path: Path, *, episodes: int = 160, length: int = 3) -> Demonstrations:
    """A bright spot in a dark image. The action is its position, which the state does not contain."""
    rng = np.random.default_rng(6)
    action = rng.uniform(-0.8, 0.8, (episodes, 1, 2)).repeat(length, axis=1)
    _write(path, SPOTTED, rng.normal(size=action.shape), action)
    return load_demonstrations(path, ("observation.state", CAMERA))


def _spots(action: np.ndarray) -> np.ndarray:
    height, width, _ = SPOTTED[-1].shape
    y, x = np.linspace(-1, 1, height)[:, None], np.linspace(-1, 1, width)
    away = np.square(y - action[:, 0, None, None]) + np.square(x - action[:, 1, None, None])
    return np.repeat((30 + 200 * np.exp(-away / 0.05))[..., None], 3, axis=3).astype(np.uint8)


def _write(path: Path, features: tuple[Feature, ...], state: np.ndarray, action: np.ndarray) -> None:
    episodes = len(state)
    about = header(name=path.name, features=features, episodes=episodes, shard_episodes=40, phases=())
    with DatasetWriter.open(path, about, CONFIG_TEXT) as writer:
        for first, stop in about.plan():
            attempts, lengths = np.arange(first, stop), np.full(stop - first, state.shape[1])
            values = {"observation.state": state, "action": action}
            frames = {name: value[first:stop].reshape(-1, 2).astype(np.float32) for name, value in values.items()}

            def pictures(chosen: np.ndarray, first: int = first) -> Iterator[Mapping[str, np.ndarray]]:
                for episode in chosen:
                    yield {CAMERA: _spots(action[first + episode])}

            tasks = ("point at it",) * len(attempts)
            filmed = pictures if any(feature.is_picture for feature in features) else None
            recording = Recording(attempts, lengths, tasks, features, frames, filmed)
            columns = {
                "attempt": attempts, "task": tasks, "length": lengths, "verdict": ["accepted"] * len(attempts),
                "success": np.ones(len(attempts), bool),
            }  # fmt: skip
            writer.commit(write_shard(writer.scratch(f"{first}"), first, stop, recording, columns, fps=about.fps))
        writer.finish()
