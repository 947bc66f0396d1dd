"""A writer lease in an object store: a numbered object that its holder rewrites periodically.

A writer creates the object with the next number, which only one process can do. The lease with the highest number is
valid while it is fresh according to the store's clock. A dead holder on this machine is detected at once.
Correctness does not depend on the lease: two writers would do the same work twice and commit it once.
"""

import json
import os
import secrets
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from twinloop.config.record import read_record, write_record
from twinloop.config.section import Section
from twinloop.errors import ConfigError, LockedError, StorageError

from .layout import LEASES
from .objects import Objects

LEASE_S = 60.0
BEATS = 4  # renewals per lease period


@dataclass(frozen=True)
class Holder:
    """The process that holds a lease.

    Attributes:
        host: host name.
        boot: boot id of the machine.
        pid: process id.
        started: start time of the process in kernel ticks. It distinguishes processes that reuse a pid.
        since: time at which the lease was requested.
        released: whether the holder has released the lease.
        nonce: random, so that no two leases have the same bytes.
    """

    host: str
    boot: str
    pid: int
    started: str
    since: str
    released: bool = False
    nonce: str = ""

    @classmethod
    def this_process(cls) -> "Holder":
        now = datetime.now(UTC).isoformat(timespec="seconds")
        process = socket.gethostname(), _boot(), os.getpid(), _started(os.getpid()), now
        return cls(*process, nonce=secrets.token_hex(8))

    def to_bytes(self, *, released: bool) -> bytes:
        return json.dumps(write_record(replace(self, released=released))).encode()

    @property
    def known_dead(self) -> bool:
        """Whether the holder ran on this machine since its last boot and has ended."""
        return self.boot == _boot() and _started(self.pid) != self.started

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host} since {self.since}"


class Lease:
    """The right to write to a dataset. A thread renews it until `release`.

    Attributes:
        lost_to: the writer that has taken over the lease, or None.
    """

    def __init__(self, objects: Objects, *, lease_s: float = LEASE_S):
        self._objects, self._lease_s = objects, lease_s
        self._mine, self._key = Holder.this_process(), ""
        self._over = threading.Event()
        self.lost_to: str | None = None

    def acquire(self) -> None:
        number, holder = self._last()
        if holder is not None and not holder.released and not holder.known_dead:
            left_s = self._left_s(_key(number))
            if left_s > 0:
                self._refuse(str(holder), left_s)
        key = _key(number + 1)
        if not self._objects.create(key, self._mine.to_bytes(released=False)):
            self._refuse(str(self._last()[1] or "another process"), self._lease_s)
        self._key = key
        self._objects.delete([old for old in self._numbered() if old < key])
        threading.Thread(target=self._beat, daemon=True).start()

    def release(self) -> None:
        if self._key and not self._over.is_set():
            self._over.set()
            if self.lost_to is None:
                with suppress(StorageError):  # the lease then expires
                    self._objects.write(self._key, self._mine.to_bytes(released=True))

    def require(self) -> None:
        """Raise LockedError if another writer has taken over because this process stalled for a lease period."""
        if self.lost_to is not None:
            reason = (
                f"is being written by {self.lost_to}, because this process did not renew its lock for more "
                f"than {self._lease_s:g} s"
            )
            raise LockedError(f"{self._objects.remote}: {reason}; wait until it ends")

    def _refuse(self, holder: str, left_s: float) -> None:
        advice = f"wait until it ends; if it was killed, the lock expires in {left_s:.0f} s"
        raise LockedError(f"{self._objects.remote}: is being written by {holder}; {advice}")

    def _numbered(self) -> list[str]:
        return sorted(key for key in self._objects.sizes(LEASES) if key.endswith(".json"))

    def _last(self) -> tuple[int, Holder | None]:
        keys = self._numbered()
        if not keys:
            return 0, None
        number = int(Path(keys[-1]).stem)
        try:
            return number, read_record(Holder, Section("", "", json.loads(self._objects.read(keys[-1]) or b""), {}))
        except (ValueError, ConfigError):
            return number, None

    def _left_s(self, key: str) -> float:
        """Return the seconds until this lease expires. Both times are from the store, so local clocks do not matter."""
        probe = f"{LEASES}/probe-{secrets.token_hex(8)}"
        self._objects.write(probe, b"")
        now, written = self._objects.modified(probe), self._objects.modified(key)
        self._objects.delete([probe])
        return 0.0 if now is None or written is None else self._lease_s - (now - written).total_seconds()

    def _beat(self) -> None:
        while not self._over.wait(self._lease_s / BEATS):
            try:
                later = [key for key in self._numbered() if key > self._key]
                if later:
                    self.lost_to = str(self._last()[1] or "another process")
                    return
                self._objects.write(self._key, self._mine.to_bytes(released=False))
            except StorageError:
                continue  # if the store stays unreachable, the writer's own requests raise the error


def _key(number: int) -> str:
    return f"{LEASES}/{number:06d}.json"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Return the start time of the process in kernel ticks, or "" if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
