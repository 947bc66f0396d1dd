"""Ledger: an append-only list of decisions. Each line is a record with the digest of the record before it.

A line counts only with its newline. Readers ignore an incomplete last line; the next writer removes it.
`head.json` beside the ledger stores the sequence number and digest of the last record, so that lines removed from the
end are noticed. A person with write access can rewrite both files. To prevent this, sign the ledger (signing.py); to
detect it, note the digest of the last record elsewhere and compare.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from twinloop.durable import append_line, read_bounded, replace_file, storage_errors
from twinloop.errors import RegistryError
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.signing import signature_problems

LEDGER, HEAD = "ledger.jsonl", "head.json"
LARGEST_BYTES = 1 << 30
LARGEST_LINE_BYTES = 1 << 22
START = "0" * 64
"""Value of `previous` in the first record."""


@dataclass(frozen=True)
class Ledger:
    """The records of a registry.

    Attributes:
        problems: messages about altered, missing or misplaced records, each with its record or line.
        torn: whether the last line is incomplete, as after a kill.
    """

    path: Path
    records: tuple[LedgerRecord, ...]
    problems: tuple[str, ...]
    torn: bool

    @property
    def head(self) -> str:
        return self.records[-1].digest if self.records else START

    def require(self) -> "Ledger":
        """Return this ledger, or raise RegistryError with all problems."""
        if self.problems:
            advice = "no policy can be promoted or is live until it is restored from a copy"
            raise RegistryError(
                "\n".join([f"{self.path}: was altered; {advice}"]
                          + [f"  {problem}" for problem in self.problems])
            )  # fmt: skip
        return self


def read_ledger(folder: Path) -> Ledger:
    """Read and check all records of a registry."""
    path = folder / LEDGER
    # The head is read first: during a write the ledger may be ahead of the head, but never behind it.
    head = read_bounded(folder / HEAD, 1 << 16, error=RegistryError) if (folder / HEAD).exists() else None
    data = read_bounded(path, LARGEST_BYTES, error=RegistryError) if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    records: list[LedgerRecord] = []
    problems = list(_look_over(data[:whole].splitlines(), records))
    if not problems:
        problems += signature_problems(records)
    problems += _anchored(head, records, damaged=bool(problems))
    return Ledger(path, tuple(records), tuple(problems), torn=whole < len(data))


def _look_over(lines: list[bytes], records: list[LedgerRecord]) -> Iterator[str]:
    """Append the readable records to `records` and yield a message for each problem."""
    previous, sequences = START, []
    for number, line in enumerate(lines, start=1):
        try:
            if len(line) > LARGEST_LINE_BYTES:
                raise ValueError(f"{len(line):,} bytes")
            values = json.loads(line)
            record = LedgerRecord.from_values(values)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            yield f"line {number}: is not a valid record ({error!s:.100})"
            previous = ""
            continue
        digest = record.digest
        if values["digest"] != digest or record.to_line().rstrip(b"\n") != line:
            yield f"record {record.sequence} (line {number}): was altered: its content has digest {digest[:12]}..."
        elif previous and record.previous != previous:
            yield f"record {record.sequence} (line {number}): does not follow the record before it"
        previous = str(values["digest"])
        sequences.append(record.sequence)
        records.append(record)
    yield from _order(sequences)


def _order(sequences: list[int]) -> Iterator[str]:
    expected = list(range(1, len(sequences) + 1))
    if sequences == expected:
        return
    if sorted(sequences) == expected:
        place = next(at for at, sequence in enumerate(sequences) if sequence != at + 1)
        yield f"the order was changed: line {place + 1} holds record {sequences[place]}"
        return
    missing = sorted(set(range(1, max(sequences, default=0) + 1)) - set(sequences))
    twice = sorted({number for number in sequences if sequences.count(number) > 1})
    yield from (f"record {number}: is missing" for number in missing)
    yield from (f"record {number}: occurs twice" for number in twice)


def _anchored(head: bytes | None, records: list[LedgerRecord], *, damaged: bool) -> Iterator[str]:
    """Check that the record named in `head.json` is still in the ledger.

    The ledger may be one record ahead of the head: a kill can come before the head is written.
    """
    if head is None:
        if len(records) > 1:
            yield f"{HEAD}: is missing; the last record is unknown"
        return
    try:
        values = json.loads(head)
        sequence, digest = int(values["sequence"]), str(values["digest"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        yield f"{HEAD}: cannot be read ({error!s:.100})"
        return
    if damaged:
        return
    if sequence > len(records):
        yield f"records {len(records) + 1} to {sequence}: were removed from the end"
    elif sequence and records[sequence - 1].digest != digest:
        yield f"record {sequence}: does not match {HEAD}; it and all later records were rewritten"


def append(folder: Path, record: LedgerRecord, *, scratch: Path) -> None:
    """Append a record. It is on the disk when this returns; after a kill it is either complete or absent."""
    path = folder / LEDGER
    line = record.to_line()
    if len(line) > LARGEST_LINE_BYTES:
        raise RegistryError(f"{path}: a record has {len(line):,} bytes; the maximum is {LARGEST_LINE_BYTES:,}")
    with storage_errors(path):
        append_line(path, line)
        _remember(folder, record, scratch=scratch)


def recover(folder: Path, *, scratch: Path) -> Ledger:
    """Remove an incomplete last line and update the head. The caller must hold the lock."""
    ledger = read_ledger(folder).require()
    with storage_errors(ledger.path):
        if ledger.torn:
            whole = b"".join(record.to_line() for record in ledger.records)
            os.truncate(ledger.path, len(whole))
        if ledger.records:
            _remember(folder, ledger.records[-1], scratch=scratch)
    return Ledger(ledger.path, ledger.records, (), torn=False)


def _remember(folder: Path, record: LedgerRecord, *, scratch: Path) -> None:
    text = json.dumps({"sequence": record.sequence, "digest": record.digest}) + "\n"
    if (folder / HEAD).exists() and (folder / HEAD).read_text(encoding="utf-8") == text:
        return
    replace_file(folder / HEAD, text.encode(), scratch=scratch)
