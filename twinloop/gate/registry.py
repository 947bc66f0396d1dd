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
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from twinloop.dataset.lock import WriterLock
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import LockedError, RegistryError, nearest
from twinloop.gate import store
from twinloop.gate.ledger import Ledger, append, read_ledger, recover
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.registry_state import (
    APPROVAL,
    APPROVED,
    CHECKPOINT,
    CREATED,
    DECISION,
    LIVE,
    NOTHING_LIVE,
    PINNED,
    POINTER,
    PROMOTED,
    REGISTRY,
    ROLLED_BACK,
    WITHDRAWN,
    RegistryState,
    Stage,
    state_of,
)
from twinloop.gate.signing import (
    ADDED,
    KEY,
    KEY_FILE,
    REVOKED,
    Signer,
    key_from_environment,
    key_id,
    load_key,
    needs_signature,
    trusted_keys,
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
    def id(self) -> str:
        """Digest of the first record, which no later change can alter; "" in an empty registry."""
        return self.ledger.records[0].digest if self.ledger.records else ""

    @property
    def production(self) -> str:
        """Digest of the live checkpoint, or ""."""
        return self.live.checkpoint if self.live else ""

    def live_on(self, robot: str) -> str:
        """Digest of the checkpoint that is live on one robot, or ""."""
        entry = self.state.fleet.get(robot)
        if entry is None:
            return self.production
        return entry.checkpoint if entry.stage == "production" else self.production

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

    def __init__(self, path: Path, actor: str, signer: Signer | None):
        self.path, self._actor, self._signer = path, actor, signer
        self.scratch = path / SCRATCH
        recover(path, scratch=self.scratch)
        registry = Registry.open(path)
        missing = registry._unconfirmed()
        if missing:
            self._append(missing)
        if not registry.ledger.records:
            self.add(REGISTRY, CREATED, details={"random": secrets.token_hex(16)})

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
        return self._append(record)

    def _append(self, record: LedgerRecord) -> LedgerRecord:
        """Sign a record if the ledger is signed, and append it."""
        keys = trusted_keys(read_ledger(self.path).require().records)
        first_key = record.kind == KEY and not keys
        if self._signer is not None and (first_key or self._signer.id in keys):
            # The name of a key is the name of its owner, so a record cannot be signed in the name of another person.
            name = str(record.details["name"]) if first_key else keys[self._signer.id].name
            record = replace(record, actor=name)
            record = replace(record, signature=self._signer.sign(record))
        elif keys and needs_signature(record):
            known = ", ".join(sorted(key.name for key in keys.values()))
            given = "your key is not one of them" if self._signer is not None else f"set {KEY_FILE}, or give --key FILE"
            raise RegistryError(
                f"{self.path}: its ledger is signed, and {record.kind} '{record.verdict}' needs a signature of "
                f"{known}; {given}"
            )
        append(self.path, record, scratch=self.scratch)
        return record

    def decide(self, verdict: str, *, checkpoint: str, transition: str, **values: Any) -> LedgerRecord:
        """Record a decision, then carry it out: a promotion to production moves the pointer."""
        record = self.add(DECISION, verdict, checkpoint=checkpoint, transition=transition, **values)
        if verdict == PROMOTED and transition.endswith(" -> production"):
            self._point(checkpoint, record)
        return record

    def roll_back(self, *, to: str = "", robot: str = "", reasons: Sequence[str], **values: Any) -> LedgerRecord:
        """Make the previous production policy live, or policy `to`, which must have been live before.

        Args:
            robot: roll back on this robot only; the rest of the fleet keeps its policy.
        """
        registry = self.registry
        leaving = registry.live_on(robot) if robot else registry.production
        if not leaving:
            raise RegistryError(f"{self.path}: nothing is live, so there is nothing to roll back")
        # A robot with a policy of its own returns to the policy of the fleet.
        target = to or (registry.production if robot and leaving != registry.production else registry.state.previous)
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
            details={"robot": robot} if robot else {}, **values,
        )  # fmt: skip
        if not robot:
            self._point(target, record)
        return record

    def withdraw(self, *, robot: str = "", reasons: Sequence[str], **values: Any) -> LedgerRecord:
        """Make nothing live, on one robot or in the fleet. A robot that asks for the live policy then gets an error."""
        leaving = self.registry.live_on(robot) if robot else self.registry.production
        if not leaving:
            raise RegistryError(f"{self.path}: nothing is live already")
        record = self.add(
            DECISION, WITHDRAWN, checkpoint=leaving, transition=f"{leaving[:12]} -> nothing", reasons=reasons,
            details={"robot": robot} if robot else {}, **values,
        )  # fmt: skip
        if not robot:
            self._point("", record)
        return record

    def approve(self, digest: str, stage: Stage, *, note: str = "") -> LedgerRecord:
        """Record that the actor approves the step of a checkpoint to a stage."""
        registry = self.registry
        registry.pinned(digest)
        if registry.stage(digest) == stage:
            raise RegistryError(f"{self.path}: {digest[:12]} is at stage {stage} already")
        return self.add(APPROVAL, APPROVED, checkpoint=digest, reasons=[note] if note else [], details={"stage": stage})

    def add_key(self, signer: Signer | None, name: str, public: str) -> LedgerRecord:
        """Trust a public key. The first one must be the writer's own; it makes the ledger a signed one."""
        keys = trusted_keys(self.registry.ledger.records)
        identity = key_id(public)
        if any(key.name == name or key.id == identity for key in keys.values()):
            raise RegistryError(f"{self.path}: has a key for {name!r} already, or this key under another name")
        if not keys and (signer is None or signer.public != public):
            raise RegistryError(f"{self.path}: the first key must be your own; give it with --key FILE")
        return self.add(KEY, ADDED, details={"key": identity, "name": name, "public": public})

    def revoke_key(self, name: str) -> LedgerRecord:
        keys = trusted_keys(self.registry.ledger.records)
        known = next((key for key in keys.values() if key.name == name), None)
        if known is None:
            raise RegistryError(
                f"{self.path}: has no key for {name!r}; {nearest(name, [k.name for k in keys.values()])}"
            )
        if len(keys) == 1:
            raise RegistryError(f"{self.path}: {name!r} is the only key; add another one before you revoke it")
        return self.add(KEY, REVOKED, details={"key": known.id, "name": name, "public": known.public})

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
            self._append(missing)


@contextmanager
def writing(path: Path, *, actor: str = "", key: Path | None = None) -> Iterator[Writer]:
    """Lock a registry, create it if it does not exist, and repair it after a kill.

    Args:
        actor: name for the ledger; by default the user. In a signed ledger it is the name of the key.
        key: private key that signs records; by default the file that the variable TWINLOOP_KEY names.
    """
    signer = load_key(key) if key is not None else key_from_environment()
    with storage_errors(path):
        (path / SCRATCH).mkdir(parents=True, exist_ok=True)
    lock = WriterLock(path / LOCK)
    with storage_errors(path):
        _acquire(lock)
    try:
        yield Writer(path, actor or getpass.getuser(), signer)
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
