"""More than twenty hostile checkpoints, by kind of attack."""

import json
import os
import pickle
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from tests.gate.checkpoints import JOINTS, SPACE, checkpoint
from twinloop.learn.card import read_card
from twinloop.learn.checkpoint import build, save
from twinloop.observe.recording import Feature

Harm = Callable[[Path], object]
"""A change of a checkpoint folder."""

SETTINGS = {"horizon": 4, "executed": 2, "width": 16, "depth": 1}


class Touch:
    """Unpickling it would create a file."""

    def __reduce__(self):
        return (Path.touch, (Path("canary-was-here"),))


def valid(folder: Path) -> Path:
    """A valid checkpoint, from which the others are made."""
    card = read_card(checkpoint(folder.with_name("card"), settings=SETTINGS))
    folder.mkdir()
    save(folder, build(folder, card), lambda file, digest: replace(card, file=file, weights=digest))
    return folder


def numbers(folder: Path) -> Path:
    return next(folder.glob("policy-*.safetensors"))


def framed(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def content(data: bytes) -> Harm:
    return lambda folder: numbers(folder).write_bytes(data)


def card(**changes) -> Harm:
    """A forged card with a valid digest."""
    return lambda folder: replace(read_card(folder), **changes).write(folder)


def settings(**changes) -> Harm:
    return card(settings={**SETTINGS, **changes})


def text(data: bytes) -> Harm:
    return lambda folder: (folder / "card.json").write_bytes(data)


def zipped(folder: Path) -> None:
    torch.save({"weights": torch.zeros(3)}, numbers(folder))


def swollen(folder: Path) -> None:
    with numbers(folder).open("r+b") as file:
        file.truncate(900 << 20)


def enormous(folder: Path) -> None:
    with numbers(folder).open("r+b") as file:
        file.truncate(64 << 30)


def claiming(folder: Path) -> None:
    """A header for every byte of a large file that does not match its card."""
    size = 800 << 20
    entry = {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}
    numbers(folder).write_bytes(framed({"a": entry}))
    with numbers(folder).open("r+b") as file:
        file.truncate(numbers(folder).stat().st_size + size)


def pipe(folder: Path) -> None:
    file = numbers(folder)
    file.unlink()
    os.mkfifo(file)


def elsewhere(folder: Path) -> None:
    file = numbers(folder)
    file.unlink()
    file.symlink_to("/dev/zero")


def wide(size: int) -> Feature:
    return Feature("action", "float32", (size,), JOINTS, "rad")


HOSTILE: dict[str, Harm] = {
    "a pickle": content(pickle.dumps(Touch())),
    "a zip of torch": zipped,
    "nothing": content(b""),
    "a header of a terabyte": content(struct.pack("<Q", 1 << 40) + b"{}"),
    "a header that is cut off": content(struct.pack("<Q", 100) + b'{"a": {"dt'),
    "a header that is deep": content(framed(b"[" * 500_000)),
    "a header of a million tensors": content(
        framed(b'{"a": 1' + b"".join(b', "b%d": 1' % i for i in range(80_000)) + b"}")
    ),
    "tensors in one place": content(
        framed({name: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} for name in "ab"}, bytes(8))
    ),
    "a tensor of a terabyte": content(
        framed({"a": {"dtype": "F32", "shape": [1 << 38], "data_offsets": [0, 1 << 40]}}, bytes(8))
    ),
    "a shape below nothing": content(
        framed({"a": {"dtype": "F32", "shape": [-2, -1], "data_offsets": [0, 8]}}, bytes(8))
    ),
    "a file with a gigabyte of nothing at its end": swollen,
    "a file of sixty gigabytes": enormous,
    "a large file that is accounted for": claiming,
    "a pipe": pipe,
    "a device without an end": elsewhere,
    "a card that names another file": card(file="../../../etc/passwd"),
    "a card that is deep": text(b"[" * 500_000),
    "a card of a gigabyte": lambda folder: os.truncate(folder / "card.json", 1 << 30),
    "a network of ten thousand layers": settings(depth=10_000),
    "a network as wide as the world": settings(width=1 << 40),
    "a network that is both": settings(width=4096, depth=64),
    "a chunk without end": settings(horizon=1 << 30),
    "an action of a milliard of elements": card(space=replace(SPACE, action=wide(1_000_000_000))),
    "an observation of a milliard of elements": card(space=replace(SPACE, inputs=(wide(1_000_000_000),))),
    "an action of less than nothing": card(space=replace(SPACE, action=wide(-3))),
    "a policy that is a path": card(policy="os.system"),
    "settings that are code": settings(width={"__reduce__": "os.system"}),
}
