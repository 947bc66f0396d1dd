"""LedgerRecord: one line of the ledger, with the digest of the record before it and, if signed, a signature."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property
from typing import Any

SIGNATURE = "signature"


@dataclass(frozen=True)
class LedgerRecord:
    """One line of the ledger.

    Attributes:
        sequence: number of the record, from 1.
        previous: digest of the record before.
        time: ISO 8601, UTC.
        actor: the user or program that made the record.
        kind: subject of the record: a pinned checkpoint, a decision, the live policy, a twin or an incident.
        checkpoint: digest of the checkpoint; "" if the record is about none.
        transition: the step, for example "canary -> production".
        rules: digest of the rules.
        evidence: the evidence, each entry with path and digests.
        reasons: the reasons, in sentences.
        details: further values, depending on `kind`.
        signature: key id and value of the signature of the digest; empty if it is not signed.
    """

    sequence: int
    previous: str
    time: str
    actor: str
    kind: str
    verdict: str
    checkpoint: str = ""
    transition: str = ""
    rules: str = ""
    evidence: tuple[Mapping[str, Any], ...] = ()
    reasons: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    signature: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(_canonical(self._content())).hexdigest()

    def _content(self) -> dict[str, Any]:
        return {key.name: getattr(self, key.name) for key in fields(self) if key.name != SIGNATURE}

    @property
    def moment(self) -> datetime:
        return datetime.fromisoformat(self.time)

    def to_line(self) -> bytes:
        signature = {SIGNATURE: self.signature} if self.signature else {}
        return _canonical(self._content() | {"digest": self.digest} | signature) + b"\n"

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "LedgerRecord":
        """Build a record from parsed JSON.

        Raises:
            ValueError, KeyError, TypeError: the values are not a record.
        """
        known = {entry.name for entry in fields(cls)} - {SIGNATURE}
        wrong = (set(values) - {SIGNATURE}) ^ (known | {"digest"})
        if wrong:
            raise ValueError(f"keys {', '.join(sorted(wrong))}")
        texts = ("previous", "time", "actor", "kind", "verdict", "checkpoint", "transition", "rules", "digest")
        for key in texts:
            if not isinstance(values[key], str):
                raise TypeError(f"{key} must be a string")
        if not isinstance(values["sequence"], int) or isinstance(values["sequence"], bool):
            raise TypeError("sequence must be a number")
        if not isinstance(values["details"], dict) or not all(isinstance(entry, dict) for entry in values["evidence"]):
            raise TypeError("details and evidence must be mappings")
        signature = values.get(SIGNATURE, {})
        if not isinstance(signature, dict) or not all(isinstance(part, str) for part in signature.values()):
            raise TypeError("signature must be a mapping of strings")
        record = cls(
            **{name: values[name] for name in known - {"evidence", "reasons"}},
            evidence=tuple(values["evidence"]),
            reasons=tuple(map(str, values["reasons"])),
            signature=signature,
        )
        if record.moment.tzinfo is None:
            raise ValueError("time has no time zone")
        return record


def _canonical(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
