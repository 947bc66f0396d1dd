"""The wire protocol between Twinloop and the processes it starts: policies and rehearsal cells.

A message is a length in four bytes, a JSON object of that many bytes, and the arrays that the object lists under
`arrays`, as raw bytes in that order. Received content is never executed. Sizes are bounded before memory is allocated.
"""

import json
import math
import socket
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

MAX_TEXT_BYTES = 256 * 1024
MAX_ARRAY_BYTES = 256 << 20
DTYPES = ("float32", "float64", "uint8", "int64", "bool")
_LENGTH = struct.Struct("!I")
_PART_BYTES = 1 << 20

Message = dict[str, Any]
Arrays = Mapping[str, np.ndarray]


class WireError(Exception):
    """The connection is closed or timed out, or the received bytes are not a valid message."""


def send(connection: socket.socket, message: Message, arrays: Arrays | None = None) -> None:
    """Send a JSON object and named arrays.

    Raises:
        WireError: the message is too large, or the receiver is closed or does not read in time.
    """
    contiguous = {name: np.ascontiguousarray(values) for name, values in (arrays or {}).items()}
    layout = [[name, str(values.dtype), list(values.shape)] for name, values in contiguous.items()]
    text = json.dumps({**message, "arrays": layout}).encode()
    if len(text) > MAX_TEXT_BYTES:
        raise WireError(f"a message of {len(text):,} bytes was to be sent; the limit is {MAX_TEXT_BYTES:,}")
    content = b"".join([_LENGTH.pack(len(text)), text, *(values.tobytes() for values in contiguous.values())])
    try:
        connection.sendall(content)
    except TimeoutError:
        raise WireError("timeout: the receiver does not read") from None
    except OSError as error:
        raise WireError(f"the connection is closed ({error.strerror or error})") from None


def receive(connection: socket.socket) -> tuple[Message, dict[str, np.ndarray]]:
    """Return the next message without its `arrays` entry, and its arrays by name.

    Raises:
        WireError: the sender is closed or too slow, the message is malformed or larger than the limits.
    """
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size))
    if length > MAX_TEXT_BYTES:
        raise WireError(f"a message of {length:,} bytes was received; the limit is {MAX_TEXT_BYTES:,}")
    try:
        message = json.loads(_read(connection, length))
        layout = [(str(name), str(dtype), tuple(map(int, shape))) for name, dtype, shape in message.pop("arrays")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WireError(f"not a message: {error!r:.80}") from None
    sizes = []
    for name, dtype, shape in layout:
        if dtype not in DTYPES or min(shape, default=0) < 0:
            raise WireError(f"not a message: {name} is {dtype} of shape {shape}")
        sizes.append(math.prod(shape) * np.dtype(dtype).itemsize)
    if sum(sizes) > MAX_ARRAY_BYTES:
        raise WireError(f"arrays of {sum(sizes):,} bytes were announced; the limit is {MAX_ARRAY_BYTES:,}")
    arrays = {
        name: np.frombuffer(_read(connection, size), dtype).reshape(shape)
        for (name, dtype, shape), size in zip(layout, sizes, strict=True)
    }
    return message, arrays


def _read(connection: socket.socket, count: int) -> bytearray:
    """Return exactly `count` bytes. A bytearray, because torch warns about read-only arrays."""
    content = bytearray()
    while len(content) < count:
        try:
            part = connection.recv(min(count - len(content), _PART_BYTES))
        except TimeoutError:
            raise WireError("timeout: no answer") from None
        except OSError as error:
            raise WireError(f"the connection is closed ({error.strerror or error})") from None
        if not part:
            raise WireError("the connection is closed")
        content += part
    return content
