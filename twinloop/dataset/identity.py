"""Identity of a dataset: its digest, and the differences between two headers."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from twinloop.errors import DatasetError
from twinloop.observe.recording import Feature

from .header import Header
from .manifest import ShardEntry

# Headers that differ in one of these keys describe different data.
IDENTITY = (
    "format_version",
    "source",
    "robot",
    "fps",
    "features",
    "phases",
    "subtasks",
    "config_digest",
    "run_seed",
    "shard_episodes",
    "keep_rejected",
    "versions",
)

MOST_NAMES = 8  # element names of a feature listed in a message


@dataclass(frozen=True)
class Difference:
    """A property in which two headers differ, with both values as text."""

    key: str
    one: str
    other: str


def dataset_digest(header: Header, entries: Iterable[ShardEntry]) -> str:
    """Return the SHA-256 of the dataset's content. It does not depend on how or where the dataset was made."""
    *_, last = growing_digests(header, entries)
    return last


def growing_digests(header: Header, entries: Iterable[ShardEntry]) -> Iterator[str]:
    """Yield the digest with no shard, with the first, with the first two, and so on up to all shards."""
    values = dataclasses.asdict(header)
    identity = {key: values[key] for key in IDENTITY}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode())
    yield digest.hexdigest()
    for entry in sorted(entries, key=lambda entry: entry.first):
        for name, file in sorted(entry.files.items()):
            digest.update(f"\n{entry.first} {entry.stop} {name} {file.sha256}".encode())
        yield digest.hexdigest()


def differences(one: Header, other: Header, keys: Iterable[str] = IDENTITY) -> list[Difference]:
    """Return the differences under `keys`. Features are compared one by one."""
    different = []
    for key in keys:
        value, other_value = getattr(one, key), getattr(other, key)
        if key == "features":
            different += _feature_differences(value, other_value)
        elif value != other_value:
            different.append(Difference(key, str(value), str(other_value)))
    return different


def refuse_other(where: str, stored: Header, header: Header) -> None:
    """Raise DatasetError if the dataset stored at `where` cannot be continued with `header`."""
    different = differences(stored, header)
    if different:
        advice = "choose another --out, or remove that folder to start over"
        lines = [
            f"  {difference.key}: {difference.one} in the folder, {difference.other} in this run"
            for difference in different
        ]
        raise DatasetError("\n".join([f"{where}: contains a different dataset; {advice}", *lines]))
    if header.episodes < stored.episodes:
        counts = f"has {stored.episodes} planned episodes; {header.episodes} were requested"
        raise DatasetError(f"{where}: {counts}; a dataset can grow but not shrink, choose another --out")


def _feature_differences(one: tuple[Feature, ...], other: tuple[Feature, ...]) -> list[Difference]:
    names = dict.fromkeys(feature.name for feature in (*one, *other))
    pairs = [tuple(next((f for f in side if f.name == name), None) for side in (one, other)) for name in names]
    different = [
        Difference(f"feature {name}", _feature_text(ours, others), _feature_text(others, ours))
        for name, (ours, others) in zip(names, pairs, strict=True)
        if ours != others
    ]
    if not different and one != other:
        orders = [", ".join(feature.name for feature in side) for side in (one, other)]
        different.append(Difference("order of features", *orders))
    return different


def _feature_text(feature: Feature | None, other: Feature | None) -> str:
    if feature is None:
        return "absent"
    names = f" [{_differing_names(feature.names, other.names if other else ())}]" if feature.names else ""
    unit = f" in {feature.unit}" if feature.unit else ""
    return f"{feature.dtype}{list(feature.shape)}{names}{unit}"


def _differing_names(names: tuple[str, ...], others: tuple[str, ...]) -> str:
    """Return a few names in full. If there are many, return only those that `others` lacks or has elsewhere."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    own = [name for name in names if name not in others]
    own = own or [name for name, other in zip_longest(names, others) if name and name != other]
    more = "" if len(own) <= MOST_NAMES else ", ..."
    return f"{len(names)} names" + (": " if own else "") + ", ".join(own[:MOST_NAMES]) + more
