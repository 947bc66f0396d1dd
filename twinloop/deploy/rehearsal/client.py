"""RehearsalRobot: the client of a rehearsal cell, which runs in its own process and is reached through a socket."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from twinloop.deploy.rehearsal.messages import read_briefing, read_description, read_outcome, read_reading
from twinloop.deploy.robot import Briefing, Description, Outcome, Reading
from twinloop.deploy.wire import Message, WireError, receive, send
from twinloop.errors import RobotError, TwinloopError, UsageError

MAX_WAIT_S = 120.0
SERVER = "twinloop.deploy.rehearsal.server"


def scene_seen_by_a_person(robot: "RehearsalRobot") -> Reading:
    """The scene as a person sees it who stands beside the robot.

    It is not a method of the robot, because a robot knows only its readings. Use it for stand-ins of people only.
    """
    return read_reading(*robot._call("scene"))


class RehearsalRobot:
    """`cell` is the text after `rehearsal:`. Only the cell's process reads the file that it names."""

    def __init__(self, cell: str):
        self.id = f"rehearsal:{cell}"
        self._cell = cell
        self._process: subprocess.Popen | None = None
        self._link: socket.socket | None = None
        self._description: Description | None = None

    def connect(self) -> Description:
        if self._link is None:
            self._start()
        try:
            self._description = read_description(self._call("describe")[0])
        except TwinloopError:
            self.close()
            raise
        return self._description

    def describe(self) -> Description:
        if self._description is None:
            raise RobotError(f"{self.id}: not connected")
        return self._description

    def begin(self, episode: int) -> Briefing:
        return read_briefing(self._call("begin", episode=int(episode))[0])

    def observe(self) -> Reading:
        return read_reading(*self._call("observe"))

    def act(self, action: np.ndarray) -> None:
        self._call("act", arrays={"action": np.asarray(action, np.float64)})

    def stop(self) -> None:
        self._call("stop")

    def end(self) -> Outcome:
        return read_outcome(self._call("end")[0])

    def close(self) -> None:
        """Close the socket, which ends the cell's process."""
        if self._link is not None:
            self._link.close()
        if self._process is not None:
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._link = self._process = self._description = None

    def __enter__(self) -> "RehearsalRobot":
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        self._link, theirs = socket.socketpair()
        self._link.settimeout(MAX_WAIT_S)
        # The cell can import the same modules as this process.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # Each step solves one small system of equations, for which several threads are slower than one.
        environment.setdefault("OMP_NUM_THREADS", "1")
        command = [sys.executable, "-m", SERVER, str(theirs.fileno()), self._cell]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()

    def _call(
        self, name: str, *, arrays: Mapping[str, np.ndarray] | None = None, **content: Any
    ) -> tuple[Message, dict[str, np.ndarray]]:
        """Call the cell and return its result and arrays.

        Raises:
            RobotError: the cell is not connected, is lost, or refuses the call.
            UsageError: the cell's own file is wrong.
        """
        if self._link is None:
            raise RobotError(f"{self.id}: not connected")
        try:
            send(self._link, {"call": name, **content}, arrays)
            answer, results = receive(self._link)
        except WireError as error:
            raise self._lost(str(error)) from None
        if "error" in answer:
            raise (UsageError if answer.get("usage") else RobotError)(str(answer["error"]))
        return answer.get("ok") or {}, results

    def _lost(self, problem: str) -> RobotError:
        """End the process and return the error to raise. The next `connect` starts a new process."""
        process, code = self._process, None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=1)
            if code is None:
                process.kill()
        self.close()
        how = "was stopped" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
        return RobotError(f"{self.id}: {problem}; its process: {how}. Reconnect to continue")
