"""Measure the inference time of policies: batch size 1, one core, in milliseconds, with torch and ONNX Runtime.

    python benchmarks/inference.py [--json] [--repeats 1000] [CHECKPOINT ...]

Without checkpoints: every policy at its default size on the default cell, and those that read images also with a camera
of 640 × 480. Their weights are untrained, which does not change the time. The measurement goes from sensor values
(including the resizing of images) to actions in their units.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from twinloop.learn.checkpoint import load
from twinloop.learn.onnx import export_onnx
from twinloop.learn.onnx_runtime import OnnxRuntime
from twinloop.learn.policies import POLICIES
from twinloop.learn.policy import Policy
from twinloop.learn.runtime import PolicyRuntime
from twinloop.learn.scales import blank_scales
from twinloop.learn.space import Space
from twinloop.learn.torch_runtime import TorchRuntime
from twinloop.observe.recording import Feature
from twinloop.pipeline.generate import header_of
from twinloop.run.default import embedded_config

CAMERA = Feature("observation.images.front", "video", (480, 640, 3), ("height", "width", "channels"), "RGB")
WARMUP = 20


@dataclass(frozen=True)
class Latency:
    median_ms: float
    p99_ms: float


def latency(runtime: PolicyRuntime, *, repeats: int, seed: int) -> Latency:
    """Latencies of different single observations. The caller sets the number of torch threads."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(1, runtime.horizon, runtime.space.action.shape[0]))
    took_s = []
    for _ in range(WARMUP + repeats):
        observation = {
            feature.name: rng.integers(0, 256, (1, *feature.shape), dtype=np.uint8)
            if feature.is_picture
            else rng.normal(size=(1, *feature.shape))
            for feature in runtime.space.inputs
        }
        begin = time.perf_counter()
        runtime.chunks(observation, instructions=[""], real=False, noise=noise)
        took_s.append(time.perf_counter() - begin)
    median, p99 = np.percentile(took_s[WARMUP:], [50, 99]) * 1e3
    return Latency(round(float(median), 4), round(float(p99), 4))


def both(policy: Policy, space: Space, *, repeats: int, seed: int) -> dict[str, object]:
    """The policy in torch and in ONNX Runtime, one thread each."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        parity = export_onnx(policy, space, Path(folder) / "policy.onnx", card_digest="", seed=seed)
        runtimes = {"torch": TorchRuntime(space, policy), "onnx": OnnxRuntime(parity.path, threads=1)}
        figures = {name: asdict(latency(runtime, repeats=repeats, seed=seed)) for name, runtime in runtimes.items()}
    count = sum(parameter.numel() for parameter in policy.parameters())
    return {"parameters": count, "max_abs_difference": parity.max_abs_difference, **figures}


def untrained() -> Iterator[tuple[str, Policy, Space]]:
    space = Space.of(header_of(embedded_config(), "benchmark", 1, False))
    for name, kind in POLICIES.items():
        horizon = int(kind.default_settings()["horizon"])
        yield name, kind(space, blank_scales(space, horizon)), space
        if "image_size" in kind.default_settings():
            seeing = replace(space, inputs=(*space.inputs, CAMERA))
            yield f"{name}, one camera", kind(seeing, blank_scales(seeing, horizon)), seeing


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkpoints", nargs="*", type=Path, metavar="CHECKPOINT")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--repeats", type=int, default=1000)
    args = parser.parse_args()
    loaded = [(path.name, load(path)) for path in args.checkpoints]
    measured = [(name, checkpoint.policy, checkpoint.card.space) for name, checkpoint in loaded] or list(untrained())
    figures = {name: both(policy, space, repeats=args.repeats, seed=0) for name, policy, space in measured}
    if args.json:
        print(json.dumps({"cores": os.cpu_count(), "repeats": args.repeats, "batch": 1, "policies": figures}))
        return
    for name, figure in figures.items():
        print(name, figure)


if __name__ == "__main__":
    main()
