"""Read the header and the committed entries of a dataset in an object store."""

from twinloop.dataset.header import Header
from twinloop.dataset.layout import HEADER
from twinloop.dataset.manifest import ShardEntry, ordered_entries
from twinloop.dataset.seal import unsealed
from twinloop.errors import CorruptError, DatasetError

from .layout import MANIFESTS, entry_key, identity, snapshot_key
from .objects import Objects

AT_ONCE = 256  # entries read in parallel


def read_header(objects: Objects) -> Header | None:
    data = objects.read(HEADER)
    if data is None:
        return None
    where = f"{objects.remote}/{HEADER}"
    try:
        values = unsealed(data)
    except ValueError as error:
        raise CorruptError(f"{where}: {error}; a dataset header was expected") from None
    return Header.from_json(values, where=where)


def require_header(objects: Objects) -> Header:
    header = read_header(objects)
    if header is None:
        raise DatasetError(f"{objects.remote}: is not a dataset: it has no {HEADER}")
    return header


def read_entries(objects: Objects, header: Header) -> tuple[ShardEntry, ...]:
    """Return the entries that the store lists now. The snapshot only saves reading each object."""
    dataset_identity = identity(header)
    listed = sorted(objects.sizes(f"{MANIFESTS}/{dataset_identity}"))
    known = {}
    for line in (objects.read(snapshot_key(dataset_identity)) or b"").splitlines():
        entry = ShardEntry.from_line(line, where=f"{objects.remote}/{snapshot_key(dataset_identity)}")
        known[entry_key(dataset_identity, entry.name)] = entry
    unread = [key for key in listed if key not in known]
    for first in range(0, len(unread), AT_ONCE):
        for key, data in objects.read_many(unread[first : first + AT_ONCE]).items():
            known[key] = ShardEntry.from_line(data.rstrip(b"\n"), where=f"{objects.remote}/{key}")
    return ordered_entries((known[key] for key in listed), where=str(objects.remote))
