"""Seals: JSON that carries the digest of its own bytes, so that a changed byte is found in that very file.

Whatever else a damaged file would accuse (a manifest with a wrong digit in it accuses a shard that is whole), it is
the file itself that is named. What was written before there were seals has none and is read as it is.
"""

import hashlib
import json

SEAL = "sha256"
_OPEN = "0" * 64


def sealed(values: dict, *, end: str = "", indent: int | None = None) -> bytes:
    """`values` as JSON with their seal as the last key. end: what follows it, and is sealed as well."""
    separators = (",", ":") if indent is None else None
    text = json.dumps({**values, SEAL: _OPEN}, indent=indent, separators=separators) + end
    before, _, after = text.rpartition(_OPEN)
    return f"{before}{hashlib.sha256(text.encode()).hexdigest()}{after}".encode()


def unsealed(data: bytes) -> dict:
    """The values that were sealed, or ValueError where the bytes are not those."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise ValueError(f"holds a {type(values).__name__}, a mapping was expected")
    if SEAL in values:
        seal = str(values.pop(SEAL)).encode()
        before, found, after = data.rpartition(seal)
        if not found or hashlib.sha256(before + _OPEN.encode() + after).hexdigest().encode() != seal:
            raise ValueError("was changed after it was written: its seal is broken")
    return values
