"""A policy's program for tests that can do the task: `python -m tests.deploy.neighbour_policy SOCKET_FD FILE`."""

import socket
import sys
from pathlib import Path

from tests.learn.neighbours import Neighbours
from twinloop.deploy.policy.server import serve

PROGRAM = ("-m", "tests.deploy.neighbour_policy")

if __name__ == "__main__":
    runtime = Neighbours.load(Path(sys.argv[2]))
    serve(socket.socket(fileno=int(sys.argv[1])), runtime, digest="neighbours", knows_real=False)
