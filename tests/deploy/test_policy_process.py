"""A policy in its own process: arrays travel as they are, nothing that arrives is run, and what is wrong is told."""

import json
import socket
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.made_up import described
from tests.deploy.unruly import PROGRAM, policy_file
from twinloop.deploy.policy.client import PolicyProcess
from twinloop.deploy.policy.wire import MOST_TEXT_BYTES, receive, send
from twinloop.deploy.rehearsal.wire import WireError
from twinloop.errors import CheckpointError, PolicyError
from twinloop.twin.twin import Twin


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.settimeout(2)
    yield ours, theirs
    ours.close()
    theirs.close()


def test_messages_and_arrays_come_through_unchanged(pair, rng: np.random.Generator):
    ours, theirs = pair
    arrays = {
        "a": rng.normal(size=(3, 2)).astype(np.float32),
        "picture": rng.integers(0, 255, (4, 5, 3), np.uint8),
        "none": np.zeros((0, 3)),
        "turned": rng.normal(size=(3, 2)).T,
    }
    send(ours, {"asked": 3, "instruction": "put it there"}, arrays)
    message, found = receive(theirs)
    assert message == {"asked": 3, "instruction": "put it there"}
    for name, values in arrays.items():
        np.testing.assert_array_equal(found[name], values)
        assert found[name].dtype == values.dtype


def wire(header: object, content: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("!I", len(text)) + text + content


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (wire([1, 2]), "not a message"),
        (wire({"no": "arrays"}), "not a message"),
        (wire(b"\x80\x04pickle"), "not a message"),
        (wire({"arrays": [["a", "object", [1]]]}), "a is object"),
        (wire({"arrays": [["a", "float32", [-1]]]}), r"a is float32 of shape \(-1,\)"),
        (wire({"arrays": [["a", "float32", [1 << 40]]]}), "at most are read"),
        (struct.pack("!I", MOST_TEXT_BYTES + 1), "at most are read"),
        (wire({"arrays": [["a", "float32", [4]]]}, b"1234"), "the other side is gone"),
    ],
)
def test_what_is_no_message_is_refused(pair, content: bytes, told: str):
    ours, theirs = pair
    theirs.sendall(content)
    theirs.close()
    with pytest.raises(WireError, match=told):
        receive(ours)


def test_it_answers_what_it_was_asked(twin: Twin, tmp_path: Path):
    about = described(twin)
    file = policy_file(tmp_path / "policy.json", about.space(), horizon=3)
    features = {feature.name: np.zeros(feature.shape, np.float32) for feature in about.observed}
    with PolicyProcess(file, program=PROGRAM) as policy:
        policy.facts.refuse_misfit(about)
        for _ in range(3):
            policy.ask(features, instruction="go", noise=np.zeros((3, 8), np.float32), timeout_s=5)
            chunk = policy.answer(20)
            assert chunk is not None
            assert chunk.shape == (3, 8)
        pid = policy.pid
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(PolicyError, match="does not run"):
        policy.answer(0)


def test_a_checkpoint_that_is_none_is_refused_by_name(tmp_path: Path):
    for path in (tmp_path / "missing", tmp_path / "missing.onnx"):
        with pytest.raises(CheckpointError, match="missing"):
            PolicyProcess(path).known()
        with pytest.raises(CheckpointError, match="missing"), PolicyProcess(path):
            pass
