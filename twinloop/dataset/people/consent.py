"""Consent: the uses of their data that a participant agreed to.

It is stored in columns of every episode of the participant. A copy of an episode therefore includes its consent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import yaml

from twinloop.config.fields import day, text, texts
from twinloop.config.record import json_schema, read_record, write_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import read_yaml
from twinloop.dataset.people.pseudonym import check_pseudonym
from twinloop.durable import storage_errors, write_file
from twinloop.errors import ConsentError, UsageError, nearest

Use = Literal["record", "train", "analyse"]
"""record: store in datasets. train: train policies. analyse: use in diagnosis and calibration."""
USES: tuple[Use, ...] = get_args(Use)

PARTICIPANT = "participant"
CONSENT_COLUMNS = ("consent/purpose", "consent/scope", "consent/given_on", "consent/expires_on")


@dataclass(frozen=True)
class Consent:
    """The consent of one participant."""

    participant: str = text(help="pseudonym of the participant, as P017")
    purpose: str = text(help="the purpose as explained to the participant")
    scope: tuple[Use, ...] = texts(words=USES, help="the uses that the participant agreed to")
    given_on: date = day(help="first day on which the consent is valid")
    expires_on: date = day(help="last day on which the consent is valid")

    def __post_init__(self) -> None:
        check_pseudonym(self.participant)
        if not self.purpose.strip():
            raise ConsentError(
                f"consent of {self.participant}: purpose is empty; give the purpose that the participant agreed to"
            )
        for use in self.scope:
            if use not in USES:
                raise ConsentError(f"consent of {self.participant}: scope: unknown use {use!r}; {nearest(use, USES)}")
        if self.expires_on < self.given_on:
            raise ConsentError(
                f"consent of {self.participant}: expires_on {self.expires_on} is before given_on {self.given_on}"
            )

    def columns(self) -> dict[str, str]:
        """Return the values of an episode's consent columns: column -> text."""
        values = (self.purpose, ",".join(self.scope), self.given_on.isoformat(), self.expires_on.isoformat())
        return {PARTICIPANT: self.participant, **dict(zip(CONSENT_COLUMNS, values, strict=True))}

    @classmethod
    def from_columns(cls, row: Mapping[str, str | None]) -> "Consent":
        participant = str(row[PARTICIPANT])
        for name in CONSENT_COLUMNS:
            if not row.get(name):
                raise ConsentError(
                    f"an episode of {check_pseudonym(participant)} has no {name}: "
                    "data of people needs a recorded consent"
                )
        purpose, scope, given_on, expires_on = (str(row[name]) for name in CONSENT_COLUMNS)
        uses: tuple[Use, ...] = tuple(scope.split(","))  # pyright: ignore[reportAssignmentType]
        return cls(
            participant,
            purpose,
            uses,
            _date(participant, "given_on", given_on),
            _date(participant, "expires_on", expires_on),
        )

    def require(self, use: Use, *, today: date) -> None:
        """Raise ConsentError if the consent does not cover `use` on the day `today`."""
        if today < self.given_on:
            raise ConsentError(f"the consent of {self.participant} is valid from {self.given_on}; today is {today}")
        if today > self.expires_on:
            raise ConsentError(
                f"the consent of {self.participant} expired on {self.expires_on}; "
                f"`twinloop forget {self.participant}` removes their episodes"
            )
        if use not in self.scope:
            raise ConsentError(
                f"the consent of {self.participant} covers {', '.join(self.scope) or 'nothing'}, but not {use}"
            )


def read_consent(path: Path) -> Consent:
    """Read a consent from a YAML file."""
    try:
        return read_record(Consent, Section(str(path), "", *read_yaml(path)))
    except ConsentError as error:
        raise ConsentError(f"{path}: {error}") from None


def write_consent(path: Path, consent: Consent) -> None:
    """Write the YAML file that `read_consent` reads. An existing file is kept, because it was signed."""
    with storage_errors(path):
        if path.exists():
            raise UsageError(f"{path}: exists already; choose another --out")
        write_file(path, yaml.safe_dump(write_record(consent), sort_keys=False, allow_unicode=True).encode())


def consent_schema() -> dict[str, Any]:
    """JSON Schema of a consent file."""
    return json_schema(Consent, title="Twinloop consent of a participant")


def require_consent(rows: pa.Table | dict[str, pa.Array], use: Use, *, where: str, today: date | None = None) -> int:
    """Check that the consent of every participant in `rows` covers `use`, and return the number of participants.

    Args:
        rows: rows of attempts. Rows without a participant need no consent.
        use: the intended use.
        where: file or attempts, for the error message.
        today: the day to check. Default: the current day in UTC.

    Raises:
        ConsentError: a consent is missing, expired, not yet valid, or does not cover the use.
    """
    names = list(rows) if isinstance(rows, dict) else rows.column_names
    if PARTICIPANT not in names:
        return 0
    columns = [name for name in (PARTICIPANT, *CONSENT_COLUMNS) if name in names]
    consents: Sequence[tuple] = list(zip(*(rows[name].to_pylist() for name in columns), strict=True))
    distinct = {values for values in consents if values[0]}
    today = datetime.now(UTC).date() if today is None else today
    try:
        for values in sorted(distinct, key=str):
            Consent.from_columns(dict(zip(columns, values, strict=True))).require(use, today=today)
    except ConsentError as error:
        raise ConsentError(f"{where}: {error}") from None
    return len({values[0] for values in distinct})


def _date(participant: str, key: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConsentError(
            f"consent of {check_pseudonym(participant)}: {key}: {text!r} is not a date such as 2027-12-31"
        ) from None
