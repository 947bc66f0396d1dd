"""Checkpoints without a network: a card and its file of numbers."""

import hashlib
from dataclasses import replace
from pathlib import Path

from twinloop.durable import FileDigest
from twinloop.learn.card import Card
from twinloop.learn.space import Space
from twinloop.observe.recording import Feature

JOINTS = ("shoulder", "elbow")
SPACE = Space(
    "panda", 50.0, (Feature("observation.state", "float32", (2,), JOINTS, "rad"),),
    Feature("action", "float32", (2,), JOINTS, "rad"),
)  # fmt: skip


def checkpoint(folder: Path, *, number: int = 0, **changes) -> Path:
    """Another `number` is another checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    content = f"numbers {number}".encode() * 100
    digest = hashlib.sha256(content).hexdigest()
    file = f"policy-{digest[:12]}.safetensors"
    (folder / file).write_bytes(content)
    card = Card(
        policy="mlp", settings={"horizon": 8}, space=SPACE, file=file, weights=FileDigest(digest, len(content)),
        data=(), training={"steps": 5}, seed=number, versions={"twinloop": "0"},
        metrics={"loss": 0.1, "held_out_loss": 0.2, "held_out_error": {}}, limits={}, instructions=("reach",),
        steps=5, finished=True,
    )  # fmt: skip
    replace(card, **changes).write(folder)
    return folder
