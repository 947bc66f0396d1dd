"""CPU seconds of one training step, by policy, input and batch size. The default batch sizes follow from it.

    python benchmarks/training_steps.py [--out benchmarks/results/training_steps.json]

Random data: the cost of a step does not depend on the values. One torch thread, so that the figure is CPU time and does
not depend on what else runs on the machine.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from twinloop.learn.mixture import Batch
from twinloop.learn.optimise import Optimisation, TrainConfig
from twinloop.learn.policies import POLICIES
from twinloop.learn.scales import Scales
from twinloop.learn.space import Space
from twinloop.observe.recording import Feature

JOINTS = 8
STATE = Feature("observation.state", "float32", (JOINTS,), tuple(f"joint{i}" for i in range(JOINTS)), "rad")
ENVIRONMENT = Feature("observation.environment_state", "float32", (14,), (), "")
ACTION = Feature("action", "float32", (JOINTS,), STATE.names, "rad")
STEPS = 3


def camera(number: int) -> Feature:
    return Feature(f"observation.images.camera{number}", "video", (96, 96, 3), ("height", "width", "channels"), "RGB")


def step_cpu_s(policy: str, cameras: int, batch_size: int) -> float:
    """CPU seconds of a step, the first (slower) one left out."""
    vectors = (STATE,) if cameras else (STATE, ENVIRONMENT)
    inputs = (*vectors, *(camera(number) for number in range(cameras)))
    space = Space("benchmark", 25.0, inputs, ACTION)
    kind = POLICIES[policy]
    horizon = int(kind.default_settings()["horizon"])
    unit = {feature.name: ([0.0] * feature.shape[0], [1.0] * feature.shape[0]) for feature in vectors}
    blank = np.zeros((horizon, JOINTS)).tolist(), np.ones((horizon, JOINTS)).tolist()
    optimisation = Optimisation(kind(space, Scales(unit, [False] * JOINTS, blank)), TrainConfig(), seed=0)
    rng = np.random.default_rng(0)
    arrays = {
        feature.name: rng.integers(0, 255, (batch_size, *feature.shape), np.uint8) if feature.is_picture
        else rng.normal(size=(batch_size, *feature.shape)).astype(np.float32)
        for feature in inputs
    }  # fmt: skip
    actions = rng.normal(size=(batch_size, horizon, JOINTS)).astype(np.float32)
    batch = Batch(arrays, actions, np.zeros(batch_size, np.float32), ("",) * batch_size)
    optimisation._learn(batch, Path("unused"))
    begin = time.process_time()
    for _ in range(STEPS):
        optimisation._learn(batch, Path("unused"))
    return (time.process_time() - begin) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for policy in POLICIES:
        for cameras in (0,) if policy == "mlp" else (0, 1, 2):
            for batch_size in (512, 256) if not cameras else (512, 128, 64, 32):
                row = {"policy": policy, "cameras": cameras, "batch": batch_size,
                       "cpu_s": round(step_cpu_s(policy, cameras, batch_size), 3)}  # fmt: skip
                rows.append(row)
                print(json.dumps(row), flush=True)
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
