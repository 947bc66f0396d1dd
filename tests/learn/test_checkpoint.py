"""Checkpoints from outside: invalid ones are refused by name, in bounded memory, and run no code."""

import json
import pickle
import struct
from pathlib import Path

import jsonschema
import pytest
import torch

from twinloop.errors import CheckpointError
from twinloop.learn.card import Card, card_schema, read_card
from twinloop.learn.checkpoint import load
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.tensors import read_tensors, write_tensors
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJobConfig, prepare

SMALL = {"width": 16, "depth": 1, "horizon": 4, "executed": 2}


@pytest.fixture
def checkpoint(reached, tmp_path) -> Path:
    config = TrainingJobConfig((reached,), settings=SMALL, train=TrainConfig(steps=2, batch=8))
    return train(prepare(config), tmp_path / "policy").checkpoint.path


def numbers(folder: Path) -> Path:
    return next(folder.glob("policy-*.safetensors"))


def test_a_checkpoint_is_two_files_and_survives_reading(checkpoint):
    result = load(checkpoint)
    assert result.card == read_card(checkpoint)
    assert sorted(path.name for path in checkpoint.iterdir() if path.is_file()) == ["card.json", result.card.file]


class Canary:
    def __reduce__(self):
        return (Path("canary").touch, ())


def test_a_pickle_in_disguise_is_refused_and_not_run(checkpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = numbers(checkpoint)
    file.write_bytes(pickle.dumps(Canary()))
    with pytest.raises(CheckpointError, match="pickle"):
        load(checkpoint)
    torch.save({"weights": torch.zeros(3)}, file)
    with pytest.raises(CheckpointError, match="zip archive"):
        load(checkpoint)
    assert not (tmp_path / "canary").exists()


def safetensors(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


LIES = {
    "a header longer than the file": struct.pack("<Q", 1 << 40) + b"{}",
    "a header that is cut off": struct.pack("<Q", 100) + b'{"a": {"dt',
    "nothing": b"",
    "a header that is not JSON": safetensors(b"{]"),
    "a header that is a list": safetensors([]),
    "a tensor beyond the end": safetensors({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, b"\0" * 8),
    "a wrong size": safetensors({"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 8]}}, b"\0" * 8),
    "two tensors in one place": safetensors(
        {name: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} for name in "ab"}, b"\0" * 8
    ),
    "a dtype nobody knows": safetensors({"a": {"dtype": "X9", "shape": [1], "data_offsets": [0, 8]}}, b"\0" * 8),
    "an entry that is a number": safetensors({"a": 3}),
    "a negative place": safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}}, b"\0" * 8),
    "a very deep header": safetensors(b"[" * 100_000),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_false_header_is_refused(checkpoint, lie):
    numbers(checkpoint).write_bytes(LIES[lie])
    with pytest.raises(CheckpointError, match="policy-"):
        load(checkpoint)


def test_numbers_that_were_changed_are_refused(checkpoint):
    file = numbers(checkpoint)
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(CheckpointError, match="does not match its card"):
        load(checkpoint)


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    write_tensors(tmp_path / "x.safetensors", {"a": torch.tensor([1.0, float("nan")])})
    with pytest.raises(CheckpointError, match="NaN"):
        read_tensors(tmp_path / "x.safetensors")


def test_a_card_fits_its_schema(checkpoint):
    jsonschema.Draft202012Validator(card_schema()).validate(json.loads((checkpoint / "card.json").read_text()))


def changed(folder: Path, **values) -> None:
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seed": 99}, "was altered"),
        ({"file": "../../etc/passwd"}, "policy-DIGEST"),
        ({"format_version": 7}, "format_version"),
        ({"sede": 1}, "sede.*did you mean seed"),
        ({"space": {"robot": 3}}, "space.robot: is 3; a text"),
        ({"weights": "x"}, "weights: is 'x'; a mapping of sha256, bytes"),
        ({"data": 5}, "data: is 5; a list"),
        ({"digest": None}, "was altered"),
    ],
)
def test_a_card_that_was_changed_is_refused(checkpoint, values, message):
    changed(checkpoint, **values)
    with pytest.raises(CheckpointError, match=message):
        load(checkpoint)


def forged(folder: Path, **values) -> None:
    """A forged card with a valid digest."""
    card = read_card(folder)
    Card(**{**card.__dict__, **values}).write(folder)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"policy": "mpl"}, "mlp"),
        ({"settings": {"horizon": 4, "width": 1 << 40}}, "width"),
        ({"settings": {"horizon": 4, "widht": 16}}, "settings"),
        ({"settings": {"horizon": 4, "width": 4096, "depth": 50}}, "does not match its card"),
        ({"settings": {"horizon": 4, "width": 16, "depth": 500}}, "depth"),
        ({"settings": {}}, "settings"),
        ({"settings": {**SMALL, "width": 64}}, "shape"),
    ],
)
def test_a_card_that_describes_another_network_is_refused(checkpoint, values, message):
    forged(checkpoint, **values)
    with pytest.raises(CheckpointError, match=message):
        load(checkpoint)


def test_a_folder_without_a_card_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"card\.json"):
        load(tmp_path)
    with pytest.raises(CheckpointError, match="not a folder"):
        load(tmp_path / "nowhere")
