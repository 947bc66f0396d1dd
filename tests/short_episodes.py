"""Tasks with a shorter time limit: a policy that fails need not do so for the usual 20 s and more."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module

import pytest

import twinloop.run.twin
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks


@contextmanager
def short_episodes(task: str, longest_s: float) -> Iterator[None]:
    """Episodes of a task that this process simulates or runs on a robot end after `longest_s` at the latest.

    Configs have to name the task.
    """
    module = import_module(f"twinloop.twin.tasks.{task}")
    place = next(name for name, member in vars(module).items() if isinstance(member, Task) and member.name == task)
    usual = tasks()[task]
    fit = usual.fitted
    fitted = None if fit is None else lambda robot: replace(fit(robot), longest_s=longest_s)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, place, replace(usual, longest_s=longest_s, fitted=fitted))
        # Compiled twins keep the limit of their task.
        patch.setattr(twinloop.run.twin, "_COMPILED", OrderedDict())
        yield
