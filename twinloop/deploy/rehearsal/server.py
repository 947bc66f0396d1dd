"""The process of a rehearsal cell: reads its truth, then answers calls until the other side is gone.

python -m twinloop.deploy.rehearsal.server SOCKET_FD CELL
"""

import signal
import socket
import sys
import traceback
from typing import TYPE_CHECKING

import numpy as np

from twinloop.deploy.rehearsal.cell_file import cell_of
from twinloop.deploy.rehearsal.wire import (
    Message,
    WireError,
    receive,
    send,
    written_description,
    written_reading,
)
from twinloop.errors import RobotError, TwinloopError, UsageError

if TYPE_CHECKING:
    from twinloop.deploy.rehearsal.cell import RehearsalCell


def main(descriptor: int, spec: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever drives the robot
    link = socket.socket(fileno=descriptor)
    body: RehearsalCell | None = None
    while True:
        try:
            call = receive(link)
        except WireError:
            return
        try:
            body = body or _body(spec)
            answer: Message = {"ok": _answer(body, call)}
        except TwinloopError as error:
            answer = {"error": str(error), "usage": isinstance(error, UsageError)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"rehearsal:{spec}: the cell failed: {error!r:.300}", "usage": False}
        try:
            send(link, answer)
        except WireError:
            return


def _body(spec: str) -> "RehearsalCell":
    cell = cell_of(spec)
    try:
        import pydrake  # noqa: F401
    except ImportError:
        raise UsageError(f"rehearsal:{spec}: needs Drake; pip install --no-deps drake") from None
    from twinloop.deploy.rehearsal.cell import RehearsalCell

    return RehearsalCell(cell, id=f"rehearsal:{spec}")


def _answer(body: "RehearsalCell", call: Message) -> Message | None:
    name = call.get("call")
    if name == "describe":
        return written_description(body.describe())
    if name == "begin":
        return vars(body.begin(int(call["episode"])))
    if name == "observe":
        return written_reading(body.observe())
    if name == "act":
        return body.act(np.array(call["action"], float))
    if name == "stop":
        return body.stop()
    if name == "end":
        return vars(body.end())
    raise RobotError(f"{body.describe().id}: {name!r} is no call")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
