"""Tombstones: the record of removed participants. It holds a hash of the pseudonym, the day and the episode count.

It also keeps the former digests of the dataset, each with its number of attempts. A checkpoint's card refers to its
datasets by digest, and removing a participant changes the digest. The former digests are needed to find the
checkpoints that were trained on the participant's data.
"""

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path

from twinloop.config.compound import Listed
from twinloop.config.fields import of_kind
from twinloop.config.json_file import load_json, record_from_json
from twinloop.config.record import Nested, write_record
from twinloop.dataset.header import Header
from twinloop.dataset.identity import growing_digests
from twinloop.dataset.layout import FORGOTTEN
from twinloop.dataset.manifest import ShardEntry
from twinloop.errors import CorruptError

MOST_BYTES = 64 << 20
SALT_BYTES = 16


@dataclass(frozen=True)
class Tombstone:
    """One removed participant.

    Attributes:
        participant: salted SHA-256 of the pseudonym.
        salt: the salt of the hash.
        forgotten_on: day of the removal, as YYYY-MM-DD.
        episodes: number of removed episodes.
        first_attempt: the participant's first attempt in the dataset.
    """

    participant: str
    salt: str
    forgotten_on: str
    episodes: int
    first_attempt: int

    def marks(self, participant: str) -> bool:
        return self.participant == _hashed(participant, self.salt)


@dataclass(frozen=True)
class FormerDigest:
    """A digest of the dataset at the time it had `attempts` attempts and `forgotten` tombstones."""

    digest: str
    attempts: int
    forgotten: int


@dataclass(frozen=True)
class Tombstones:
    """The content of `forgotten.json`, in order of removal."""

    stones: tuple[Tombstone, ...] = of_kind(
        Listed(item=Nested(record=Tombstone), key="tombstones", required=True, what="tombstone"), ()
    )
    former: tuple[FormerDigest, ...] = of_kind(
        Listed(item=Nested(record=FormerDigest), required=True, what="digest"), ()
    )

    def of(self, participant: str) -> bool:
        return any(stone.marks(participant) for stone in self.stones)

    def digests(self, participant: str) -> Iterator[str]:
        """Yield the digests that the dataset had while it contained this removed participant."""
        for number, stone in enumerate(self.stones):
            if stone.marks(participant):
                yield from (
                    past.digest
                    for past in self.former
                    if past.forgotten <= number and past.attempts > stone.first_attempt
                )

    def with_one(
        self, participant: str, header: Header, entries: Sequence[ShardEntry], *, count: int, first: int, today: date
    ) -> "Tombstones":
        """Return a copy with a tombstone for `participant` and the digests of the dataset before the removal.

        Args:
            participant: pseudonym.
            header, entries: the dataset before the removal, with all shards.
            count: number of removed episodes.
            first: the participant's first attempt.
            today: day of the removal.
        """
        salt = secrets.token_hex(SALT_BYTES)
        stone = Tombstone(_hashed(participant, salt), salt, today.isoformat(), count, first)
        past = (FormerDigest(*pair, len(self.stones)) for pair in past_digests(header, entries))
        return Tombstones((*self.stones, stone), (*self.former, *past))

    def to_bytes(self) -> bytes:
        return (json.dumps(write_record(self), indent=2) + "\n").encode()


def read_tombstones(path: Path) -> Tombstones:
    """Read the tombstones of the dataset at `path`. They are empty if no participant was removed."""
    file = path / FORGOTTEN
    if not file.is_file():
        return Tombstones()
    content = load_json(file, max_bytes=MOST_BYTES, what="a record of removed participants", error=CorruptError)
    return record_from_json(Tombstones, content, where=str(file), error=CorruptError)


def past_digests(header: Header, entries: Sequence[ShardEntry]) -> Iterator[tuple[str, int]]:
    """Yield (digest, attempts) of the dataset after each of its shards. The last pair is the current state."""
    grown = islice(growing_digests(header, entries), 1, None)
    for digest, entry in zip(grown, entries, strict=True):
        yield digest, entry.stop


def _hashed(participant: str, salt: str) -> str:
    return hashlib.sha256(f"{salt}:{participant.casefold()}".encode()).hexdigest()
