"""Promise: exactly one of several simultaneous writers wins, the others name it, and a dead one holds no lock."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.dataset.synthetic import CONFIG_TEXT, header
from tests.faults.conftest import Undisturbed
from tests.faults.counts import times
from twinloop.dataset import DatasetWriter, WriterLock
from twinloop.errors import LockedError


@dataclass(frozen=True)
class Starter:
    """A process that waits for a signal, then opens the dataset and reports the result."""

    pid: int
    start: int
    answers: int

    def answer(self) -> str:
        return os.read(self.answers, 4096).decode()

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.start)
        os.close(self.answers)


def starter(path: Path) -> Starter:
    line, start = os.pipe()
    answers, answer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.read(line, 1)
            try:
                DatasetWriter.open(path, header(), CONFIG_TEXT)
                os.write(answer, b"won")
            except LockedError as error:
                os.write(answer, str(error).encode())
            except BaseException as error:  # any other error is reported to the test
                os.write(answer, f"failed: {error!r}".encode())
            signal.pause()
        finally:
            os._exit(1)  # and not on into pytest
    os.close(line)
    os.close(answer)
    return Starter(pid, start, answers)


@contextmanager
def racing(path: Path, count: int) -> Iterator[tuple[Starter, list[str]]]:
    """Start `count` writers at once; return the one that got the lock and the messages of the others."""
    starters = [starter(path) for _ in range(count)]
    try:
        for competitor in starters:
            os.write(competitor.start, b"!")
        answers = {competitor: competitor.answer() for competitor in starters}
        (winner,) = (competitor for competitor, output in answers.items() if output == "won")
        yield winner, [output for competitor, output in answers.items() if competitor is not winner]
    finally:
        for competitor in starters:
            competitor.end()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("count", [2, 8])
def test_of_simultaneous_starts_one_wins_and_the_others_name_it(tmp_path: Path, count: int):
    """Repeated in the same folder: the last winner was killed, and its name is still in the lock file."""
    for _ in range(times(5, 50)):
        with racing(tmp_path / "d", count) as (winner, others):
            named = f"is being written by pid {winner.pid} on {os.uname().nodename}"
            assert [output for output in others if named not in output] == []


def test_of_simultaneous_commands_one_wins_and_the_others_name_it(undisturbed: Undisturbed, tmp_path: Path):
    out = tmp_path / "data"
    command = [*undisturbed.command(out), "--episodes", "100000"]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(times(2, 8))
    ]
    try:
        while len([process for process in running if process.poll() is None]) > 1:
            next(process for process in running if process.poll() is None)
            os.sched_yield()
            signal.sigtimedwait([], 0.05)
        (winner,) = (process for process in running if process.returncode is None)
        for process in running:
            if process is not winner:
                assert process.returncode == 1
                assert process.stdout is not None
                assert f"pid {winner.pid} " in json.loads(process.stdout.read().splitlines()[-1])["error"]
    finally:
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
    lock = WriterLock(out / "lock")  # the lock of a dead process is free
    lock.acquire()
    lock.release()
