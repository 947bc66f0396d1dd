"""Version check: workers of one job compute identical results only with the same package versions."""

import platform
from collections.abc import Iterable, Mapping

from twinloop.errors import WorkerError


def refuse_other_versions(expected: Iterable[tuple[str, str]], installed: Mapping[str, str], *, otherwise: str) -> None:
    """Raise WorkerError if versions on this worker differ from those of the driver.

    Args:
        expected: (name, version) on the driver.
        installed: name -> version on this worker.
        otherwise: the consequence, for the message, as in `the fit would ...`.
    """
    other = [
        f"{name} {installed.get(name, 'none')} instead of {given}"
        for name, given in expected
        if installed.get(name) != given
    ]
    if other:
        problem = f"the worker on {platform.node()} has {', '.join(other)}"
        raise WorkerError(f"{problem}; install the same versions on all machines; otherwise {otherwise}")
