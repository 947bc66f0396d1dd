"""PolicyProcess: the client of a policy in its own process, reached through a socket. It ends a policy that hangs."""

import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from twinloop import errors
from twinloop.config.json_file import record_from_json
from twinloop.deploy.policy.facts import PolicyFacts, read_facts
from twinloop.deploy.wire import WireError, receive, send
from twinloop.errors import CheckpointError, PolicyError, TwinloopError
from twinloop.learn.space import Space
from twinloop.observe.instruction import INSTRUCTION

OWN = ("-m", "twinloop.deploy.policy.server")
"""Arguments of the default policy server, which loads a checkpoint or an ONNX file."""
MAX_START_S = 180.0
"""Start timeout. Importing torch on a busy machine is slow."""


class PolicyProcess:
    """A policy process. program: Python arguments of the server; a socket's descriptor and `checkpoint` follow them."""

    def __init__(self, checkpoint: Path, *, program: Sequence[str] = OWN):
        self.name = checkpoint.resolve().name
        self._checkpoint, self._program = checkpoint, tuple(program)
        self._process: subprocess.Popen | None = None
        self._link: socket.socket | None = None
        self._requests = 0

    @property
    def running(self) -> bool:
        return self._link is not None

    @property
    def pid(self) -> int:
        return 0 if self._process is None else self._process.pid

    def known(self) -> PolicyFacts:
        """Return the facts of the policy. The default program need not be started for that; others are started."""
        if self._program == OWN and self._link is None:
            return read_facts(self._checkpoint)
        self.start()
        return self.facts

    def start(self) -> None:
        """Start the process if it is not running.

        Raises:
            PolicyError: the process does not start.
            TwinloopError: the checkpoint cannot be loaded; the class is that of the server's error.
        """
        if self._link is not None:
            return
        self._link, theirs = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        environment.setdefault("OMP_NUM_THREADS", "1")
        command = [sys.executable, *self._program, str(theirs.fileno()), str(self._checkpoint)]
        # The policy's output goes to stderr, because our stdout may be machine-readable.
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, stdout=2)
        theirs.close()
        self._link.settimeout(MAX_START_S)
        try:
            facts, _ = receive(self._link)
        except WireError as error:
            raise self.lost(f"did not start: {error}") from None
        if "error" in facts:
            self.end()
            raise _rebuilt(str(facts.get("kind")), str(facts["error"]))
        space = record_from_json(Space, facts["space"], where=f"{self.name}: space", error=PolicyError)
        self.facts = PolicyFacts(self.name, str(facts["digest"]), space, bool(facts["knows_real"]))
        self.horizon, self.executed = int(facts["horizon"]), int(facts["executed"])

    def ask(self, features: Mapping[str, np.ndarray], *, instruction: str, noise: np.ndarray, timeout_s: float) -> None:
        """Send an inference request; `answer` returns the result. timeout_s: for sending and for receiving."""
        link, arrays = self._connected(), {}
        for feature in self.facts.space.inputs:
            if feature.name == INSTRUCTION:
                continue  # it is sent as text
            arrays[feature.name] = np.asarray(features[feature.name])
        self._requests += 1
        link.settimeout(timeout_s)
        try:
            send(link, {"instruction": instruction, "asked": self._requests}, {**arrays, "noise": noise})
        except WireError as error:
            raise self.lost(str(error)) from None

    def answer(self, wait_s: float) -> np.ndarray | None:
        """Return (horizon, actions) the chunk of the last request, or None if there is no answer after `wait_s`."""
        link = self._connected()
        if not select.select([link], [], [], max(wait_s, 0))[0]:
            return None
        try:
            message, arrays = receive(link)
            chunk = arrays["chunk"]
        except (WireError, KeyError) as error:
            raise self.lost(str(error)) from None
        if message.get("asked") != self._requests or chunk.shape != (self.horizon, *self.facts.space.action.shape):
            raise self.lost(f"returned an action chunk of wrong shape: {chunk.shape}")
        return chunk

    def lost(self, problem: str) -> PolicyError:
        """End the process and return the error to raise. The next `start` starts a new process."""
        process, code = self._process, None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=0.2)
        self.end()
        how = "was ended" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
        return PolicyError(f"policy {self.name}: {problem}; its process: {how}")

    def end(self) -> None:
        """Kill the process, which has no state to save."""
        if self._link is not None:
            self._link.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._link = self._process = None

    def __enter__(self) -> "PolicyProcess":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _connected(self) -> socket.socket:
        if self._link is None:
            raise PolicyError(f"policy {self.name}: its process is not running")
        return self._link


def _rebuilt(name: str, message: str) -> TwinloopError:
    kind = getattr(errors, name, CheckpointError)
    return kind(message) if isinstance(kind, type) and issubclass(kind, TwinloopError) else CheckpointError(message)
