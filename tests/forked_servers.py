"""Policies and rehearsal cells in forks of the test process, for tests of something else than how they start.

A new process imports torch and MuJoCo, which takes 1.5 s of CPU time; a fork has them already. The tests of
`PolicyProcess`, `RehearsalRobot` and `deploy`, and of commands in a process of their own, start servers as users do.
"""

import os
import runpy
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest

from twinloop.deploy.policy import client as policy_client
from twinloop.deploy.rehearsal import client as rehearsal_client


class ForkedServer:
    """The part of `subprocess.Popen` that clients of these servers use. command: `python -m MODULE ARGUMENTS`."""

    def __init__(self, command: Sequence[str], *, pass_fds: Sequence[int], **_: object):
        _python, switch, module, *arguments = command
        assert switch == "-m"
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                _close_files(besides=pass_fds)
                _run(module, arguments)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)  # and not on into pytest

    def wait(self, timeout: float = float("inf")) -> int:
        deadline = time.monotonic() + timeout
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("server", timeout)
            else:
                time.sleep(0.002)
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def _close_files(*, besides: Sequence[int]) -> None:
    """Close all other files, as a new process does. Otherwise the server would keep its client's end open."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor not in besides:
            with suppress(OSError):
                os.close(descriptor)


def _run(module: str, arguments: Sequence[str]) -> None:
    warnings.simplefilter("ignore")  # the module is imported already
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__")


@contextmanager
def forked_servers() -> Iterator[None]:
    """Policies and rehearsal cells that this process starts are forks of it."""
    with pytest.MonkeyPatch.context() as patch:
        forks = SimpleNamespace(Popen=ForkedServer, TimeoutExpired=subprocess.TimeoutExpired)
        for client in (policy_client, rehearsal_client):
            patch.setattr(client, "subprocess", forks)
        yield
