"""What makes a dataset this one and no other: its digest, and the differences between two headers."""

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

# Two headers that differ in one of these describe different data, whatever else they agree on.
IDENTITY = (
    "format_version",
    "source",
    "robot",
    "fps",
    "features",
    "phases",
    "config_digest",
    "run_seed",
    "shard_episodes",
    "keep_rejected",
    "versions",
)

MOST_NAMES = 8  # of a feature's elements that are told one by one


@dataclass(frozen=True)
class Difference:
    """A thing two headers disagree on, and each one's say."""

    what: str
    mine: str
    theirs: str


def dataset_digest(header: Header, entries: Iterable[ShardEntry]) -> str:
    """What the dataset is, as one number: the same for the same content, however and wherever it was made."""
    *_, last = growing_digests(header, entries)
    return last


def growing_digests(header: Header, entries: Iterable[ShardEntry]) -> Iterator[str]:
    """The digest without a shard, with the first, with the first two, and so on to the whole."""
    values = dataclasses.asdict(header)
    identity = {key: values[key] for key in IDENTITY}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode())
    yield digest.hexdigest()
    for entry in sorted(entries, key=lambda entry: entry.first):
        for name, file in sorted(entry.files.items()):
            digest.update(f"\n{entry.first} {entry.stop} {name} {file.sha256}".encode())
        yield digest.hexdigest()


def differences(one: Header, other: Header, keys: Iterable[str] = IDENTITY) -> list[Difference]:
    """What differs under `keys`, feature by feature where the features do."""
    found = []
    for key in keys:
        mine, theirs = getattr(one, key), getattr(other, key)
        if key == "features":
            found += _feature_differences(mine, theirs)
        elif mine != theirs:
            found.append(Difference(key, str(mine), str(theirs)))
    return found


def refuse_other(where: str, stored: Header, header: Header) -> None:
    """DatasetError unless what is stored there can be continued as this dataset."""
    different = differences(stored, header)
    if different:
        advice = "choose another --out, or remove what is there to make it anew"
        lines = [f"  {each.what}: {each.mine} there, {each.theirs} given" for each in different]
        raise DatasetError("\n".join([f"{where}: holds a different dataset; {advice}", *lines]))
    if header.episodes < stored.episodes:
        counts = f"{stored.episodes} episodes are planned there, {header.episodes} were given"
        raise DatasetError(f"{where}: {counts}; a dataset can grow but not shrink, choose another --out")


def _feature_differences(mine: tuple[Feature, ...], theirs: tuple[Feature, ...]) -> list[Difference]:
    names = dict.fromkeys(feature.name for feature in (*mine, *theirs))
    pairs = [tuple(next((f for f in side if f.name == name), None) for side in (mine, theirs)) for name in names]
    found = [
        Difference(f"feature {name}", _shown(ours, others), _shown(others, ours))
        for name, (ours, others) in zip(names, pairs, strict=True)
        if ours != others
    ]
    if not found and mine != theirs:
        orders = [", ".join(feature.name for feature in side) for side in (mine, theirs)]
        found.append(Difference("order of features", *orders))
    return found


def _shown(feature: Feature | None, other: Feature | None) -> str:
    if feature is None:
        return "absent"
    names = f" [{_some(feature.names, other.names if other else ())}]" if feature.names else ""
    unit = f" in {feature.unit}" if feature.unit else ""
    return f"{feature.dtype}{list(feature.shape)}{names}{unit}"


def _some(names: tuple[str, ...], others: tuple[str, ...]) -> str:
    """All of a few names; of many, those that are not among the others, or not at their place."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    own = [name for name in names if name not in others]
    own = own or [name for name, there in zip_longest(names, others) if name and name != there]
    more = "" if len(own) <= MOST_NAMES else ", ..."
    return f"{len(names)} names" + (": " if own else "") + ", ".join(own[:MOST_NAMES]) + more
