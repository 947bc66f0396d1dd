"""Several processes that train one policy, started by `torchrun`: each takes its share of every batch.

A global batch is cut into `world × accumulate` equal micro-batches. Each has its own random numbers, so two processes
compute the same gradient as one process that accumulates two micro-batches.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

from twinloop.errors import UsageError


@dataclass(frozen=True)
class ProcessGroup:
    """This process among `world` processes. The process of rank 0 writes the checkpoint."""

    rank: int = 0
    world: int = 1

    @property
    def writes(self) -> bool:
        return self.rank == 0

    def average(self, tensors: Iterable[Tensor]) -> None:
        """Replace the tensors by their mean over all processes, in one message."""
        if self.world == 1:
            return
        values = list(tensors)
        flat = torch.cat([value.flatten() for value in values])
        distributed.all_reduce(flat)
        flat /= self.world
        start = 0
        for value in values:
            value.copy_(flat[start : start + value.numel()].view_as(value))
            start += value.numel()

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            distributed.barrier()


ALONE = ProcessGroup()


def join_processes(device: str) -> ProcessGroup:
    """Join the processes that `torchrun` started; alone without it. Gloo on CPUs, NCCL on GPUs."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1 or "MASTER_ADDR" not in os.environ:
        return ALONE
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    return ProcessGroup(distributed.get_rank(), distributed.get_world_size())


def leave_processes() -> None:
    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def training_device(name: str) -> torch.device:
    """Return the device of that name, or raise UsageError with the devices that exist."""
    try:
        device = torch.device(name)
        if device.type == "cuda" and device.index is None and "LOCAL_RANK" in os.environ:
            device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        valid = ", ".join(["cpu", *(f"cuda:{index}" for index in range(count))])
        reason = str(error).splitlines()[0]
        raise UsageError(f"--device {name}: cannot be used ({reason:.100}); valid: {valid}") from None
    return device
