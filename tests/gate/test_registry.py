"""The registry: checkpoints by digest, one pointer, rollback; altered files are never used."""

import json
import os
from pathlib import Path

import pytest

from tests.gate.checkpoints import checkpoint
from twinloop.errors import LockedError, RegistryError, TwinloopError
from twinloop.gate import registry as module
from twinloop.gate.ledger import LEDGER
from twinloop.gate.registry import PRODUCTION, Registry, writing
from twinloop.gate.registry_state import PROMOTED, REFUSED
from twinloop.gate.store import named

CANARY, LIVE = "validated -> canary", "canary -> production"


def promote(path: Path, folder: Path, *transitions: str) -> str:
    with writing(path, actor="ada") as writer:
        digest = writer.pin(folder).digest
        for transition in transitions or ("candidate -> validated", CANARY, LIVE):
            writer.decide(PROMOTED, checkpoint=digest, transition=transition, reasons=["so it is"])
    return digest


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "registry"


@pytest.fixture
def two(tmp_path: Path, place: Path) -> tuple[str, str]:
    """The first was live, the second is."""
    return tuple(promote(place, checkpoint(tmp_path / f"p{number}", number=number)) for number in (1, 2))  # type: ignore


def test_stages_are_walked_and_only_the_pointer_makes_one_live(tmp_path: Path, place: Path):
    folder = checkpoint(tmp_path / "p")
    digest = promote(place, folder, "candidate -> validated")
    assert Registry.open(place).stage(digest) == "validated"
    promote(place, folder, CANARY)
    registry = Registry.open(place)
    assert registry.stage(digest) == "canary"
    assert registry.production == ""
    with pytest.raises(RegistryError, match="nothing is live"):
        registry.production_checkpoint()
    promote(place, folder, LIVE)
    registry = Registry.open(place)
    assert registry.stage(digest) == "production"
    assert registry.production_checkpoint().digest == digest
    assert registry.live is not None
    assert registry.record(registry.live.record).transition == LIVE


def test_a_refusal_moves_nothing(tmp_path: Path, place: Path):
    folder = checkpoint(tmp_path / "p")
    with writing(place, actor="ada") as writer:
        digest = writer.pin(folder).digest
        writer.decide(REFUSED, checkpoint=digest, transition=LIVE, reasons=["no"])
    assert Registry.open(place).production == ""
    assert Registry.open(place).stage(digest) == "candidate"


def test_rolling_back_returns_to_the_one_before_and_then_to_the_one_before_that(tmp_path: Path, place: Path):
    first, second, third = (promote(place, checkpoint(tmp_path / f"p{n}", number=n)) for n in range(3))
    for expected in (second, first):
        with writing(place, actor="ada") as writer:
            writer.roll_back(reasons=["it dropped things"])
        registry = Registry.open(place)
        assert registry.production == expected
        assert registry.production_checkpoint().digest == expected
    assert registry.stage(third) == "validated"  # it needs new trials on the robot
    assert set(registry.state.left) == {second, third}
    with writing(place) as writer, pytest.raises(RegistryError, match="no policy was live before"):
        writer.roll_back(reasons=[])
    with writing(place) as writer:
        writer.roll_back(to=third, reasons=["after all"])
    assert Registry.open(place).production == third


def test_rolling_back_to_a_policy_that_was_never_live_is_refused(tmp_path: Path, place: Path, two: tuple[str, str]):
    other = promote(place, checkpoint(tmp_path / "p3", number=3), "candidate -> validated")
    for target in (other, two[1], "f" * 64, "../../etc"):
        with writing(place) as writer, pytest.raises(RegistryError, match="never live"):
            writer.roll_back(to=target, reasons=[])
    assert Registry.open(place).production == two[1]


def test_without_an_earlier_policy_the_error_names_the_way_to_leave_nothing_live(tmp_path: Path, place: Path):
    promote(place, checkpoint(tmp_path / "p"))
    with writing(place) as writer, pytest.raises(RegistryError, match="rollback --to nothing"):
        writer.roll_back(reasons=[])


