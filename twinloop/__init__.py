"""Twinloop: a sim-to-real data pipeline for robot learning.

    import twinloop as tl

    dataset = tl.generate("cell.yaml", "datasets/demo", episodes=500)
    checkpoint = tl.train(dataset, "policies/demo")
    print(tl.evaluate(checkpoint).success)

The public names are those of `__all__`; docs/api.md describes each with an example. Every name is imported on first
use, so `import twinloop` takes milliseconds and needs no extra.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twinloop.api.deploying import deploy as deploy
    from twinloop.api.gating import promote as promote
    from twinloop.api.gating import rollback as rollback
    from twinloop.api.generating import explain as explain
    from twinloop.api.generating import generate as generate
    from twinloop.api.improving import calibrate as calibrate
    from twinloop.api.improving import diagnose as diagnose
    from twinloop.api.improving import loop as loop
    from twinloop.api.improving import plan as plan
    from twinloop.api.learning import evaluate as evaluate
    from twinloop.api.learning import finetune as finetune
    from twinloop.api.learning import train as train
    from twinloop.api.learning import value as value
    from twinloop.api.reinforcing import make_env as make_env
    from twinloop.api.reinforcing import reinforce as reinforce
    from twinloop.curate.check import Check as Check
    from twinloop.dataset.reader import Dataset as Dataset
    from twinloop.deploy.robot import LiveRobot as LiveRobot
    from twinloop.errors import CheckpointError as CheckpointError
    from twinloop.errors import ConfigError as ConfigError
    from twinloop.errors import DatasetError as DatasetError
    from twinloop.errors import PluginError as PluginError
    from twinloop.errors import RegistryError as RegistryError
    from twinloop.errors import RobotError as RobotError
    from twinloop.errors import TwinloopError as TwinloopError
    from twinloop.errors import UsageError as UsageError
    from twinloop.fleet.executor import Executor as Executor
    from twinloop.learn.checkpoint import Checkpoint as Checkpoint
    from twinloop.learn.policy import Policy as Policy
    from twinloop.randomize.parameter import Parameter as Parameter
    from twinloop.run.config import RunConfig as RunConfig
    from twinloop.run.config import load_config as load_config
    from twinloop.twin.robot import Robot as Robot
    from twinloop.twin.task import Task as Task

__version__ = "0.1.0"

_MODULES = {
    "load_config": "twinloop.run.config",
    "explain": "twinloop.api.generating",
    "generate": "twinloop.api.generating",
    "train": "twinloop.api.learning",
    "finetune": "twinloop.api.learning",
    "value": "twinloop.api.learning",
    "evaluate": "twinloop.api.learning",
    "promote": "twinloop.api.gating",
    "rollback": "twinloop.api.gating",
    "deploy": "twinloop.api.deploying",
    "diagnose": "twinloop.api.improving",
    "plan": "twinloop.api.improving",
    "calibrate": "twinloop.api.improving",
    "loop": "twinloop.api.improving",
    "make_env": "twinloop.api.reinforcing",
    "reinforce": "twinloop.api.reinforcing",
    "RunConfig": "twinloop.run.config",
    "Dataset": "twinloop.dataset.reader",
    "Checkpoint": "twinloop.learn.checkpoint",
    "Robot": "twinloop.twin.robot",
    "Task": "twinloop.twin.task",
    "Parameter": "twinloop.randomize.parameter",
    "Check": "twinloop.curate.check",
    "Policy": "twinloop.learn.policy",
    "LiveRobot": "twinloop.deploy.robot",
    "Executor": "twinloop.fleet.executor",
    "TwinloopError": "twinloop.errors",
    "UsageError": "twinloop.errors",
    "ConfigError": "twinloop.errors",
    "PluginError": "twinloop.errors",
    "DatasetError": "twinloop.errors",
    "CheckpointError": "twinloop.errors",
    "RegistryError": "twinloop.errors",
    "RobotError": "twinloop.errors",
}
"""Public name -> the module that defines it."""

__all__ = [  # noqa: RUF022 - in the order of the docs
    "load_config", "explain", "generate", "train", "finetune", "value", "evaluate", "promote", "rollback", "deploy",
    "diagnose", "plan", "calibrate", "loop",
    "make_env", "reinforce",
    "RunConfig", "Dataset", "Checkpoint", "Robot", "Task", "Parameter", "Check", "Policy", "LiveRobot", "Executor",
    "TwinloopError", "UsageError", "ConfigError", "PluginError", "DatasetError", "CheckpointError", "RegistryError",
    "RobotError",
]  # fmt: skip


class _Package(ModuleType):
    """The package `twinloop`, in which the functions deploy, diagnose and calibrate win over the folders so named.

    Importing `twinloop.deploy.session` would otherwise set the attribute `deploy` of this package to the folder.
    `from twinloop.deploy.session import ...` is not affected.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'twinloop' has no attribute {name!r}. Public names: {', '.join(_MODULES)}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
