"""Write the consent of a participant to a file, under a pseudonym. `twinloop collect --consent` reads it.

Keep the list of names and pseudonyms apart from the data."""

import argparse
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

EXAMPLES = """\
examples:
  twinloop consent --purpose "teaching a robot to put things away" --expires 2028-12-31 --out consent.yaml
  twinloop consent --participant P017 --scope record --purpose "a pilot study" --expires 2027-06-30 --out p017.yaml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--participant", metavar="P", help="pseudonym (default: a new one)")
    parser.add_argument("--purpose", required=True, metavar="TEXT", help="purpose that the participant agreed to")
    parser.add_argument(
        "--scope", default="record,train", metavar="USE,...",
        help="uses that the participant agreed to: record, train, analyse (default: record,train)",
    )  # fmt: skip
    parser.add_argument("--given", type=day, metavar="DAY", help="first day of validity (default: today)")
    parser.add_argument("--expires", type=day, required=True, metavar="DAY", help="last day of validity")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="file to write; an existing file is not replaced"
    )


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: a date such as 2027-12-31 was expected") from None


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from twinloop.dataset.people.consent import Consent, write_consent
    from twinloop.dataset.people.pseudonym import new_pseudonym

    consent = Consent(
        participant=args.participant or new_pseudonym(),
        purpose=args.purpose,
        scope=tuple(args.scope.split(",")),
        given_on=args.given or datetime.now(UTC).date(),
        expires_on=args.expires,
    )
    write_consent(args.out, consent)
    console.print(f"{args.out}: {consent.participant} agreed to {', '.join(consent.scope)} until {consent.expires_on}")
    return {"path": str(args.out), **consent.columns()}
