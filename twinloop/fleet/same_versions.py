"""Workers of one job compute the same bits only with the same versions of what decides them."""

import platform
from collections.abc import Iterable, Mapping

from twinloop.errors import WorkerError


def refuse_other_versions(wanted: Iterable[tuple[str, str]], here: Mapping[str, str], *, otherwise: str) -> None:
    """wanted: the driver's. otherwise: what would come of it, as `the fit would ...`."""
    other = [f"{name} {here.get(name, 'none')} instead of {given}" for name, given in wanted if here.get(name) != given]
    if other:
        said = f"the worker on {platform.node()} has {', '.join(other)}"
        raise WorkerError(f"{said}; install the same everywhere, or {otherwise}")
