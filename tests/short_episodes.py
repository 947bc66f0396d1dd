"""Tasks with a shorter time limit: a policy that fails need not do so for the usual 20 s and more."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

import twinloop.run.twin
from twinloop.curate import limits
from twinloop.twin.tasks import tasks


@contextmanager
def short_episodes(task: str, longest_s: float) -> Iterator[None]:
    """Episodes of a task that this process simulates or runs on a robot end after `longest_s` at the latest."""
    values = vars(tasks()[task])
    fit = values["fitted"]
    with pytest.MonkeyPatch.context() as patch:
        # In place, because configs without a task already have the default one.
        patch.setitem(values, "longest_s", longest_s)
        if fit is not None:
            patch.setitem(values, "fitted", lambda robot: replace(fit(robot), longest_s=longest_s))
        # Curation would call what takes longer than 60 % of the limit too long.
        patch.setattr(limits, "LONGEST_SHARE", 1.0)
        # Compiled twins keep the limit of their task.
        patch.setattr(twinloop.run.twin, "_COMPILED", OrderedDict())
        yield
