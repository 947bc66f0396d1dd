"""A made-up run whose numbers are known: success falls at low friction, and every value follows from the attempt."""

from pathlib import Path

import numpy as np
from scipy.stats import qmc

from twinloop.dataset import DatasetWriter, Header, ShardDraft, write_shard
from twinloop.observe.recording import Feature, Recording

POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
FEATURES = (
    Feature("observation.state", "float32", (3,), ("joint1", "joint2", "gripper"), "rad; m"),
    Feature(
        "observation.environment_state",
        "float32",
        (14,),
        tuple(f"{thing}.{part}" for thing in ("object", "goal") for part in POSE),
        "m; quaternion",
    ),
    Feature("contact", "float32", (3,), ("left_finger", "right_finger", "support"), "N"),
    Feature("phase", "int64", (1,)),
)
PHASES = ("reach", "lift", "place")
CONFIG = "curate:\n  penetration_mm: 4.5\n  require_success: true\n"
SLIPPERY = 0.3


def header(episodes: int, **changes) -> Header:
    values = {
        "name": "made-up",
        "source": "sim",
        "robot": "arm",
        "fps": 20,
        "features": FEATURES,
        "phases": PHASES,
        "config_digest": "c0ffee",
        "run_seed": 11,
        "shard_episodes": 32,
        "episodes": episodes,
        "versions": {"twinloop": "0.1.0"},
    }
    return Header(**{**values, **changes})


def draws_of(episodes: int) -> dict[str, np.ndarray]:
    points = qmc.Sobol(3, scramble=True, rng=np.random.default_rng(1)).random(1 << (episodes - 1).bit_length())
    friction, mass, x = points[:episodes].T
    return {
        "friction_coefficient": 0.1 + friction,
        "object_mass_kg": 0.05 + 0.3 * mass,
        "object_position_noise_cm.x": 4 * x - 2,
    }


def verdict_of(attempt: int, friction: float) -> str:
    if attempt % 10 == 7:
        return "deep_penetration"
    return "task_failed" if friction < SLIPPERY else "accepted"


def _frames(attempt: int) -> dict[str, np.ndarray]:
    length = 20 + attempt % 7
    time = np.linspace(0, 1, length)
    environment = np.zeros((length, 14), np.float32)
    environment[:, 1], environment[:, 2] = 0.3 * time, 0.1 * np.sin(np.pi * time)
    environment[:, 8] = 0.3
    state = np.column_stack([time, -time, 0.04 * (time < 0.5)]).astype(np.float32)
    force = np.column_stack([10 * time, 9 * time, 0 * time]).astype(np.float32)
    return {
        "observation.state": state,
        "observation.environment_state": environment,
        "contact": force,
        "phase": np.minimum((3 * time).astype(np.int64), 2),
    }


def write_run(
    path: Path,
    *,
    episodes: int,
    committed: int | None = None,
    task: str = "put it there",
    draws: bool = True,
    all_fail: bool = False,
    **changes,
) -> list[str]:
    """Write a dataset, only its first `committed` shards where given; returns the verdicts of all attempts."""
    head = header(episodes, **changes)
    drawn = draws_of(episodes)
    verdicts = [verdict_of(attempt, drawn["friction_coefficient"][attempt]) for attempt in range(episodes)]
    verdicts = ["task_failed"] * episodes if all_fail else verdicts
    with DatasetWriter.open(path, head, CONFIG) as writer:
        for first, stop in writer.plan()[:committed]:
            writer.commit(_shard(writer.scratch(f"{first}"), first, stop, head, verdicts, drawn if draws else {}, task))
        if committed is None:
            writer.finish()
    return verdicts


def _shard(
    folder: Path,
    first: int,
    stop: int,
    head: Header,
    verdicts: list[str],
    drawn: dict[str, np.ndarray],
    task: str,
) -> ShardDraft:
    attempts = range(first, stop)
    stored = [attempt for attempt in attempts if head.keep_rejected or verdicts[attempt] == "accepted"]
    episodes = [_frames(row) for row in stored]
    lengths = np.array([len(episode["phase"]) for episode in episodes], np.int64)
    recording = Recording(
        attempts=np.array(stored, np.int64),
        lengths=lengths,
        tasks=(task,) * len(stored),
        features=FEATURES,
        frames={
            name: np.concatenate([values[:0], *(episode[name] for episode in episodes)])
            for name, values in _frames(0).items()
        },
    )
    rows = np.zeros(stop - first, np.int64)
    rows[np.array(stored, int) - first] = lengths
    columns = {
        "attempt": np.arange(first, stop),
        "task": [task] * (stop - first),
        "length": rows,
        "verdict": verdicts[first:stop],
        "success": np.array([verdict != "task_failed" for verdict in verdicts[first:stop]]),
        "duration_s": np.array([(20 + attempt % 7) / head.fps for attempt in attempts]),
        "last_phase": ["place" if verdicts[attempt] == "accepted" else "lift" for attempt in attempts],
        **{f"draw/{name}": values[first:stop] for name, values in drawn.items()},
    }
    return write_shard(folder, first, stop, recording, columns, fps=head.fps)
