"""The wire between a pipeline and a rehearsal cell: JSON messages, each after its length in four bytes.

Nothing but numbers, words and lists of them travels; nothing that arrives is executed; no message is larger than
MOST_BYTES.
"""

import json
import socket
import struct
from typing import Any

import numpy as np

from twinloop.deploy.robot import Briefing, Description, Limits, Outcome, Reading
from twinloop.observe.recording import Feature

MOST_BYTES = 64 * 1024
_LENGTH = struct.Struct("!I")

Message = dict[str, Any]


class WireError(Exception):
    """The other side is gone, or says what is no message."""


def send(link: socket.socket, message: Message) -> None:
    content = json.dumps(message).encode()
    if len(content) > MOST_BYTES:
        raise WireError(f"a message of {len(content):,} bytes; {MOST_BYTES:,} at most are sent")
    try:
        link.sendall(_LENGTH.pack(len(content)) + content)
    except OSError as error:
        raise WireError(f"the other side is gone ({error.strerror or error})") from None


def receive(link: socket.socket) -> Message:
    (length,) = _LENGTH.unpack(_exactly(link, _LENGTH.size))
    if length > MOST_BYTES:
        raise WireError(f"a message of {length:,} bytes; {MOST_BYTES:,} at most are read")
    try:
        message = json.loads(_exactly(link, length))
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a message: {error}") from None
    if not isinstance(message, dict):
        raise WireError(f"not a message: {message!r:.60}")
    return message


def _exactly(link: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        try:
            part = link.recv(count - len(content))
        except TimeoutError:
            raise WireError("no answer in time") from None
        except OSError as error:
            raise WireError(f"the other side is gone ({error.strerror or error})") from None
        if not part:
            raise WireError("the other side is gone")
        content += part
    return content


def written_description(about: Description) -> Message:
    limits = {name: _list(getattr(about.limits, name)) for name in Limits.__dataclass_fields__}
    return {
        "robot": about.robot, "id": about.id, "rate_hz": about.rate_hz, "home": list(about.home),
        "observed": [vars(feature) for feature in about.observed], "action": vars(about.action),
        "limits": limits, "lockstep": about.lockstep,
    }  # fmt: skip


def read_description(message: Message) -> Description:
    limits = {name: np.array(message["limits"][name], float) for name in Limits.__dataclass_fields__}
    return Description(
        robot=str(message["robot"]), id=str(message["id"]), rate_hz=float(message["rate_hz"]),
        home=tuple(map(float, message["home"])), observed=tuple(map(_feature, message["observed"])),
        action=_feature(message["action"]), limits=Limits(**limits), lockstep=bool(message["lockstep"]),
    )  # fmt: skip


def written_reading(reading: Reading) -> Message:
    features = {name: _list(values) for name, values in reading.features.items()}
    return {"sequence": reading.sequence, "timestamp_s": reading.timestamp_s, "features": features}


def read_reading(message: Message) -> Reading:
    features = {str(name): np.array(values, np.float32) for name, values in message["features"].items()}
    return Reading(int(message["sequence"]), float(message["timestamp_s"]), features)


def read_briefing(message: Message) -> Briefing:
    conditions = {str(name): str(value) for name, value in message["conditions"].items()}
    return Briefing(str(message["instruction"]), conditions)


def read_outcome(message: Message) -> Outcome:
    success = message["success"]
    return Outcome(None if success is None else bool(success), str(message["detail"]))


def _list(values: np.ndarray) -> list:
    return np.asarray(values, float).tolist()


def _feature(value: Message) -> Feature:
    return Feature(
        name=str(value["name"]), dtype=value["dtype"], shape=tuple(map(int, value["shape"])),
        names=tuple(map(str, value["names"])), unit=str(value["unit"]),
    )  # fmt: skip
