"""Data of people: it enters with consent, and can be forgotten everywhere it went."""

from .consent import CONSENT_COLUMNS, USES, Consent, read_consent, require_consent
from .forget import Forgotten, forget_in
from .pseudonym import check_pseudonym, new_pseudonym

__all__ = [
    "CONSENT_COLUMNS",
    "USES",
    "Consent",
    "Forgotten",
    "check_pseudonym",
    "forget_in",
    "new_pseudonym",
    "read_consent",
    "require_consent",
]
