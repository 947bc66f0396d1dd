"""Signatures of ledger records: Ed25519 keys of named people and programs.

A registry is signed from its first key record on. The first key signs itself; a further key must be signed by a key
that the ledger has already. From then on every record that gives a policy more freedom must be signed: a promotion, an
approval, a key, a twin that is trusted again. Records that only restrict (a refusal, a rollback, an incident) may be
unsigned, so that a robot can always be stopped.

Whoever can write the folder but has no key can delete records, which the next reader notices, but cannot forge an
approval.
"""

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinloop.durable import read_bounded, storage_errors
from twinloop.errors import RegistryError, UsageError
from twinloop.gate.ledger_record import LedgerRecord

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY = "key"
ADDED, REVOKED = "added", "revoked"
KEY_FILE = "TWINLOOP_KEY"
"""Environment variable with the path of the private key that signs records."""
MOST_BYTES = 1 << 14
RESTRICTING = {
    "decision": ("refused", "rolled back", "withdrawn"),
    "incident": ("opened",),
    "twin": ("demoted",),
    "checkpoint": ("pinned",),
    "pointer": ("live", "nothing live"),
    "rollout": ("stopped",),
    "registry": ("created",),
    "usage": ("reserved",),
}
"""Kind -> verdicts of records that need no signature, because they give no policy more freedom. A pointer record only
confirms a decision, which has a signature of its own."""


@dataclass(frozen=True)
class TrustedKey:
    """A public key in the ledger. id: first digits of its digest. public: base64 of the raw 32 bytes."""

    id: str
    name: str
    public: str
    since: int


@dataclass(frozen=True)
class Signer:
    """A private key, loaded from a file."""

    id: str
    public: str
    _key: "Ed25519PrivateKey"

    def sign(self, record: LedgerRecord) -> dict[str, str]:
        return {"key": self.id, "value": base64.b64encode(self._key.sign(record.digest.encode())).decode()}


def create_key(path: Path) -> Signer:
    """Write a new private key that only this user can read. An existing file is never overwritten."""
    library = _library()
    key = library.Ed25519PrivateKey.generate()
    text = key.private_bytes(
        library.serialization.Encoding.PEM, library.serialization.PrivateFormat.PKCS8,
        library.serialization.NoEncryption(),
    )  # fmt: skip
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise UsageError(f"{path}: exists already; a key is never overwritten. Choose another file") from None
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            os.fsync(file.fileno())
    return _signer(key)


def load_key(path: Path) -> Signer:
    library = _library()
    if not path.is_file():
        raise UsageError(f"{path}: no such key file; `twinloop keys create` writes one")
    data = read_bounded(path, MOST_BYTES, error=RegistryError)
    try:
        key = library.serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path}: is not a private key without passphrase ({error!s:.100})") from None
    if not isinstance(key, library.Ed25519PrivateKey):
        raise UsageError(f"{path}: is not an Ed25519 key; `twinloop keys create` writes one")
    return _signer(key)


def key_from_environment() -> Signer | None:
    path = os.environ.get(KEY_FILE, "")
    return load_key(Path(path)) if path else None


def key_id(public: str) -> str:
    return hashlib.sha256(base64.b64decode(public)).hexdigest()[:16]


def trusted_keys(records: Iterable[LedgerRecord]) -> dict[str, TrustedKey]:
    """Keys that the ledger has and has not revoked, by id. The records must have been checked."""
    keys: dict[str, TrustedKey] = {}
    for record in records:
        if record.kind == KEY:
            _apply(record, keys)
    return keys


def needs_signature(record: LedgerRecord) -> bool:
    return record.verdict not in RESTRICTING.get(record.kind, ())


def signature_problems(records: Iterable[LedgerRecord]) -> Iterator[str]:
    """Yield a message for each record whose signature is missing, invalid, or of an unknown key."""
    keys: dict[str, TrustedKey] = {}
    signed_since = 0
    for record in records:
        where = f"record {record.sequence}"
        if record.kind == KEY and not signed_since:
            signed_since = record.sequence
            problem = _apply(record, keys)
            if problem:
                yield f"{where}: {problem}"
                continue
        if not signed_since:
            if record.signature:
                yield f"{where}: is signed, but no key was added before it"
            continue
        problem = _signature_problem(record, keys, signed_since)
        if problem:
            yield f"{where}: {problem}"
        elif record.kind == KEY and record.sequence != signed_since:
            problem = _apply(record, keys)
            if problem:
                yield f"{where}: {problem}"


def _signature_problem(record: LedgerRecord, keys: Mapping[str, TrustedKey], since: int) -> str:
    if not record.signature:
        missing = f"is not signed, but the ledger is signed since record {since}"
        return missing if needs_signature(record) else ""
    key = keys.get(str(record.signature.get("key")))
    if key is None:
        return f"is signed with key {record.signature.get('key')!s:.32}, which the ledger does not trust"
    library = _library()
    try:
        public = library.Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public))
        public.verify(base64.b64decode(str(record.signature.get("value"))), record.digest.encode())
    except (library.InvalidSignature, ValueError):
        return f"has an invalid signature of {key.name}"
    if record.actor != key.name:
        return f"names {record.actor!r} as its actor, but is signed by {key.name}"
    return ""


def _apply(record: LedgerRecord, keys: dict[str, TrustedKey]) -> str:
    """Add or revoke the key of a record. Return a problem, or ""."""
    details = record.details
    if record.verdict == REVOKED:
        keys.pop(str(details.get("key")), None)
        return ""
    try:
        public = str(details["public"])
        identity, name = key_id(public), str(details["name"])
    except (KeyError, ValueError):
        return "does not contain a public key"
    if identity != details.get("key"):
        return "names another key than the one it contains"
    if any(other.name == name for other in keys.values()):
        return f"adds a second key for {name!r}; revoke the first one before"
    keys[identity] = TrustedKey(identity, name, public, record.sequence)
    return ""


def _signer(key: "Ed25519PrivateKey") -> Signer:
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    return Signer(key_id(public), public, key)


class _library:
    """The names of `cryptography` that are used here, imported when they are needed."""

    def __init__(self) -> None:
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric import ed25519
        except ImportError:
            raise UsageError(
                "signed ledgers need the package cryptography; install it with pip install 'twinloop[sign]'"
            ) from None
        self.InvalidSignature: Any = InvalidSignature
        self.serialization: Any = serialization
        self.Ed25519PrivateKey: Any = ed25519.Ed25519PrivateKey
        self.Ed25519PublicKey: Any = ed25519.Ed25519PublicKey
