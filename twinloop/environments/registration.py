"""Gymnasium ids of all tasks: `gymnasium.make_vec("twinloop/PickAndPlace-v0", num_envs=64)`.

The ids are known as soon as Twinloop is installed, through Gymnasium's entry point for packages. Without it,
`gymnasium.make("twinloop.environments.registration:twinloop/PickAndPlace-v0")` registers them too.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import gymnasium

from twinloop.environments.make import vector_env
from twinloop.environments.single_env import TwinEnv
from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.environment import EnvironmentConfig
from twinloop.simulate.engine import Backend, EngineConfig
from twinloop.twin.tasks import tasks

NAMESPACE = "twinloop"
MOBILE_ROBOTS = {"walk": "quadruped", "go_to_goal": "diff_drive"}
"""Task of robots that move about -> its default robot."""
VERSION = 0


def id_of(task: str) -> str:
    """`pick_and_place` -> `twinloop/PickAndPlace-v0`."""
    return f"{NAMESPACE}/{''.join(word.capitalize() for word in task.split('_'))}-v{VERSION}"


def register_envs() -> None:
    """Register the id of every task. Gymnasium calls this through its entry point."""
    for task in (*tasks(), *MOBILE_ROBOTS):
        if id_of(task) not in gymnasium.registry:
            gymnasium.register(
                id_of(task),
                entry_point=cast(Any, partial(single_of_task, task)),
                vector_entry_point=cast(Any, partial(vector_of_task, task)),
                order_enforce=True,
                disable_env_checker=True,
            )


def config_of_task(task: str, *, robot: str | None = None, randomization: str = "{}") -> RunConfig:
    """The config of a task with default settings.

    Args:
        robot: another robot than the default one.
        randomization: the section of a config file, e.g. `realistic` or `{physics: {object_mass_kg: [0.1, 0.2]}}`.
    """
    robot = robot or MOBILE_ROBOTS.get(task)
    named = f", robot: {robot}" if robot else ""
    text = f"scene: {{task: {task}{named}}}\nrandomization: {randomization}\n"
    return config_from_text(text, name=id_of(task), folder=Path())


def vector_of_task(
    task: str,
    *,
    num_envs: int = 1,
    seed: int = 0,
    robot: str | None = None,
    randomization: str = "{}",
    environment: EnvironmentConfig | None = None,
    threads: int | None = None,
    engine: Backend = "cpu",
    render_mode: None = None,  # noqa: ARG001 - Gymnasium passes it
) -> VectorTwinEnv:
    config = replace(config_of_task(task, robot=robot, randomization=randomization), environment=environment)
    return vector_env(config, num_envs=num_envs, seed=seed, threads=threads, engine=EngineConfig(engine))


def single_of_task(
    task: str,
    *,
    seed: int = 0,
    robot: str | None = None,
    randomization: str = "{}",
    environment: EnvironmentConfig | None = None,
    engine: Backend = "cpu",
    render_mode: None = None,  # noqa: ARG001 - Gymnasium passes it
) -> TwinEnv:
    return TwinEnv(
        vector_of_task(task, num_envs=1, seed=seed, robot=robot, randomization=randomization,
                       environment=environment, threads=1, engine=engine)
    )  # fmt: skip


register_envs()
