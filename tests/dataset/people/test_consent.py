"""Consent: which data and files are refused, and with which message."""

from datetime import timedelta

import pytest

from tests.dataset.people.peopled import ADA, BO, TODAY, consent_of, day, peopled
from twinloop.dataset import Dataset, merge
from twinloop.dataset.people.consent import Consent, read_consent, write_consent
from twinloop.dataset.people.pseudonym import check_pseudonym, new_pseudonym
from twinloop.errors import ConfigError, ConsentError, UsageError
from twinloop.learn.demonstrations import load_demonstrations

NAMES = (
    "anna@example.org", "Anna Schmidt", "anna.schmidt", "anna_schmidt", "Anna", "abba", "P", "", "Anna7", "ada1990",
    "+49 151 2345678", "p1990041212", "p-aeiouaeiou", "p-xq7rk2mtw", "participant twelve", "P017 Anna",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_possible_names_are_refused_as_pseudonyms_and_not_repeated(name):
    with pytest.raises(ConsentError, match="does not look like a pseudonym") as refused:
        check_pseudonym(name)
    assert len(name) < 5 or name not in str(refused.value)


@pytest.mark.parametrize("name", ["P017", "s3", "participant-12", "subject_004", "user99", ADA])
def test_numbers_and_made_ones_are_pseudonyms(name):
    assert check_pseudonym(name) == name


def test_made_pseudonyms_are_pseudonyms_and_differ():
    made = {new_pseudonym() for _ in range(500)}
    assert len(made) == 500
    assert all(check_pseudonym(text) for text in made)


def test_a_consent_round_trips_and_is_never_replaced(tmp_path):
    file, consent = tmp_path / "consent.yaml", consent_of(ADA)
    write_consent(file, consent)
    assert read_consent(file) == consent
    assert Consent.from_columns(consent.columns()) == consent
    with pytest.raises(UsageError, match="exists already"):
        write_consent(file, consent_of(BO))
    assert read_consent(file) == consent


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("purpose: x\nscope: [record]\ngiven_on: 2026-01-01\nexpires_on: 2027-01-01\n", "participant: is missing"),
        ("participant: P1\npurpose: x\nscope: [record]\ngiven_on: 2026-01-01\n", "expires_on: is missing"),
        ("participant: P1\npurpose: x\nscope: [record]\ngiven_on: soon\nexpires_on: 2027-01-01\n", "is 'soon'; a day"),
        ("participant: P1\npurpose: x\nscope: [recrd]\ngiven_on: 2026-01-01\nexpires_on: 2027-01-01\n", "mean record"),
        ("participant: P1\npurpose: ' '\nscope: [record]\ngiven_on: 2026-01-01\nexpires_on: 2027-01-01\n", "is empty"),
        ("participant: P1\npurpose: x\nscope: [record]\ngiven_on: 2027-01-02\nexpires_on: 2027-01-01\n", "is before"),
        ("participant: P1\npurpose: x\nscope: [record]\ngiven_on: 2026-01-01\nexpires_on: 2027-01-01\nage: 3\n", "age"),
    ],
)  # fmt: skip
def test_an_invalid_consent_file_is_refused(tmp_path, text, complaint):
    (tmp_path / "consent.yaml").write_text(text)
    with pytest.raises((ConsentError, ConfigError), match=complaint):
        read_consent(tmp_path / "consent.yaml")


def test_a_consent_holds_from_its_first_day_to_its_last():
    consent = consent_of(ADA, given_on=day("2026-03-01"), expires_on=day("2026-05-01"))
    consent.require("train", today=day("2026-03-01"))
    consent.require("train", today=day("2026-05-01"))
    with pytest.raises(ConsentError, match=f"expired on 2026-05-01; `twinloop forget {ADA}`"):
        consent.require("train", today=day("2026-05-02"))
    with pytest.raises(ConsentError, match="valid from 2026-03-01;"):
        consent.require("train", today=day("2026-02-28"))
    with pytest.raises(ConsentError, match="covers record, train, but not analyse"):
        consent.require("analyse", today=day("2026-04-01"))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"given_on": TODAY - timedelta(9), "expires_on": TODAY - timedelta(days=1)}, "expired"),
        ({"given_on": TODAY + timedelta(days=1)}, "valid from"),
        ({"scope": ("train",)}, "covers train, but not record"),
    ],
)
def test_an_episode_without_a_consent_that_holds_does_not_enter(tmp_path, changes, complaint):
    with pytest.raises(ConsentError, match=complaint):
        peopled(tmp_path / "d", ["", ADA], consents={ADA: consent_of(ADA, **changes)})
    assert Dataset.open(tmp_path / "d").frame_count > 0  # the episodes without a participant
    assert len(Dataset.open(tmp_path / "d").entries) == 1


def test_training_and_merging_refuse_uses_without_consent(tmp_path):
    only_record = consent_of(BO, scope=("record",))
    peopled(tmp_path / "may", ["", ADA])
    peopled(tmp_path / "may_not", ["", BO], consents={BO: only_record})
    assert load_demonstrations(tmp_path / "may", ("observation.state",)).frames > 0
    with pytest.raises(ConsentError, match=r"may_not: the consent of P017 covers record, but not train"):
        load_demonstrations(tmp_path / "may_not", ("observation.state",))
    merge(tmp_path / "both", [tmp_path / "may", tmp_path / "may_not"])
    with pytest.raises(ConsentError, match="both: the consent of P017"):
        load_demonstrations(tmp_path / "both", ("observation.state",))
    assert Dataset.open(tmp_path / "both").attempts()["participant"].to_pylist() == ["", ADA, "", BO]
