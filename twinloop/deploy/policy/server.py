"""The process of a policy: loads it, sends its facts, then answers requests until the client closes the connection.

python -m twinloop.deploy.policy.server SOCKET_FD CHECKPOINT
"""

import signal
import socket
import sys
from pathlib import Path

import numpy as np

from twinloop.config.record import write_record
from twinloop.deploy.wire import WireError, receive, send
from twinloop.errors import TwinloopError, UsageError
from twinloop.learn.runtime import PolicyRuntime


def main(descriptor: int, checkpoint: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the process that controls the robot
    link = socket.socket(fileno=descriptor)
    try:
        runtime, digest, knows_real = load_policy(Path(checkpoint))
    except TwinloopError as error:
        send(link, {"error": str(error), "kind": type(error).__name__})
        return
    serve(link, runtime, digest=digest, knows_real=knows_real)


def load_policy(path: Path) -> tuple[PolicyRuntime, str, bool]:
    """Load a checkpoint folder or an ONNX file. Return (runtime, digest of its card, was trained on real data)."""
    if path.suffix == ".onnx":
        from twinloop.learn.onnx_runtime import OnnxRuntime

        runtime = OnnxRuntime(path)
        return runtime, runtime.card_digest, runtime.knows_real
    from twinloop.learn.card import read_card

    card = read_card(path)
    try:
        import torch
    except ImportError:
        raise UsageError(
            f"{path}: needs torch: pip install 'twinloop[learn]'; or deploy an ONNX file of `twinloop "
            "export`, which needs no torch"
        ) from None
    from twinloop.learn.checkpoint import load_runtime

    torch.set_num_threads(1)
    return load_runtime(path), card.digest, card.knows_real


def serve(link: socket.socket, runtime: PolicyRuntime, *, digest: str, knows_real: bool) -> None:
    """Answer requests until the connection is closed.

    A policy that was not trained on real data gets `real=False`, because it has not learned the other value.
    """
    _warm_up(runtime)
    facts = {
        "space": write_record(runtime.space), "horizon": runtime.horizon, "executed": runtime.executed,
        "digest": digest, "knows_real": knows_real,
    }  # fmt: skip
    try:
        send(link, facts)
        while True:
            message, arrays = receive(link)
            noise = arrays.pop("noise")
            chunks = runtime.chunks(
                {name: values[None] for name, values in arrays.items()},
                instructions=[str(message["instruction"])], real=knows_real, noise=noise[None],
            )  # fmt: skip
            send(link, {"asked": message["asked"]}, {"chunk": np.asarray(chunks[0], np.float64)})
    except WireError:
        return


def _warm_up(runtime: PolicyRuntime) -> None:
    """Run one inference. The first one is the slowest and must not delay a running episode."""
    observation = {
        feature.name: np.zeros((1, *feature.shape), np.uint8 if feature.is_picture else feature.dtype)
        for feature in runtime.space.inputs
    }
    noise = np.zeros((1, runtime.horizon, *runtime.space.action.shape), np.float32)
    runtime.chunks(observation, instructions=[""], real=False, noise=noise)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
