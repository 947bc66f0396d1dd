"""Signed ledgers: keys are added by their owners, signatures bind the actor, and restricting records need none."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.gate.checkpoints import checkpoint
from twinloop.errors import RegistryError, UsageError
from twinloop.gate.audit import audit
from twinloop.gate.ledger import LEDGER, read_ledger
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import PROMOTED, REFUSED
from twinloop.gate.signing import create_key, load_key, trusted_keys


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A registry that ada has signed."""
    signer = create_key(tmp_path / "ada.pem")
    with writing(tmp_path / "registry", key=tmp_path / "ada.pem") as writer:
        writer.add_key(signer, "ada", signer.public)
    return tmp_path


def names(place: Path) -> set[str]:
    return {key.name for key in trusted_keys(Registry.open(place / "registry").ledger.records).values()}


def test_the_owner_of_the_key_is_the_actor(place: Path):
    with writing(place / "registry", actor="eve", key=place / "ada.pem") as writer:
        digest = writer.pin(checkpoint(place / "p")).digest
        record = writer.decide(PROMOTED, checkpoint=digest, transition="candidate -> validated")
    assert record.actor == "ada"
    assert record.signature
    assert read_ledger(place / "registry").problems == ()


def test_a_further_key_needs_a_signature_and_can_be_revoked(place: Path):
    bob = create_key(place / "bob.pem")
    with pytest.raises(RegistryError, match="needs a signature of ada"), writing(place / "registry") as writer:
        writer.add_key(None, "bob", bob.public)
    with writing(place / "registry", key=place / "ada.pem") as writer:
        writer.add_key(None, "bob", bob.public)
    assert names(place) == {"ada", "bob"}
    with writing(place / "registry", key=place / "bob.pem") as writer:
        writer.revoke_key("ada")
        with pytest.raises(RegistryError, match="the only key"):
            writer.revoke_key("bob")
    assert names(place) == {"bob"}
    with (
        pytest.raises(RegistryError, match="your key is not one of them"),
        writing(place / "registry", key=place / "ada.pem") as writer,
    ):
        writer.add_key(None, "ada", load_key(place / "ada.pem").public)


def test_refusals_need_no_signature(place: Path):
    with writing(place / "registry", actor="robot") as writer:
        digest = writer.pin(checkpoint(place / "p")).digest
        writer.decide(REFUSED, checkpoint=digest, transition="candidate -> validated", reasons=["too few"])
    assert read_ledger(place / "registry").problems == ()


@pytest.mark.parametrize("change", ["stripped", "of another record", "actor"])
def test_a_false_signature_is_named(place: Path, change: str):
    with writing(place / "registry", key=place / "ada.pem") as writer:
        digest = writer.pin(checkpoint(place / "p")).digest
        first = writer.decide(PROMOTED, checkpoint=digest, transition="candidate -> validated")
        last = writer.decide(PROMOTED, checkpoint=digest, transition="validated -> canary")
    forged = {
        "stripped": replace(last, signature={}),
        "of another record": replace(last, signature=first.signature),
        "actor": replace(last, actor="bob"),
    }[change]
    ledger = place / "registry" / LEDGER
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join([*lines[:-1], forged.to_line()]))
    problems = read_ledger(place / "registry").problems
    assert any(f"record {last.sequence}" in problem for problem in problems)
    with pytest.raises(RegistryError, match="was altered"):
        Registry.open(place / "registry")


def test_a_key_file_is_private_and_is_not_overwritten(place: Path):
    assert (place / "ada.pem").stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="never overwritten"):
        create_key(place / "ada.pem")
    (place / "text.pem").write_text("no key")
    with pytest.raises(UsageError, match="is not a private key"):
        load_key(place / "text.pem")
    with pytest.raises(UsageError, match="no such key file"):
        load_key(place / "none.pem")


def test_the_audit_lists_who_decided_what(place: Path):
    with writing(place / "registry", key=place / "ada.pem") as writer:
        digest = writer.pin(checkpoint(place / "p")).digest
        writer.approve(digest, "canary", note="seen it")
    result = audit(place / "registry")
    assert result.problems == ()
    assert result.keys == ("ada",)
    last = result.records[-1]
    assert (last.actor, last.signed_by, last.reasons) == ("ada", "ada", ("seen it",))
    assert last.what == f"approved {digest[:12]} for canary"
    assert audit(place / "registry", head="0" * 64).problems
