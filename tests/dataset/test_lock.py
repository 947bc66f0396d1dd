import os
import signal
import subprocess
import sys

import pytest

from twinloop.dataset import WriterLock
from twinloop.errors import LockedError

HOLD = """
import sys, time
from pathlib import Path
from twinloop.dataset.lock import WriterLock
WriterLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path / "lock"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_writer_gets_the_name_of_the_first(tmp_path, holder):
    with pytest.raises(LockedError, match=f"pid {holder.pid} on {os.uname().nodename}"):
        WriterLock(tmp_path / "lock").acquire()


def test_a_holder_that_was_killed_holds_nothing(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    lock = WriterLock(tmp_path / "lock")
    lock.acquire()
    assert f"pid {os.getpid()}" in (tmp_path / "lock").read_text()
    lock.release()


def test_a_released_lock_can_be_taken_again(tmp_path):
    one, other = WriterLock(tmp_path / "lock"), WriterLock(tmp_path / "lock")
    one.acquire()
    with pytest.raises(LockedError):
        other.acquire()
    one.release()
    one.release()
    other.acquire()
    other.release()
