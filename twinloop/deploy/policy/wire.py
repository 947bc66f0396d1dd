"""The wire to a policy's process: a JSON message after its length in four bytes, then the arrays it names, as they are.

Nothing that arrives is executed, and nothing is read that is larger than it may be.
"""

import json
import math
import socket
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from twinloop.deploy.rehearsal.wire import WireError

MOST_TEXT_BYTES = 256 * 1024
MOST_ARRAY_BYTES = 256 << 20
DTYPES = ("float32", "float64", "uint8", "int64", "bool")
_LENGTH = struct.Struct("!I")

Message = dict[str, Any]


def send(link: socket.socket, message: Message, arrays: Mapping[str, np.ndarray] | None = None) -> None:
    arrays = {name: np.ascontiguousarray(values) for name, values in (arrays or {}).items()}
    named = [[name, str(values.dtype), list(values.shape)] for name, values in arrays.items()]
    text = json.dumps({**message, "arrays": named}).encode()
    try:
        link.sendall(b"".join([_LENGTH.pack(len(text)), text, *(values.tobytes() for values in arrays.values())]))
    except TimeoutError:
        raise WireError("the other side does not read") from None
    except OSError as error:
        raise WireError(f"the other side is gone ({error.strerror or error})") from None


def receive(link: socket.socket) -> tuple[Message, dict[str, np.ndarray]]:
    (length,) = _LENGTH.unpack(_exactly(link, _LENGTH.size))
    if length > MOST_TEXT_BYTES:
        raise WireError(f"a message of {length:,} bytes; {MOST_TEXT_BYTES:,} at most are read")
    try:
        message = json.loads(_exactly(link, length))
        named = [(str(name), str(dtype), tuple(map(int, shape))) for name, dtype, shape in message.pop("arrays")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WireError(f"not a message: {error!r:.80}") from None
    sizes = []
    for name, dtype, shape in named:
        if dtype not in DTYPES or min(shape, default=0) < 0:
            raise WireError(f"not a message: {name} is {dtype} of shape {shape}")
        sizes.append(math.prod(shape) * np.dtype(dtype).itemsize)
    if sum(sizes) > MOST_ARRAY_BYTES:
        raise WireError(f"arrays of {sum(sizes):,} bytes; {MOST_ARRAY_BYTES:,} at most are read")
    arrays = {
        name: np.frombuffer(_exactly(link, size), dtype).reshape(shape)
        for (name, dtype, shape), size in zip(named, sizes, strict=True)
    }
    return message, arrays


def _exactly(link: socket.socket, count: int) -> bytearray:
    content = bytearray()
    while len(content) < count:
        try:
            part = link.recv(min(count - len(content), 1 << 20))
        except TimeoutError:
            raise WireError("no answer in time") from None
        except OSError as error:
            raise WireError(f"the other side is gone ({error.strerror or error})") from None
        if not part:
            raise WireError("the other side is gone")
        content += part
    return content  # and not bytes: an array over them could not be written to, which torch does not like