def test_withdrawing_leaves_nothing_live(place: Path, two: tuple[str, str]):
    with writing(place) as writer:
        writer.withdraw(reasons=["unsafe"])
    registry = Registry.open(place)
    assert registry.production == ""
    assert registry.stage(two[1]) == "validated"
    with writing(place) as writer, pytest.raises(RegistryError, match="nothing is live"):
        writer.roll_back(reasons=[])


def test_an_altered_checkpoint_is_neither_used_nor_rolled_back_to(place: Path, two: tuple[str, str]):
    for digest in two:
        for file in (place / "checkpoints" / digest).iterdir():
            file.chmod(0o600)
            file.write_bytes(file.read_bytes().replace(b"0", b"1").replace(b"numbers", b"Numbers"))
    with pytest.raises(TwinloopError):
        Registry.open(place).production_checkpoint()
    with writing(place) as writer, pytest.raises(TwinloopError):
        writer.roll_back(reasons=[])
    assert Registry.open(place).production == two[1]


def test_a_checkpoint_under_another_name_is_refused(place: Path, two: tuple[str, str]):
    folder = place / "checkpoints"
    os.rename(folder / two[0], folder / "away")
    os.rename(folder / two[1], folder / two[0])
    with pytest.raises(RegistryError, match="not the one it is named after"):
        Registry.open(place).pinned(two[0])


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "A" * 64, "0" * 63, "0" * 64 + "/..", "0" * 64 + "\n"])
def test_only_digests_are_valid_names(place: Path, two: tuple[str, str], name: str):
    del two
    with pytest.raises(RegistryError, match="not a digest"):
        Registry.open(place).pinned(name)
    with pytest.raises(RegistryError):
        named(place, name)


def test_a_checkpoint_is_found_by_the_beginning_of_its_digest(place: Path, two: tuple[str, str]):
    assert named(place, two[0][:8]) == two[0]
    with pytest.raises(RegistryError, match="at least 6 digits"):
        named(place, two[0][:5])


def pointer(place: Path, **changes) -> None:
    path = place / PRODUCTION
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("change", ["other", "record", "older", "gone", "broken", "version", "list"])
def test_a_pointer_that_no_decision_made_leaves_nothing_live(place: Path, two: tuple[str, str], change: str):
    records = Registry.open(place).ledger.records
    decisions = [record for record in records if record.transition == LIVE and record.kind == "decision"]
    match change:
        case "other":
            pointer(place, checkpoint=two[0])
        case "record":
            pointer(place, record="a" * 64)
        case "older":
            pointer(place, checkpoint=two[0], record=decisions[0].digest)
        case "gone":
            (place / PRODUCTION).unlink()
        case "broken":
            (place / PRODUCTION).write_text("{")
        case "version":
            pointer(place, format_version=9)
        case "list":
            (place / PRODUCTION).write_text("[]")
    with pytest.raises(RegistryError, match=r"production\.json"):
        Registry.open(place)


def test_with_a_damaged_ledger_nothing_is_live_and_nothing_is_promoted(
    tmp_path: Path, place: Path, two: tuple[str, str]
):
    del two
    text = (place / LEDGER).read_bytes()
    (place / LEDGER).write_bytes(text.replace(b"so it is", b"so it was", 1))
    with pytest.raises(RegistryError, match="altered"):
        Registry.open(place)
    with pytest.raises(RegistryError, match="altered"):
        promote(place, checkpoint(tmp_path / "p3", number=3))


def test_there_is_one_writer(place: Path, two: tuple[str, str], monkeypatch: pytest.MonkeyPatch):
    del two
    monkeypatch.setattr(module, "WAIT_S", 0.1)
    with writing(place), pytest.raises(LockedError, match="is being written by"), writing(place):
        pass
    with writing(place):
        pass
