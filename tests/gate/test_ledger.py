"""The ledger: records are only appended; any change is detected and named."""

import json
from pathlib import Path

import pytest

from twinloop.errors import RegistryError
from twinloop.gate.ledger import HEAD, LEDGER, START, Ledger, append, read_ledger, recover
from twinloop.gate.ledger_record import LedgerRecord


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With five records."""
    (tmp_path / "scratch").mkdir()
    previous = START
    for sequence in range(1, 6):
        record = LedgerRecord(
            sequence, previous, f"2026-01-0{sequence}T00:00:00+00:00", "ada", "decision", "refused",
            checkpoint=f"{sequence:064x}", transition="candidate -> validated", rules="r",
            reasons=(f"because {sequence}",),
            evidence=({"kind": "evaluation", "digest": "e" * 64},), details={"value": 0.1 * sequence},
        )  # fmt: skip
        append(tmp_path, record, scratch=tmp_path / "scratch")
        previous = record.digest
    return tmp_path


def lines(folder: Path) -> list[bytes]:
    return (folder / LEDGER).read_bytes().splitlines(keepends=True)


def write(folder: Path, changed: list[bytes]) -> Ledger:
    (folder / LEDGER).write_bytes(b"".join(changed))
    return read_ledger(folder)


def test_records_are_read_back_and_form_a_hash_chain(folder: Path):
    ledger = read_ledger(folder)
    assert ledger.problems == ()
    assert not ledger.torn
    assert [record.reasons for record in ledger.records] == [(f"because {number}",) for number in range(1, 6)]
    assert [record.previous for record in ledger.records] == [START, *(r.digest for r in ledger.records[:-1])]
    assert ledger.head == ledger.records[-1].digest
    assert json.loads(lines(folder)[2])["digest"] == ledger.records[2].digest


def test_a_folder_without_one_has_an_empty_ledger(tmp_path: Path):
    assert read_ledger(tmp_path).require().records == ()


@pytest.mark.parametrize("sequence", range(1, 6))
@pytest.mark.parametrize(
    ("old", "new"), [(b"ada", b"eve"), (b"refused", b"promoted"), (b'"value":', b'"worth":'), (b"because", b"despite")]
)
def test_an_altered_record_is_named(folder: Path, sequence: int, old: bytes, new: bytes):
    changed = lines(folder)
    changed[sequence - 1] = changed[sequence - 1].replace(old, new)
    assert any(f"record {sequence} " in problem and "altered" in problem for problem in write(folder, changed).problems)


def test_a_record_altered_with_its_own_digest_does_not_fit_the_next(folder: Path):
    values = json.loads(lines(folder)[2])
    values["actor"] = "eve"
    forged = LedgerRecord.from_values(values)
    (problem,) = write(folder, [*lines(folder)[:2], forged.to_line(), *lines(folder)[3:]]).problems
    assert "record 4 (line 4): does not follow" in problem


@pytest.mark.parametrize("sequence", range(1, 6))
def test_a_removed_record_is_named(folder: Path, sequence: int):
    kept = lines(folder)
    del kept[sequence - 1]
    problems = " ".join(write(folder, kept).problems)
    assert f"record {sequence}: is missing" in problems or f"records {sequence} to 5: were removed" in problems


def test_records_in_another_order_are_noticed(folder: Path):
    first, second, *rest = lines(folder)
    assert "the order was changed: line 1 holds record 2" in " ".join(write(folder, [second, first, *rest]).problems)
    assert write(folder, [first, second, second, *rest[1:]]).problems


def test_a_rewritten_ledger_does_not_match_its_head(folder: Path):
    changed, previous = [], START
    for record in read_ledger(folder).records:
        values = json.loads(record.to_line()) | {"previous": previous, "actor": "eve"}
        changed.append(LedgerRecord.from_values(values).to_line())
        previous = LedgerRecord.from_values(values).digest
    (problem,) = write(folder, changed).problems
    assert "rewritten" in problem


def test_a_missing_or_invalid_head_is_noticed(folder: Path):
    (folder / HEAD).write_text("{}")
    assert HEAD in read_ledger(folder).problems[0]
    (folder / HEAD).unlink()
    assert HEAD in read_ledger(folder).problems[0]


def test_invalid_records_are_named_by_line(folder: Path):
    for bad in (b"{}\n", b"[" * 10_000 + b"\n", b"null\n", b"\xff\n"):
        changed = lines(folder)
        changed[1] = bad
        assert "line 2: is not a valid record" in write(folder, changed).problems[0]
    with pytest.raises(RegistryError, match=r"ledger\.jsonl.*altered"):
        read_ledger(folder).require()


@pytest.mark.parametrize("cut", [1, 10, 200])
def test_a_torn_tail_is_ignored_and_then_removed(folder: Path, cut: int):
    whole = (folder / LEDGER).read_bytes()
    with (folder / LEDGER).open("ab") as file:
        file.write(lines(folder)[-1][:cut])
    ledger = read_ledger(folder).require()
    assert ledger.torn
    assert len(ledger.records) == 5
    assert recover(folder, scratch=folder / "scratch").records == ledger.records
    assert (folder / LEDGER).read_bytes() == whole


def test_an_outdated_head_is_updated_after_a_kill(folder: Path):
    before = read_ledger(folder).records[3]
    (folder / HEAD).write_text(json.dumps({"sequence": 4, "digest": before.digest}))
    assert recover(folder, scratch=folder / "scratch").problems == ()
    assert json.loads((folder / HEAD).read_text())["sequence"] == 5


def test_nan_is_not_written(folder: Path):
    last = read_ledger(folder).records[-1]
    record = LedgerRecord(6, last.digest, last.time, "ada", "decision", "refused", details={"value": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        append(folder, record, scratch=folder / "scratch")
    assert len(read_ledger(folder).require().records) == 5
