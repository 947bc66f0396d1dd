"""Registry: a folder with pinned checkpoints, a ledger of decisions, and a pointer to the live policy.

ledger.jsonl, head.json   all decisions; number and digest of the last record
production.json           the pointer: the live checkpoint and the record that made it live; replaced atomically
checkpoints/, evidence/   copies of checkpoints and evaluations, by digest
decisions/, incidents/    pages of decisions; episodes to diagnose
scratch/, lock            unfinished files; the lock of the writer

A promotion has three steps: a record of the decision, the new pointer, and a record that confirms it. After a kill
before the pointer is replaced, the old policy stays live. After a kill later than that, the new policy is live, and the
next writer adds the missing record.
"""

import getpass
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from twinloop.dataset.lock import WriterLock
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import LockedError, RegistryError
from twinloop.gate import store
from twinloop.gate.ledger import Ledger, LedgerRecord, append, read_ledger, recover
from twinloop.gate.registry_state import (
    CHECKPOINT,
    DECISION,
    LIVE,
    NOTHING_LIVE,
    PINNED,
    POINTER,
    PROMOTED,
    ROLLED_BACK,
    WITHDRAWN,
    RegistryState,
    Stage,
    state_of,
)

PRODUCTION, LOCK, SCRATCH, DECISIONS = "production.json", "lock", "scratch", "decisions"
LARGEST_POINTER_BYTES = 1 << 16
FORMAT_VERSION = 1
WAIT_S = 10.0
"""Timeout for the lock. Commits are short, and a session on a robot does not hold the lock."""


@dataclass(frozen=True)
class Live:
    """The content of the production pointer.

    Attributes:
        checkpoint: digest of the live checkpoint; "" if nothing is live.
        record: digest of the decision that set the pointer.
        since: ISO 8601, UTC.
    """

    checkpoint: str
    record: str
    since: str


@dataclass(frozen=True)
class Registry:
    """A snapshot of a registry at the time of opening. Reading takes no lock."""

    path: Path
    ledger: Ledger
    live: Live | None

    @classmethod
    def open(cls, path: Path) -> "Registry":
        """Read and check ledger and pointer.

        Raises:
            RegistryError: the ledger or the pointer is damaged; then nothing is live.
        """
        # The pointer is read first, because its record is in the ledger before it. If it moved meanwhile, retry.
        while True:
            live = _pointer(path)
            ledger = read_ledger(path).require()
            if _pointer(path) == live:
                break
        if live is not None:
            _authorised(path, live, ledger)
        elif any(record.kind == POINTER for record in ledger.records):
            raise RegistryError(f"{path / PRODUCTION}: is missing, but the ledger names a live policy; nothing is live")
        return cls(path, ledger, live)

    @cached_property
    def state(self) -> RegistryState:
        """State derived from the records, including a pointer change that a kill left unconfirmed."""
        records, missing = self.ledger.records, self._unconfirmed()
        return state_of((*records, missing) if missing else records)

    @property
    def production(self) -> str:
        """Digest of the live checkpoint, or ""."""
        return self.live.checkpoint if self.live else ""

    def stage(self, digest: str) -> Stage | None:
        if digest and digest == self.production:
            return "production"
        return self.state.stages.get(digest)

    def pinned(self, digest: str) -> store.Pinned:
        return store.pinned(self.path, digest)

    def production_checkpoint(self) -> store.Pinned:
        """Verify and return the checkpoint that a robot is to run.

        Raises:
            RegistryError: nothing is live.
        """
        if not self.production:
            raise RegistryError(f"{self.path}: nothing is live; promote a policy with `twinloop promote`")
        return self.pinned(self.production)

    def record(self, digest: str) -> LedgerRecord:
        for record in self.ledger.records:
            if record.digest == digest:
                return record
        raise RegistryError(f"{self.ledger.path}: has no record {digest[:12]}...")

    def _unconfirmed(self) -> LedgerRecord | None:
        """Return the record that confirms the pointer if a kill prevented writing it; otherwise None."""
        if self.live is None or any(
            record.kind == POINTER and record.details.get("decision") == self.live.record
            for record in self.ledger.records
        ):
            return None
        decision = self.record(self.live.record)
        return _record(self.ledger, decision.actor, POINTER, LIVE if self.live.checkpoint else NOTHING_LIVE,
                       checkpoint=self.live.checkpoint, transition=decision.transition, time=self.live.since,
                       details={"decision": self.live.record, "verdict": decision.verdict})  # fmt: skip


