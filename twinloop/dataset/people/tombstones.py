"""What stays of somebody who was forgotten: a hash of the pseudonym, a day, a count. And the digests the dataset had.

A checkpoint's card names its datasets by digest, and forgetting changes that. So that the checkpoints trained on a
person can still be found afterwards, every digest the dataset went through is kept, with how many attempts it had.
"""

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from itertools import islice
from pathlib import Path

from twinloop.dataset.header import Header
from twinloop.dataset.identity import growing_digests
from twinloop.dataset.layout import FORGOTTEN
from twinloop.dataset.manifest import ShardEntry
from twinloop.durable import read_bounded
from twinloop.errors import CorruptError

MOST_BYTES = 64 << 20
SALT_BYTES = 16


@dataclass(frozen=True)
class Tombstone:
    """participant: salted SHA-256 of the pseudonym. first_attempt: the first that was theirs."""

    participant: str
    salt: str
    forgotten_on: str
    episodes: int
    first_attempt: int

    def marks(self, participant: str) -> bool:
        return self.participant == _hashed(participant, self.salt)


@dataclass(frozen=True)
class FormerDigest:
    """One the dataset had when it held `attempts` of them and `forgotten` tombstones."""

    digest: str
    attempts: int
    forgotten: int


@dataclass(frozen=True)
class Tombstones:
    """The content of `forgotten.json`, in order of forgetting."""

    stones: tuple[Tombstone, ...] = ()
    former: tuple[FormerDigest, ...] = ()

    def of(self, participant: str) -> bool:
        return any(stone.marks(participant) for stone in self.stones)

    def digests(self, participant: str) -> Iterator[str]:
        """Those the dataset had while it held somebody who was forgotten since."""
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
        """entries: the shards as they still are, all of them."""
        salt = secrets.token_hex(SALT_BYTES)
        stone = Tombstone(_hashed(participant, salt), salt, today.isoformat(), count, first)
        past = (FormerDigest(*each, len(self.stones)) for each in past_digests(header, entries))
        return Tombstones((*self.stones, stone), (*self.former, *past))

    def to_json(self) -> str:
        content = {
            "tombstones": [asdict(each) for each in self.stones],
            "former": [asdict(each) for each in self.former],
        }
        return json.dumps(content, indent=2) + "\n"


def read_tombstones(path: Path) -> Tombstones:
    """Of the dataset at `path`; none where nobody was forgotten."""
    file = path / FORGOTTEN
    if not file.is_file():
        return Tombstones()
    try:
        content = json.loads(read_bounded(file, MOST_BYTES))
        stones = tuple(Tombstone(**each) for each in content["tombstones"])
        return Tombstones(stones, tuple(FormerDigest(**each) for each in content["former"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptError(f"{file}: is no record of who was forgotten ({error!r:.120})") from None


def past_digests(header: Header, entries: Sequence[ShardEntry]) -> Iterator[tuple[str, int]]:
    """(digest, attempts) of the dataset as it was while it grew, shard by shard, and as it is."""
    grown = islice(growing_digests(header, entries), 1, None)
    for digest, entry in zip(grown, entries, strict=True):
        yield digest, entry.stop


def _hashed(participant: str, salt: str) -> str:
    return hashlib.sha256(f"{salt}:{participant.casefold()}".encode()).hexdigest()
