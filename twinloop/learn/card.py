"""Card: the JSON description of a checkpoint: robot, data, settings, code versions and metrics."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinloop.config.fields import of_kind, text, version
from twinloop.config.json_file import load_json, record_from_json
from twinloop.config.kinds import Text
from twinloop.config.record import json_schema, write_record
from twinloop.durable import FileDigest, replace_file, storage_errors
from twinloop.errors import CheckpointError
from twinloop.learn.space import Space

CARD = "card.json"
DIGEST = "digest"
REINFORCEMENT = "reinforcement"
"""Kind of a data source that is a twin and no dataset: the policy was trained by reinforcement in it."""
FORMAT_VERSION = 1
MAX_CARD_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Card:
    """The description of a checkpoint.

    Attributes:
        policy, settings: kind of the network and its settings.
        space: robot, inputs and actions.
        weights: digest of the weights file beside the card.
        data: every dataset with digest, seed, weight and size.
        training: settings of the optimisation.
        seed: seed of initial weights and batches.
        versions: versions of the code.
        metrics: training loss, and loss and errors on held-out episodes.
        limits: lowest and highest action in the data, per element; the policy has no experience outside them.
        instructions: instructions of the training data.
        steps: completed training steps.
        finished: all requested steps are completed.
    """

    policy: str
    settings: dict[str, Any]
    space: Space
    file: str = text(pattern=r"policy-[0-9a-f]{12}\.safetensors", form="policy-DIGEST.safetensors", help="weights file")
    weights: FileDigest
    data: tuple[dict[str, Any], ...]
    training: dict[str, Any]
    seed: int
    versions: dict[str, str]
    metrics: dict[str, Any]
    limits: dict[str, tuple[float, ...]]
    instructions: tuple[str, ...]
    steps: int
    finished: bool
    parent: str = of_kind(Text(required=True, help="digest of the checkpoint that it was fine-tuned from, or none"), "")
    format_version: int = version(FORMAT_VERSION)

    @property
    def digest(self) -> str:
        """Digest of the whole card. It identifies the checkpoint independently of its folder's name."""
        return hashlib.sha256(json.dumps(write_record(self), sort_keys=True).encode()).hexdigest()

    @property
    def knows_real(self) -> bool:
        """True if the policy was trained on real data, or on data of a twin that was fitted to the robot."""
        return any(source.get("kind") == "real" or source.get("as_real") for source in self.data)

    def write(self, folder: Path) -> None:
        text = json.dumps(write_record(self) | {DIGEST: self.digest}, indent=2) + "\n"
        with storage_errors(folder):
            replace_file(folder / CARD, text.encode(), scratch=folder)


def card_schema() -> dict[str, Any]:
    """JSON Schema of `card.json`, which has the digest of the card beside its content."""
    schema = json_schema(Card, title="Twinloop card of a checkpoint")
    schema["properties"][DIGEST] = {"type": "string", "description": "SHA-256 of the other keys"}
    return {**schema, "required": [*schema["required"], DIGEST]}


def read_card(folder: Path) -> Card:
    path = folder / CARD
    if not path.is_file():
        problem = "has no card.json" if folder.is_dir() else "is not a folder"
        raise CheckpointError(
            f"{folder}: {problem}; a checkpoint folder with card.json and a weights file was expected"
        )
    values = load_json(path, max_bytes=MAX_CARD_BYTES, what="a card", error=CheckpointError)
    written = values.pop(DIGEST, None) if isinstance(values, dict) else None
    card = record_from_json(Card, values, where=str(path), error=CheckpointError)
    if written != card.digest:
        raise CheckpointError(f"{path}: was altered: its content has the digest {card.digest[:12]}...")
    return card
