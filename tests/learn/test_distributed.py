"""Training in several processes gives the weights of one process with the same batches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from twinloop.errors import UsageError
from twinloop.learn.distributed import training_device
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.tensors import read_tensors
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJobConfig, prepare

SETTINGS = [
    "--policy",
    "flow",
    "--steps",
    "4",
    "--batch",
    "32",
    "--threads",
    "1",
    *("--set", "width=32", "--set", "depth=1"),
]


def job(data: Path, **changes):
    settings = {"width": 32, "depth": 1}
    optimisation = TrainConfig(steps=4, batch=32, **changes)
    return prepare(TrainingJobConfig((data,), policy="flow", settings=settings, train=optimisation))


def weights(folder: Path) -> dict[str, torch.Tensor]:
    (file,) = folder.glob("policy-*.safetensors")
    return read_tensors(file)[0]


def test_two_processes_train_like_one_with_the_same_global_batch(reached: Path, tmp_path: Path):
    train(job(reached, accumulate=2), tmp_path / "one")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    arguments = ["twinloop", "train", str(reached), *SETTINGS, "--out", str(tmp_path / "two")]
    done = subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr[-2000:]
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    assert one.keys() == two.keys()
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, atol=1e-5, rtol=1e-4)


def test_a_batch_that_cannot_be_cut_and_a_missing_device_are_refused(reached: Path, tmp_path: Path):
    with pytest.raises(UsageError, match=r"--batch 32: cannot be cut .* multiple of 3, e\.g\. 33"):
        train(job(reached, accumulate=3), tmp_path / "odd")
    with pytest.raises(UsageError, match=r"--device cuda:7: cannot be used .*valid: cpu"):
        training_device("cuda:7")
    with pytest.raises(UsageError, match="--device tpux"):
        training_device("tpux")
