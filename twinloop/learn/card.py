"""Card: the JSON description of a checkpoint: robot, data, settings, code versions and metrics."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from twinloop.durable import FileDigest, read_bounded, replace_file, storage_errors
from twinloop.errors import CheckpointError, nearest
from twinloop.learn.space import Space

CARD = "card.json"
FORMAT_VERSION = 1
MAX_CARD_BYTES = 1 << 20
FILE = re.compile(r"policy-[0-9a-f]{12}\.safetensors")


@dataclass(frozen=True)
class Card:
    """The description of a checkpoint.

    Attributes:
        policy, settings: kind of the network and its settings.
        space: robot, inputs and actions.
        file, weights: name of the weights file beside the card, and its digest.
        data: every dataset with digest, seed, weight and size.
        training: settings of the optimisation.
        seed: seed of initial weights and batches.
        versions: versions of the code.
        metrics: training loss, and loss and errors on held-out episodes.
        limits: lowest and highest action in the data, per element; the policy has no experience outside them.
        instructions: instructions of the training data.
        parent: digest of the checkpoint that it was fine-tuned from.
        steps: completed training steps.
        finished: all requested steps are completed.
    """

    policy: str
    settings: dict[str, Any]
    space: Space
    file: str
    weights: FileDigest
    data: tuple[dict[str, Any], ...]
    training: dict[str, Any]
    seed: int
    versions: dict[str, str]
    metrics: dict[str, Any]
    limits: dict[str, list[float]]
    instructions: tuple[str, ...]
    steps: int
    finished: bool
    parent: str = ""
    format_version: int = field(default=FORMAT_VERSION)

    @property
    def digest(self) -> str:
        """Digest of the whole card. It identifies the checkpoint independently of its folder's name."""
        return hashlib.sha256(json.dumps(self._content(), sort_keys=True).encode()).hexdigest()

    @property
    def knows_real(self) -> bool:
        """True if the policy was trained on real data."""
        return any(source.get("kind") == "real" for source in self.data)

    def _content(self) -> dict[str, Any]:
        return asdict(self) | {"space": self.space.to_json(), "weights": self.weights.to_json()}

    def write(self, folder: Path) -> None:
        text = json.dumps(self._content() | {"digest": self.digest}, indent=2) + "\n"
        with storage_errors(folder):
            replace_file(folder / CARD, text.encode(), scratch=folder)


def read_card(folder: Path) -> Card:
    path = folder / CARD
    if not path.is_file():
        problem = "has no card.json" if folder.is_dir() else "is not a folder"
        raise CheckpointError(
            f"{folder}: {problem}; a checkpoint folder with card.json and a weights file was expected"
        )
    text = read_bounded(path, MAX_CARD_BYTES, error=CheckpointError)
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: is not JSON ({error})") from None
    return _card(path, values)


def _card(path: Path, values: object) -> Card:
    if not isinstance(values, Mapping):
        raise CheckpointError(f"{path}: contains a {type(values).__name__}; a mapping was expected")
    known = {key_field.name for key_field in fields(Card)}
    if values.get("format_version") != FORMAT_VERSION:
        given = values.get("format_version")
        raise CheckpointError(
            f"{path}: format_version: {given!r} was given; this version of twinloop reads {FORMAT_VERSION}"
        )
    for key in (*sorted(known), "digest"):
        if key not in values:
            raise CheckpointError(f"{path}: {key}: is missing")
    for key in values:
        if key not in known | {"digest"}:
            raise CheckpointError(f"{path}: {key}: unknown key; {nearest(str(key), known)}")
    try:
        card = Card(**{key: value for key, value in values.items() if key != "digest"} | {
            "space": Space.from_json(values["space"]),
            "weights": FileDigest.from_json(values["weights"]),
            "data": tuple(map(dict, values["data"])),
            "instructions": tuple(map(str, values["instructions"])),
        })  # fmt: skip
        digest = card.digest
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{path}: is malformed: {error!r:.200}") from None
    if not FILE.fullmatch(str(card.file)):
        raise CheckpointError(f"{path}: file: {card.file!r} was given; policy-DIGEST.safetensors was expected")
    if values["digest"] != digest:
        raise CheckpointError(f"{path}: was altered: its content has digest {digest[:12]}...")
    return card