class Writer:
    """Changes a registry; only one exists at a time. Made by `writing`. Each change is on the disk when it returns."""

    def __init__(self, path: Path, actor: str):
        self.path, self._actor = path, actor
        self.scratch = path / SCRATCH
        recover(path, scratch=self.scratch)
        registry = Registry.open(path)
        missing = registry._unconfirmed()
        if missing:
            append(path, missing, scratch=self.scratch)

    @property
    def registry(self) -> Registry:
        return Registry.open(self.path)

    def pin(self, folder: Path) -> store.Pinned:
        """Copy a checkpoint into the registry. The first time, record it as a candidate."""
        pinned = store.pin_checkpoint(self.path, folder, scratch=self.scratch)
        if pinned.digest not in self.registry.state.stages:
            details = {"name": folder.resolve().name, "policy": pinned.card.policy, "robot": pinned.card.space.robot}
            self.add(CHECKPOINT, PINNED, checkpoint=pinned.digest, details=details)
        return pinned

    def pin_evaluation(self, folder: Path) -> tuple[str, Path]:
        return store.pin_evaluation(self.path, folder, scratch=self.scratch)

    def add(self, kind: str, verdict: str, **values: Any) -> LedgerRecord:
        """Append a record. `values` are further fields of `LedgerRecord`."""
        record = _record(read_ledger(self.path).require(), self._actor, kind, verdict, **values)
        append(self.path, record, scratch=self.scratch)
        return record

    def decide(self, verdict: str, *, checkpoint: str, transition: str, **values: Any) -> LedgerRecord:
        """Record a decision, then carry it out: a promotion to production moves the pointer."""
        record = self.add(DECISION, verdict, checkpoint=checkpoint, transition=transition, **values)
        if verdict == PROMOTED and transition.endswith(" -> production"):
            self._point(checkpoint, record)
        return record

    def roll_back(self, *, to: str = "", reasons: Sequence[str], **values: Any) -> LedgerRecord:
        """Make the previous production policy live, or policy `to`, which must have been live before."""
        registry = self.registry
        leaving = registry.production
        if not leaving:
            raise RegistryError(f"{self.path}: nothing is live, so there is nothing to roll back")
        target = to or registry.state.previous
        been = {record.checkpoint for record in registry.state.history if record.verdict == LIVE}
        if not target or target not in been or target == leaving:
            known = ", ".join(sorted(digest[:12] for digest in been - {leaving}))
            problem = (
                f"{target[:12]}... was never live, or is live now" if target else "no policy was live before this one"
            )
            choice = f"Policies to roll back to: {known}" if known else "There is no policy to roll back to"
            raise RegistryError(
                f"{self.path}: {problem}. {choice}. `twinloop rollback --to nothing` leaves nothing live"
            )
        registry.pinned(target)  # raises an error if the checkpoint was altered
        record = self.add(
            DECISION, ROLLED_BACK, checkpoint=target, transition=f"{leaving[:12]} -> {target[:12]}", reasons=reasons,
            **values,
        )  # fmt: skip
        self._point(target, record)
        return record

    def withdraw(self, *, reasons: Sequence[str], **values: Any) -> LedgerRecord:
        """Make nothing live. A robot that asks for the live policy then gets an error."""
        leaving = self.registry.production
        if not leaving:
            raise RegistryError(f"{self.path}: nothing is live already")
        record = self.add(
            DECISION, WITHDRAWN, checkpoint=leaving, transition=f"{leaving[:12]} -> nothing", reasons=reasons, **values
        )
        self._point("", record)
        return record

    def _point(self, checkpoint: str, decision: LedgerRecord) -> None:
        since = _now()
        content = {
            "format_version": FORMAT_VERSION, "checkpoint": checkpoint, "record": decision.digest, "since": since,
        }  # fmt: skip
        text = json_text(content)
        with storage_errors(self.path):
            replace_file(self.path / PRODUCTION, text.encode(), scratch=self.scratch)
        missing = self.registry._unconfirmed()
        if missing:
            append(self.path, missing, scratch=self.scratch)


@contextmanager
def writing(path: Path, *, actor: str = "") -> Iterator[Writer]:
    """Lock a registry, create it if it does not exist, and repair it after a kill. `actor` defaults to the user."""
    with storage_errors(path):
        (path / SCRATCH).mkdir(parents=True, exist_ok=True)
    lock = WriterLock(path / LOCK)
    with storage_errors(path):
        _acquire(lock)
    try:
        yield Writer(path, actor or getpass.getuser())
    finally:
        lock.release()


def _acquire(lock: WriterLock) -> None:
    until = time.monotonic() + WAIT_S
    while True:
        try:
            lock.acquire()
        except LockedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def json_text(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=2, allow_nan=False) + "\n"


def _pointer(folder: Path) -> Live | None:
    path = folder / PRODUCTION
    if not path.exists():
        return None
    values = store.read_json(path, LARGEST_POINTER_BYTES)
    try:
        if values["format_version"] != FORMAT_VERSION:
            raise ValueError(f"format_version {values['format_version']!r}")
        checkpoint, record, since = (str(values[key]) for key in ("checkpoint", "record", "since"))
        datetime.fromisoformat(since)
    except (KeyError, ValueError) as error:
        raise RegistryError(f"{path}: is not a valid pointer ({error!s:.100}); nothing is live") from None
    if checkpoint:
        store.checked(checkpoint)
    return Live(checkpoint, store.checked(record), since)


def _authorised(folder: Path, live: Live, ledger: Ledger) -> None:
    """Check that the pointer agrees with its decision in the ledger and that no later pointer record exists."""
    path = folder / PRODUCTION
    decision = next((record for record in ledger.records if record.digest == live.record), None)
    if decision is None or decision.kind != DECISION:
        raise RegistryError(f"{path}: names a decision that is not in the ledger; nothing is live")
    allowed = {PROMOTED: decision.checkpoint, ROLLED_BACK: decision.checkpoint, WITHDRAWN: ""}
    to_production = decision.verdict != PROMOTED or decision.transition.endswith(" -> production")
    if not to_production or allowed.get(decision.verdict) != live.checkpoint:
        raise RegistryError(f"{path}: names a checkpoint that its decision did not make live; nothing is live")
    later = [
        record for record in ledger.records
        if record.kind == POINTER and record.sequence > decision.sequence
        and record.details.get("decision") != live.record
    ]  # fmt: skip
    if later:
        raise RegistryError(f"{path}: is older than record {later[-1].sequence} of the ledger; nothing is live")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _record(ledger: Ledger, actor: str, kind: str, verdict: str, *, time: str = "", **values: Any) -> LedgerRecord:
    lists: dict[str, Any] = {key: tuple(values[key]) for key in ("evidence", "reasons") if key in values}
    plain: dict[str, Any] = {**values, **lists}
    return LedgerRecord(len(ledger.records) + 1, ledger.head, time or _now(), actor, kind, verdict, **plain)
