"""StoredEpisode: one stored episode with its frames, its row of the dataset, its config and body poses."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from twinloop.config.yaml_file import parse_yaml
from twinloop.dataset import Dataset
from twinloop.errors import DatasetError, UsageError
from twinloop.observe.poses import BodyPoses, draws_of, poses_of
from twinloop.observe.recording import Feature
from twinloop.observe.walk_poses import walk_poses
from twinloop.observe.wheel_poses import wheel_poses
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.run.walk import WalkConfig, walk_twin_of
from twinloop.run.wheels import WheelsConfig, wheel_twin_of
from twinloop.twin.objects import OBJECTS

CLEAN = "clean."
STATE, ENVIRONMENT, CORNERS = "observation.state", "observation.environment_state", "object_nodes"
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
DRAW, LABEL = "draw/", "label."


@dataclass(frozen=True)
class StoredEpisode:
    """A stored episode.

    Attributes:
        frames: column -> (f, ...), without images.
        columns: the row of the attempt, e.g. with its verdict.
        config: config of the twin; None if the robot's model is not available.
        poses: poses of the twin's bodies; None like `config`.
        note: why `config` and `poses` are missing.
    """

    dataset: Dataset
    episode_index: int
    attempt: int
    frames: Mapping[str, np.ndarray]
    columns: Mapping[str, Any]
    config: RunConfig | None
    poses: BodyPoses | None
    note: str = ""

    @property
    def length(self) -> int:
        return len(self.frames["timestamp"])

    @property
    def time_s(self) -> np.ndarray:
        """Rounded to a microsecond, because float32 cannot represent 0.04 s exactly."""
        return np.round(np.asarray(self.frames["timestamp"], float), 6)

    @property
    def features(self) -> tuple[Feature, ...]:
        return self.dataset.header.features

    @property
    def drawn(self) -> dict[str, float]:
        values = {name.removeprefix(DRAW): value for name, value in self.columns.items() if name.startswith(DRAW)}
        return {name: float(value) for name, value in values.items() if isinstance(value, (int, float))}

    def truest(self, feature: str) -> np.ndarray | None:
        """The clean recording of a feature if there is one, otherwise the sensor values."""
        clean = self.frames.get(CLEAN + feature)
        return self.frames.get(feature) if clean is None else clean

    def things(self) -> dict[str, np.ndarray]:
        """Name -> (f, 7) world poses, for every thing whose full pose is in a feature."""
        poses: dict[str, np.ndarray] = {}
        for feature in self.features:
            values = None if feature.is_picture else self.truest(feature.name)
            # Poses in labels are in the camera frame, not in the world.
            if values is None or feature.name.startswith((CLEAN, LABEL)):
                continue
            for thing in dict.fromkeys(name.rpartition(".")[0] for name in feature.names):
                parts = [f"{thing}.{part}" for part in POSE]
                if thing and set(parts) <= set(feature.names):
                    poses[thing] = values[:, [feature.names.index(part) for part in parts]]
        return poses


def read_stored_episode(
    dataset: Dataset, *, episode_index: int | None = None, attempt: int | None = None
) -> StoredEpisode:
    """Read one stored episode by its index among stored episodes or by its index in the run."""
    frames = dataset.episode(episode_index, attempt=attempt)
    attempt = int(frames["attempt"][0])
    table = dataset.attempts()
    numbers, lengths = (np.asarray(table[name].to_pylist()) for name in ("attempt", "length"))
    index = int(np.count_nonzero(lengths[numbers < attempt]))
    (row,) = table.filter(numbers == attempt).to_pylist()
    episode = StoredEpisode(dataset, index, attempt, frames, row, None, None)
    state, environment = episode.truest(STATE), episode.truest(ENVIRONMENT)
    corners = episode.truest(CORNERS)
    if environment is not None and corners is not None:
        environment = np.concatenate([environment, corners], axis=1)
    try:
        config = config_from_text(_scene_text(dataset, row), name="config.yaml", folder=dataset.path)
        if state is None or environment is None:
            return StoredEpisode(dataset, index, attempt, frames, row, config, None, "no joint positions are stored")
        if isinstance(config, WalkConfig):
            poses = walk_poses(walk_twin_of(config), state, environment)
        elif isinstance(config, WheelsConfig):
            poses = wheel_poses(
                wheel_twin_of(config), draws_of(attempt, episode.drawn), state, environment,
                seed=dataset.header.run_seed, fixed=config.scene.fixed,
            )  # fmt: skip
        else:
            poses = poses_of(twin_of(config), draws_of(attempt, episode.drawn), state, environment)
    except (UsageError, DatasetError) as error:
        # Signals and images can be shown without the twin, e.g. if the robot's model file is missing.
        return StoredEpisode(dataset, index, attempt, frames, row, None, None, str(error))
    return StoredEpisode(dataset, index, attempt, frames, row, config, poses)


def _scene_text(dataset: Dataset, row: Mapping[str, Any]) -> str:
    """The config of a simulated dataset. For a recorded one: a config with its robot, task and object."""
    text = dataset.config_text()
    values, _ = parse_yaml(text, "config.yaml")
    recorded = values.get("recorded")
    if not isinstance(recorded, dict):
        return text
    scene = {"robot": recorded.get("robot"), "task": recorded.get("task")}
    if row.get("condition/object") in OBJECTS:
        scene["object"] = row["condition/object"]
    return json.dumps({"scene": scene})
