"""Reports from a worker to its driver: plain tuples, so that no exception objects are transferred.

("done", item, result)      ("failed", class of the error, message)      ("ended",)
"""

import traceback
from collections.abc import Iterator
from typing import Any

from twinloop import errors
from twinloop.errors import TwinloopError, WorkerError
from twinloop.fleet.executor import Work

Report = tuple[Any, ...]


def reports(work: Work, job: Any, items: Iterator[Any]) -> Iterator[Report]:
    """Run the work and yield a report for each result. The last report is `ended` or `failed`."""
    try:
        for item, result in work(job, items):
            yield "done", item, result
        yield ("ended",)
    except TwinloopError as error:
        yield "failed", type(error).__name__, str(error)
    except Exception:
        yield "failed", "WorkerError", f"a worker failed:\n{traceback.format_exc()}"


def error_of(name: str, message: str) -> TwinloopError:
    """Rebuild the error that a worker reported. Its class decides the exit code."""
    kind = getattr(errors, name, WorkerError)
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    return error
