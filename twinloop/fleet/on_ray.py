"""Work on Ray: a task is a few items for one worker, which reports each item as soon as it is done.

Tasks are stateless. The unfinished items of a lost worker go to another one, so that a lost machine costs only those.
Ray's own retries are off: they would repeat items that were already reported.
"""

import os
import secrets
import socket
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from twinloop import __version__
from twinloop.errors import UsageError, WorkerError
from twinloop.fleet.executor import Work
from twinloop.fleet.reports import Report, error_of, reports

MAX_WORKER_FAILURES = 10  # per item: lost machines cause a few, an item that crashes its worker causes all
SHARES = 2  # a task is 1/(SHARES * workers) of the remaining items: tasks get smaller, so workers end together
STORE_BYTES = 256 << 20  # size of Ray's object store: results are small, and the default is a third of the memory
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class _Sent:
    """A job that is already in Ray's object store."""

    reference: Any


@dataclass(frozen=True)
class RayExecutor:
    """Runs work on Ray.

    Attributes:
        address: address of a running cluster; `auto` for the cluster that this machine belongs to. None starts Ray on
            this machine for this process alone, with all ports on loopback, a new token and no dashboard.
    """

    address: str | None = None
    name: str = "ray"

    def __post_init__(self) -> None:
        _imported(self.address)  # fails early if Ray is not installed

    def capacity(self) -> int:
        return max(1, int(_connected(self.address).cluster_resources().get("CPU", 1)))

    def sent(self, job: Any) -> Any:
        return _Sent(_connected(self.address).put(job))

    def run(self, work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:
        waiting = deque(enumerate(items))  # numbered, because an item may not be hashable
        if not waiting:
            return
        ray = _connected(self.address, cores=max(workers, os.cpu_count() or 1))
        # The requested number of workers runs in parallel, also on fewer cores. A cluster may scale up instead.
        share = 1.0 if self.address else min(1.0, self.capacity() / workers)
        options = {"num_cpus": int(share * 1000) / 1000, "num_returns": "streaming", "max_retries": 0}
        task = ray.remote(serve).options(name=f"twinloop.{work.__name__}", **options)
        # The job is stored once for all tasks, because it may be large; every machine keeps a copy.
        tasks = _Tasks(ray, task, ray.put((work.__module__, work.__name__, job)), waiting)
        try:
            yield from tasks.run(workers)
        finally:
            tasks.stop()


def serve(call: tuple[str, str, Any], version: str, items: list[Any]) -> Iterator[Report]:
    """Run one task on a Ray worker and yield its reports."""
    module, name, job = call
    if version != __version__:
        message = (
            f"a worker has twinloop {__version__}, the driver has {version}; install the same version on all machines"
        )
        yield "failed", "WorkerError", message
        return
    if isinstance(job, _Sent):
        import ray

        job = ray.get(job.reference)
    # With a worker on every core, Mesa's own threads only wait. Pixels are the same at any number of threads.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    yield from reports(getattr(import_module(module), name), job, iter(items))


class _Tasks:
    """The running tasks and their unfinished items."""

    def __init__(self, ray: Any, task: Any, call: Any, waiting: deque):
        self.ray, self.task, self.call, self.waiting = ray, task, call, waiting
        self.taken: dict[Any, list[tuple[int, Any]]] = {}
        self.failures: Counter[int] = Counter()

    def run(self, workers: int) -> Iterator[tuple[Any, Any]]:
        while self.waiting or self.taken:
            while self.waiting and len(self.taken) < workers:
                self.start(workers)
            (stream,), _ = self.ray.wait(list(self.taken), num_returns=1)
            try:
                kind, *content = self.ray.get(next(stream))
            except StopIteration:
                self.end(stream, "its task ended early")
                continue
            except self.ray.exceptions.RayTaskError as error:
                raise WorkerError(
                    f"a Ray worker could not start; check that twinloop is installed there\n{error}"
                ) from None
            except self.ray.exceptions.RayError as error:
                self.end(stream, str(error).partition("\n")[0])
                continue
            if kind == "failed":
                self.taken[stream].clear()  # the task ends by itself, so `stop` must not cancel it
                raise error_of(*content)
            if kind == "done":
                item, result = content
                self.taken[stream].remove(next(entry for entry in self.taken[stream] if entry[1] == item))
                yield item, result

    def start(self, workers: int) -> None:
        count = -(-len(self.waiting) // (SHARES * workers))
        taken = [self.waiting.popleft() for _ in range(count)]
        self.taken[self.task.remote(self.call, __version__, [item for _, item in taken])] = taken

    def end(self, stream: Any, how: str) -> None:
        """Repeat the unfinished items of a task that ended.

        The failure counts against the first of them, which the worker was processing; it may not have begun the others.
        """
        lost = self.taken.pop(stream)
        self.waiting.extendleft(reversed(lost))
        for number, item in lost[:1]:
            self.failures[number] += 1
            if self.failures[number] >= MAX_WORKER_FAILURES:
                raise WorkerError(
                    f"{MAX_WORKER_FAILURES} workers died over {item!s:.80} (the last: {how}); is there enough memory? "
                    "Fewer --workers or a smaller parallel_envs need less"
                )

    def stop(self) -> None:
        """Cancel the tasks with unfinished items. Ray aborts a driver that cancels a task which is just ending."""
        for stream, in_hand in self.taken.items():
            if in_hand:
                with suppress(self.ray.exceptions.RayError):
                    self.ray.cancel(stream, force=True)


def _imported(address: str | None) -> Any:
    """Import and return the module `ray`, or raise UsageError if it is not installed."""
    if "ray" not in sys.modules:  # Ray reads these variables once, at import
        if address is None or address.startswith((LOOPBACK, "localhost")):
            # Otherwise Ray opens its ports on all interfaces, even on a single machine.
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        if address is None:
            os.environ["RAY_AUTH_MODE"] = "token"
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report its usage over the network
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # silences an internal warning of Ray
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise UsageError(
            f"--executor ray: Ray is not installed ({error}); run: pip install 'twinloop[ray]', or use --executor local"
        ) from None
    return ray


def _connected(address: str | None, *, cores: int | None = None) -> Any:
    """Connect to Ray if necessary and return the module `ray`."""
    ray = _imported(address)
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    if address is not None:
        try:
            _knock(address)
            ray.init(address=address, **quiet)
        except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            advice = (
                "check that it is running (ray status), and that RAY_AUTH_MODE and RAY_AUTH_TOKEN are those "
                "of the cluster"
            )
            raise UsageError(f"--address {address}: no Ray cluster answers ({_line(error)}); {advice}") from None
        return ray
    try:
        ray.init(address="local", num_cpus=cores, include_dashboard=False, object_store_memory=STORE_BYTES, **quiet)
    except (OSError, RuntimeError, ray.exceptions.RayError) as error:
        raise WorkerError(f"--executor ray: Ray could not be started ({_line(error)})") from None
    if ray.util.get_node_ip_address() != LOOPBACK or os.environ.get("RAY_AUTH_MODE") != "token":
        ray.shutdown()
        raise UsageError(
            "--executor ray: Ray was imported before Twinloop could configure it, so its ports would be open to the "
            "network or without a token. Set RAY_AUTH_MODE=token and RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 before the "
            "import, or start a cluster yourself and give its --address"
        )
    return ray


def _knock(address: str) -> None:
    """Raise OSError if no server listens at the address, because Ray itself would end this process."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=10).close()


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200]
