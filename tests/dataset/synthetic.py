"""A small made-up run: every value follows from the seed and the attempt, as in a real one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from twinloop.dataset import DatasetWriter, Header, ShardDraft, write_shard
from twinloop.observe.recording import Feature, Recording

FEATURES = (
    Feature("observation.state", "float32", (3,), ("x", "y", "z"), "m"),
    Feature("action", "float32", (2,)),
    Feature("phase", "int64", (1,)),
    Feature("next.reward", "float32", (1,)),
    Feature("next.done", "bool", (1,)),
)
CAMERAS = (
    Feature("observation.images.front", "video", (32, 48, 3)),
    Feature("observation.images.wrist", "video", (48, 32, 3)),
    Feature("observation.images.depth", "depth", (32, 48, 1), unit="m"),
)
PICTURED = (*FEATURES, *CAMERAS)
MASK = Feature("observation.images.front_classes", "mask", (32, 48, 1), ("background", "robot", "object", "table"))
LABEL = Feature("label.front.boxes", "float32", (4,), ("left", "top", "right", "bottom"), "px")
LABELLED = (*PICTURED, MASK, LABEL)
CONFIG_TEXT = "robot: panda\n"


def header(**changes) -> Header:
    values = {
        "name": "demo",
        "source": "sim",
        "robot": "panda",
        "fps": 50,
        "features": FEATURES,
        "phases": ("reach", "grasp"),
        "config_digest": "c0ffee",
        "run_seed": 7,
        "shard_episodes": 4,
        "episodes": 10,
        "keep_rejected": False,
        "versions": {"twinloop": "0.1.0", "mujoco": "4.0"},
    }
    return Header(**{**values, **changes})


def verdict_of(attempt: int) -> str:
    """Every third attempt fails, alternately in one way and another."""
    return "accepted" if attempt % 3 else ("dropped" if attempt % 2 else "diverged")


def episode_frames(attempt: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng([seed, attempt])
    length = int(rng.integers(5, 12))
    return {
        "observation.state": rng.normal(size=(length, 3)).astype(np.float32),
        "action": rng.normal(size=(length, 2)).astype(np.float32),
        "phase": np.arange(length) // 4,
        "next.reward": rng.normal(size=length).astype(np.float32),
        "next.done": np.arange(length) == length - 1,
    }


def episode_pictures(attempt: int, seed: int, features: Sequence[Feature] = PICTURED) -> dict[str, np.ndarray]:
    """Smooth waves that move, another for each attempt and camera; no two frames are the same."""
    length = len(episode_frames(attempt, seed)["phase"])
    pictures = {}
    for camera, feature in enumerate(candidate for candidate in features if candidate.is_picture):
        height, width, channels = feature.shape
        time, y, x, channel = np.ogrid[:length, :height, :width, :channels]
        wave = np.sin((x + 5 * time + 20 * channel + 9 * attempt) / 13) * np.cos((y - 3 * time + 31 * camera) / 17)
        if feature.dtype == "video":
            pictures[feature.name] = (127 + 100 * wave).astype(np.uint8)
        elif feature.dtype == "mask":
            pictures[feature.name] = (2 + 1.99 * wave[..., 0]).astype(np.uint8)
        else:
            pictures[feature.name] = (1.5 + wave[..., 0]).astype(np.float32)
    if LABEL in features:
        moved = attempt + np.arange(length)[:, None]
        pictures[LABEL.name] = (np.array([1, 2, 30, 40]) + moved).astype(np.float32)
    return pictures


def recording_of(attempts: Iterable[int], seed: int = 7, features: tuple[Feature, ...] = FEATURES) -> Recording:
    attempts = list(attempts)
    pictured = any(feature.is_picture or feature == LABEL for feature in features)

    def pictures(episodes: np.ndarray) -> Iterator[Mapping[str, np.ndarray]]:
        for episode in episodes:
            yield episode_pictures(attempts[episode], seed, features)

    episodes = [episode_frames(attempt, seed) for attempt in attempts]
    empty = {name: values[:0] for name, values in episode_frames(0, seed).items()}
    return Recording(
        attempts=np.array(attempts, np.int64),
        lengths=np.array([len(episode["phase"]) for episode in episodes], np.int64),
        tasks=tuple(task_of(attempt) for attempt in attempts),
        features=features,
        frames={name: np.concatenate([empty[name], *(e[name] for e in episodes)]) for name in empty},
        pictures=pictures if pictured else None,
    )


def task_of(attempt: int) -> str:
    return "lift the cube" if attempt % 2 else "place the cube"


def draft(folder: Path, first: int, stop: int, head: Header) -> ShardDraft:
    attempts = range(first, stop)
    kept = [attempt for attempt in attempts if head.keep_rejected or verdict_of(attempt) == "accepted"]
    filmed = tuple(feature for feature in head.features if feature.is_picture or feature == LABEL)
    recording = recording_of(kept, head.run_seed, (*FEATURES, *filmed))
    lengths = np.zeros(stop - first, np.int64)
    lengths[recording.attempts - first] = recording.lengths
    columns = {
        "attempt": np.arange(first, stop),
        "task": [task_of(attempt) for attempt in attempts],
        "length": lengths,
        "verdict": [verdict_of(attempt) for attempt in attempts],
        "success": np.array([verdict_of(attempt) == "accepted" for attempt in attempts]),
        "draw/mass_kg": np.array([0.1 + attempt / 100 for attempt in attempts]),
        "draw/colour": ["red" if attempt % 2 else "blue" for attempt in attempts],
        "check/drop_m": np.array([attempt / 10 for attempt in attempts]),
    }
    return write_shard(folder, first, stop, recording, columns, fps=head.fps)


def run(path: Path, head: Header, *, reverse: bool = False, verify: bool = False) -> str:
    """Make the missing shards of the dataset, as a driver with one worker does; return its digest."""
    with DatasetWriter.open(path, head, CONFIG_TEXT, verify=verify) as writer:
        for first, stop in sorted(writer.missing(), reverse=reverse):
            writer.commit(draft(writer.scratch(f"{first}"), first, stop, writer.header))
        return writer.finish()
