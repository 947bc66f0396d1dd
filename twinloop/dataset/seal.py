"""Seals: JSON that contains the SHA-256 of its own bytes, so that any change of the file is detected.

Without a seal, a damaged manifest would look like a damaged shard. With it, the error names the manifest. Files
written by versions without seals have none and are read without this check.
"""

import hashlib
import json

SEAL = "sha256"
_OPEN = "0" * 64


def sealed(values: dict, *, end: str = "", indent: int | None = None) -> bytes:
    """Return `values` as JSON with the seal as the last key. The text `end` is appended and sealed too."""
    separators = (",", ":") if indent is None else None
    text = json.dumps({**values, SEAL: _OPEN}, indent=indent, separators=separators) + end
    before, _, after = text.rpartition(_OPEN)
    return f"{before}{hashlib.sha256(text.encode()).hexdigest()}{after}".encode()


def unsealed(data: bytes) -> dict:
    """Return the values without the seal. Raises ValueError if the bytes were changed or are not a JSON mapping."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise ValueError(f"contains a {type(values).__name__}; a mapping was expected")
    if SEAL in values:
        seal = str(values.pop(SEAL)).encode()
        before, separator, after = data.rpartition(seal)
        if not separator or hashlib.sha256(before + _OPEN.encode() + after).hexdigest().encode() != seal:
            raise ValueError("was altered: its checksum does not match")
    return values
