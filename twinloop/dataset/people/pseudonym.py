"""Pseudonyms of participants. The list that maps them to persons stays with the lab and is never stored here."""

import re
import secrets

from twinloop.errors import ConsentError

ALPHABET = "23456789bcdfghjkmnpqrstvwxz"
"""No vowels, so that no names can result, and no characters that look alike."""
MADE_LETTERS = 10

# A neutral word and a short number. A long number could be a phone number or a date of birth.
NUMBERED = re.compile(r"(?:p|s|id|op|subj|subject|part|participant|person|user|operator)[-_]?[0-9]{1,6}", re.IGNORECASE)
MADE = re.compile(f"p-[{ALPHABET}]{{{MADE_LETTERS}}}")


def new_pseudonym() -> str:
    """Return a random pseudonym with 47 bits of entropy from the system's generator."""
    return "p-" + "".join(secrets.choice(ALPHABET) for _ in range(MADE_LETTERS))


def check_pseudonym(participant: str) -> str:
    """Return the pseudonym. Raises ConsentError if it could be a name, an address or a long number."""
    if MADE.fullmatch(participant) or NUMBERED.fullmatch(participant):
        return participant
    # The input may be a person's name, so the message must not repeat it.
    raise ConsentError(
        f"the participant's identifier ({len(participant)} characters) does not look like a pseudonym; a word like "
        "participant and up to six digits (participant-12, P017) was expected, or one that `twinloop consent` makes"
    )
