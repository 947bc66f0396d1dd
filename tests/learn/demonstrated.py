"""Small datasets with something to learn in them: a two-joint arm that goes to a goal, written by the real writer."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.dataset.synthetic import CONFIG_TEXT, header
from twinloop.dataset import DatasetWriter, Header, write_shard
from twinloop.observe.recording import Feature, Recording

JOINTS = ("shoulder", "elbow")
FEATURES = (
    Feature("observation.state", "float32", (2,), JOINTS, "rad"),
    Feature("observation.environment_state", "float32", (7,),
            tuple(f"goal.{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz")), "m; quaternion"),
    Feature("action", "float32", (2,), JOINTS, "rad"),
    Feature("phase", "int64", (1,)),
    Feature("next.reward", "float32", (1,)),
    Feature("next.done", "bool", (1,)),
)  # fmt: skip


def reaching(
    path: Path, *, episodes: int = 24, seed: int = 3, gain: float = 0.3, bad: float | None = None,
    offset: float = 0.0, **changes,
) -> Path:  # fmt: skip
    """A dataset in which each action goes a share `gain` of the way to the goal.

    Args:
        bad: a value to plant in an action.
        offset: distance by which the demonstrator misses the goal on both joints.
    """
    about = header(
        features=FEATURES, episodes=episodes, shard_episodes=8, run_seed=seed, name=path.name, phases=("go",)
    )
    about = replace(about, **changes)
    with DatasetWriter.open(path, about, CONFIG_TEXT) as writer:
        for first, stop in about.plan():
            recording = _recording(range(first, stop), about, gain, bad, offset)
            columns = {
                "attempt": recording.attempts,
                "task": recording.tasks,
                "length": recording.lengths,
                "verdict": ["accepted"] * len(recording.lengths),
                "success": np.ones(len(recording.lengths), bool),
            }
            writer.commit(write_shard(writer.scratch(f"{first}"), first, stop, recording, columns, fps=about.fps))
        writer.finish()
    return path


def _recording(attempts: range, about: Header, gain: float, bad: float | None, offset: float) -> Recording:
    parts: list[dict[str, np.ndarray]] = []
    for attempt in attempts:
        rng = np.random.default_rng([about.run_seed, attempt])
        length = int(rng.integers(20, 30))
        goal, at = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)
        states, actions = np.zeros((length, 2)), np.zeros((length, 2))
        for frame in range(length):
            states[frame] = at
            actions[frame] = at = at + gain * (goal + offset - at)
        turn = rng.uniform(-np.pi, np.pi)
        pose = np.array([*goal, 0.0, np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)])
        if bad is not None and attempt == attempts[0]:
            actions[3, 1] = bad
        parts.append({
            "observation.state": states, "observation.environment_state": np.tile(pose, (length, 1)),
            "action": actions, "phase": np.zeros(length), "next.reward": np.zeros(length),
            "next.done": np.arange(length) == length - 1,
        })  # fmt: skip
    frames = {
        feature.name: np.concatenate([part[feature.name] for part in parts]).astype(feature.dtype)
        for feature in about.features
    }
    lengths = np.array([len(part["phase"]) for part in parts])
    tasks = ("go to the goal",) * len(lengths)
    return Recording(np.array(attempts), lengths, tasks, about.features, frames)
