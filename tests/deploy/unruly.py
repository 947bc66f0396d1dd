"""A policy process with faults for tests: `python -m tests.deploy.unruly SOCKET_FD FILE`. The file sets the fault."""

import json
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from twinloop.config.record import read_record, write_record
from twinloop.config.section import Section
from twinloop.deploy.policy.server import serve
from twinloop.learn.space import Space
from twinloop.observe.history import HISTORY

PROGRAM = ("-m", "tests.deploy.unruly")


@dataclass
class Unruly:
    """Moves joint 1 to and fro until request number `at`; then the fault `does` occurs."""

    space: Space
    does: str = "wave"
    at: int = 0
    horizon: int = 4
    executed: int = 2
    seconds: float = 0.0
    asked: int = field(default=-1)  # the first request is the warm-up

    def chunks(
        self, observation: Mapping[str, np.ndarray], *, instructions: Sequence[str], real: bool, noise: np.ndarray
    ) -> np.ndarray:
        assert not real
        assert len(instructions) == len(noise) == 1
        state = observation["observation.state"].astype(float)
        chunk = np.repeat(state[:, None], self.horizon, axis=1)
        chunk[:, :, 0] += 0.02 * np.sin(self.asked)
        if self.asked >= self.at:
            if self.does == "hang":
                time.sleep(3600)
            if self.does == "die":
                os._exit(7)
            if self.does in ("dawdle", "count"):
                time.sleep(self.seconds)
            if self.does == "nan":
                chunk[:] = np.nan
            if self.does == "count":
                chunk[:] = np.arange(self.horizon)[None, :, None]
            if self.does == "recall":
                chunk[:] = observation[HISTORY][:, None, :1]
        self.asked += 1
        return chunk


def policy_file(path: Path, space: Space, **does: object) -> Path:
    path.write_text(json.dumps({"space": write_record(space), **does}))
    return path


if __name__ == "__main__":
    settings = json.loads(Path(sys.argv[2]).read_text())
    runtime = Unruly(read_record(Space, Section("", "", settings.pop("space"), {})), **settings)
    digest = f"digest of {Path(sys.argv[2]).stem}"
    serve(socket.socket(fileno=int(sys.argv[1])), runtime, digest=digest, knows_real=False)
