"""The wire protocol of policies and rehearsal cells: arrays arrive unchanged; only valid messages are read."""

import json
import socket
import struct

import numpy as np
import pytest

from twinloop.deploy.wire import MAX_TEXT_BYTES, WireError, receive, send


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
    message, received = receive(theirs)
    assert message == {"asked": 3, "instruction": "put it there"}
    for name, values in arrays.items():
        np.testing.assert_array_equal(received[name], values)
        assert received[name].dtype == values.dtype


def frame(header: object, content: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("!I", len(text)) + text + content


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (frame([1, 2]), "not a message"),
        (frame(b"spam"), "not a message"),
        (frame({"no": "arrays"}), "not a message"),
        (frame(b"\x80\x04pickle"), "not a message"),
        (frame({"arrays": [["a", "object", [1]]]}), "a is object"),
        (frame({"arrays": [["a", "float32", [-1]]]}), r"a is float32 of shape \(-1,\)"),
        (frame({"arrays": [["a", "float32", [1 << 40]]]}), "the limit is"),
        (struct.pack("!I", MAX_TEXT_BYTES + 1), "the limit is"),
        (frame({"arrays": [["a", "float32", [4]]]}, b"1234"), "the connection is closed"),
        (b"", "the connection is closed"),
    ],
)
def test_invalid_messages_are_refused(pair, content: bytes, problem: str):
    ours, theirs = pair
    theirs.sendall(content)
    theirs.close()
    with pytest.raises(WireError, match=problem):
        receive(ours)


def test_a_silent_sender_is_a_timeout(pair):
    ours, _ = pair
    ours.settimeout(0.05)
    with pytest.raises(WireError, match="timeout"):
        receive(ours)


def test_too_long_a_message_is_not_sent(pair):
    ours, _ = pair
    with pytest.raises(WireError, match="the limit is"):
        send(ours, {"call": "x" * MAX_TEXT_BYTES})
