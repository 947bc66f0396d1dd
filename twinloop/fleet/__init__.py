"""Fleet: runs work in processes on this machine or on Ray."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.fleet.executor import LOCAL as LOCAL
    from twinloop.fleet.executor import Executor as Executor
    from twinloop.fleet.executor import LocalExecutor as LocalExecutor

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Executor": "executor",
        "LocalExecutor": "executor",
        "LOCAL": "executor",
    },
)
