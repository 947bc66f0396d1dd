"""The kinematic chain of the arm that carries the tool, as numbers that a policy keeps with its weights.

With it a policy knows where its tool is from its joint positions, and learns where things are from there.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from twinloop.dataset.layout import CONFIG
from twinloop.errors import TwinloopError
from twinloop.learn.demonstrations import Demonstrations
from twinloop.learn.space import STATE
from twinloop.observe.estimate import model_of
from twinloop.run.config import RunConfig, load_config
from twinloop.run.twin import twin_of
from twinloop.twin.kinematic_chain import KinematicChain
from twinloop.twin.robots import robots
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class ToolChain:
    """Attributes:
    joints: names of the arm's joints, from the base to the tool.
    constants: (joints + 1, 17) numbers of `KinematicChain.constants`.
    """

    joints: tuple[str, ...]
    constants: np.ndarray


def chain_of(part: Demonstrations) -> ToolChain | None:
    """Return the chain of the robot that a dataset is about. None if it has several arms or is not known."""
    twin = _twin_of(part.dataset.path, part.space.robot)
    state = next((feature for feature in part.space.vectors if feature.name == STATE), None)
    if twin is None or state is None or len(twin.arms) != 1 or twin.robot.state_names != state.names:
        return None
    try:
        constants = KinematicChain(twin.model, twin.arm_joints, twin.tool_site).constants()
    except ValueError:  # e.g. a parallel mechanism
        return None
    return ToolChain(twin.robot.arm_joints, constants)


@lru_cache(maxsize=8)
def _twin_of(path: Path, robot: str) -> Twin | None:
    """The twin of a simulated dataset, or one of a known robot."""
    try:
        config = load_config(path / CONFIG) if (path / CONFIG).is_file() else None
        if isinstance(config, RunConfig) and config.scene.robot.name == robot:
            return twin_of(config)
    except (TwinloopError, OSError):  # e.g. written by another version, or its meshes are elsewhere
        pass
    return model_of(robot, 25) if robot in robots() else None
