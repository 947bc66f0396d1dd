"""Pseudonyms: what a participant is called here. Whose it is stands in a list that the lab keeps, and nowhere else."""

import re
import secrets

from twinloop.errors import ConsentError

ALPHABET = "23456789bcdfghjkmnpqrstvwxz"
"""No vowels, so that no name comes out, and nothing that reads like another."""
MADE_LETTERS = 10

# A word that says no more than "somebody", then a short number; a long one would be a phone number or a birthday.
NUMBERED = re.compile(r"(?:p|s|id|op|subj|subject|part|participant|person|user|operator)[-_]?[0-9]{1,6}", re.IGNORECASE)
MADE = re.compile(f"p-[{ALPHABET}]{{{MADE_LETTERS}}}")


def new_pseudonym() -> str:
    """One that nobody can guess and that says nothing: 47 bits, from the system's own generator."""
    return "p-" + "".join(secrets.choice(ALPHABET) for _ in range(MADE_LETTERS))


def check_pseudonym(participant: str) -> str:
    """The pseudonym, or ConsentError. What might be a name is refused, and so are addresses and long numbers."""
    if MADE.fullmatch(participant) or NUMBERED.fullmatch(participant):
        return participant
    # What was given may be somebody's name: it does not go on into logs.
    raise ConsentError(
        f"the participant's identifier ({len(participant)} characters) does not look like a pseudonym; a word like "
        "participant and up to six digits (participant-12, P017) was expected, or one that `twinloop consent` makes"
    )
