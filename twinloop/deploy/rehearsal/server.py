"""The process of a rehearsal cell: loads the cell file, then answers calls until the client closes the connection.

python -m twinloop.deploy.rehearsal.server SOCKET_FD CELL
"""

import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from twinloop.deploy.rehearsal.cell_file import cell_of
from twinloop.deploy.rehearsal.messages import description_message, reading_message
from twinloop.deploy.wire import Arrays, Message, WireError, receive, send
from twinloop.errors import RobotError, TwinloopError, UsageError

if TYPE_CHECKING:
    from twinloop.deploy.rehearsal.cell import RehearsalCell


def main(descriptor: int, spec: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the process that controls the robot
    connection = socket.socket(fileno=descriptor)
    cell: RehearsalCell | None = None
    results: Arrays = {}
    while True:
        try:
            call, arrays = receive(connection)
        except WireError:
            return
        try:
            cell = cell or _load_cell(spec)
            result, results = _answer(cell, call, arrays)
            answer: Message = {"ok": result}
        except TwinloopError as error:
            answer, results = {"error": str(error), "usage": isinstance(error, UsageError)}, {}
        except Exception as error:
            traceback.print_exc()
            answer, results = {"error": f"rehearsal:{spec}: the cell failed: {error!r:.300}", "usage": False}, {}
        try:
            send(connection, answer, results)
        except WireError:
            return


def _load_cell(spec: str) -> "RehearsalCell":
    config = cell_of(spec)
    from twinloop.deploy.rehearsal.cell import RehearsalCell

    return RehearsalCell(config, id=f"rehearsal:{spec}")


def _answer(cell: "RehearsalCell", call: Message, arrays: Mapping[str, np.ndarray]) -> tuple[Message | None, Arrays]:
    name = call.get("call")
    if name == "describe":
        return description_message(cell.describe()), {}
    if name == "begin":
        return vars(cell.begin(int(call["episode"]))), {}
    if name == "observe":
        return reading_message(cell.observe())
    if name == "scene":
        return reading_message(cell.scene())
    if name == "act":
        return cell.act(np.array(arrays["action"], float)), {}
    if name == "stop":
        return cell.stop(), {}
    if name == "end":
        return vars(cell.end()), {}
    raise RobotError(
        f"{cell.describe().id}: unknown call {name!r}; valid calls: describe, begin, observe, scene, act, stop, end"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
