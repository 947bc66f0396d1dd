"""The training loop. A training that was killed at any step can be resumed.

Batches and the policy's random numbers are functions of (seed, step). The remaining state (weights, their running
average, the optimiser's moments) is saved regularly. A resumed training therefore gives bitwise the same result.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from twinloop.errors import TrainingError, UsageError
from twinloop.learn.adamw import AdamW
from twinloop.learn.distributed import ALONE, ProcessGroup, training_device
from twinloop.learn.mixture import Batch, Mixture
from twinloop.learn.policies._backbone import Backbone
from twinloop.learn.policy import Policy, tensors_of
from twinloop.learn.prefetch import Prefetcher
from twinloop.learn.tensors import arrays_to_tensors, read_tensors, write_tensors

VALIDATION_FRAMES = 8192
VALIDATION_FRAMES_WITH_IMAGES = 1024
"""A validation on 8192 images takes longer than the 100 training steps between two of them."""


@dataclass(frozen=True)
class TrainConfig:
    """Settings of the optimisation.

    Attributes:
        steps: number of batches.
        batch: frames in a batch; None takes the policy's default for its inputs (`Policy.default_batch`).
        learning_rate: the highest rate, reached after `warmup` steps. It then falls along a cosine to 1 % of it.
        clip: largest norm of a gradient.
        average: decay of the running average of the weights. The averaged weights are the policy.
        frozen: prefixes of parameter names that are not trained.
        held_out: share of episodes to validate on, every `look_every` steps.
        accumulate: micro-batches into which a process cuts its share of a batch, to need less memory.
        device: `cpu`, `cuda` or `cuda:N`.
        precision: of the vision backbone: `float32`, or `bf16` with autocast. Weights stay in float32.
        compile: compile the vision backbone with `torch.compile`.
    """

    steps: int = 2000
    batch: int | None = None
    learning_rate: float = 1e-3
    warmup: int = 100
    weight_decay: float = 1e-4
    clip: float = 1.0
    average: float = 0.995
    frozen: tuple[str, ...] = ()
    held_out: float = 0.05
    look_every: int = 100
    accumulate: int = 1
    device: str = "cpu"
    precision: Literal["float32", "bf16"] = "float32"
    compile: bool = False

    def rate(self, step: int) -> float:
        rising = min(1.0, (step + 1) / max(1, min(self.warmup, self.steps // 10)))
        return self.learning_rate * rising * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / self.steps)))


@dataclass(frozen=True)
class LossRecord:
    """Losses at one step: mean over the batches since the last validation, and on held-out episodes."""

    step: int
    loss: float
    held_out_loss: float
    rate: float


class Optimisation:
    """A policy being trained, and its running average. group: the processes that train it."""

    def __init__(self, policy: Policy, config: TrainConfig, *, seed: int, group: ProcessGroup = ALONE):
        self.policy, self.config, self.seed, self.group = policy, config, seed, group
        self.step, self.waiting_share = 0, 0.0
        self.device = training_device(config.device)
        policy.to(self.device)
        for module in policy.modules():
            if isinstance(module, Backbone):
                module.precision = torch.bfloat16 if config.precision == "bf16" else None
                if config.compile:
                    module.compile()
        for name, parameter in policy.named_parameters():
            parameter.requires_grad_(not name.startswith(config.frozen) if config.frozen else True)
        self._trained = [parameter for parameter in policy.parameters() if parameter.requires_grad]
        self._optimiser = AdamW(self._trained, rate=config.learning_rate, weight_decay=config.weight_decay)
        self._average = [parameter.detach().clone() for parameter in self._trained]

    def run(
        self, mixture: Mixture, held_out: Mixture | None, *, bad_batch: Path, on_step: Callable[[int, float], None]
    ) -> Iterator[LossRecord]:
        """Train to the end and yield a LossRecord at each validation, when the state should be saved.

        Args:
            bad_batch: file to which a batch with a non-finite loss is written.
        """
        config, losses = self.config, []
        size = config.batch or self.policy.batch_for(mixture.space)
        self._refuse_uneven(size)
        most = VALIDATION_FRAMES_WITH_IMAGES if mixture.space.pictures else VALIDATION_FRAMES
        exam = [] if held_out is None else held_out.sweep(size, self.policy.horizon, most=most, seed=self.seed)
        self.policy.train()

        def gather(step: int) -> Batch:
            share = self.group.rank, self.group.world
            return mixture.batch(size, self.policy.horizon, seed=self.seed, step=step, share=share)

        batches = Prefetcher(gather, self.step, config.steps)
        for batch in batches:
            losses.append(self._learn(batch, bad_batch))
            self.step, self.waiting_share = self.step + 1, batches.waiting_share
            on_step(self.step, losses[-1])
            if self.step % config.look_every == 0 or self.step == config.steps:
                yield LossRecord(self.step, float(np.mean(losses)), self.examine(exam), config.rate(self.step - 1))
                losses = []

    def _refuse_uneven(self, size: int) -> None:
        pieces = self.group.world * self.config.accumulate
        if size % pieces:
            raise UsageError(
                f"--batch {size}: cannot be cut into {self.group.world} processes × --accumulate "
                f"{self.config.accumulate} equal parts; use a multiple of {pieces}, e.g. {-(-size // pieces) * pieces}"
            )

    def _learn(self, batch: Batch, bad_batch: Path) -> float:
        config, pieces = self.config, batch.split(self.config.accumulate)
        self._optimiser.zero_grad()
        total = torch.zeros(1, device=self.device)
        for index, piece in enumerate(pieces):
            micro = self.group.rank * len(pieces) + index
            generator = _generator(self.seed, self.step, micro)
            loss = self.policy.loss(tensors_of(piece, self.device), generator=generator) / len(pieces)
            if not torch.isfinite(loss):
                write_tensors(
                    bad_batch, arrays_to_tensors({**batch.inputs, "action": batch.actions, "real": batch.real})
                )
                raise TrainingError(
                    f"the loss of step {self.step} is {loss.item()}; its batch was saved to {bad_batch}, next to the "
                    f"last good checkpoint. Try a lower --learning-rate than {config.learning_rate:g}"
                )
            loss.backward()
            total += loss.detach()
        gradients = [parameter.grad for parameter in self._trained if parameter.grad is not None]
        self.group.average([*gradients, total])
        torch.nn.utils.clip_grad_norm_(self._trained, config.clip)
        self._optimiser.rate = config.rate(self.step)
        self._optimiser.step()
        # The average is short at first, so that it does not include the poor weights of the first steps.
        kept = min(config.average, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for average, parameter in zip(self._average, self._trained, strict=True):
                average.lerp_(parameter, 1 - kept)
        return total.item()

    @torch.no_grad()
    def examine(self, exam: list[Batch]) -> float:
        """Return the averaged policy's loss on a fixed set of held-out frames, or NaN if there are none."""
        if not exam:
            return math.nan
        self.policy.eval()  # no image augmentation during validation
        with self.averaged():
            losses = [
                self.policy.loss(tensors_of(batch, self.device), generator=_generator(self.seed, -1)).item()
                for batch in exam
            ]
        self.policy.train()
        return float(np.average(losses, weights=[len(batch.real) for batch in exam]))

    def averaged(self) -> "_Swapped":
        """Return a context manager inside which the policy has the averaged weights."""
        return _Swapped(self._trained, self._average)

    def save(self, path: Path, facts: Mapping[str, str]) -> None:
        write_tensors(path, self._tensors(), {**facts, "step": str(self.step)})

    def restore(self, path: Path) -> dict[str, str]:
        # A step with zero gradients creates the optimiser's moments, which are then filled from the file.
        for parameter in self._trained:
            parameter.grad = torch.zeros_like(parameter)
        kept = [parameter.detach().clone() for parameter in self._trained]
        self._optimiser.step()
        tensors, facts = read_tensors(path, self._tensors())
        with torch.no_grad():
            for parameter, value in zip(self._trained, kept, strict=True):
                parameter.copy_(value)
            for name, tensor in self._tensors().items():
                tensor.copy_(tensors[name])
        self.step = int(facts["step"])
        return facts

    def _tensors(self) -> dict[str, Tensor]:
        tensors: dict[str, Tensor] = {f"policy.{name}": value for name, value in self.policy.state_dict().items()}
        for index, (parameter, average) in enumerate(zip(self._trained, self._average, strict=True)):
            tensors[f"average.{index}"] = average
            for name, value in self._optimiser.moments[parameter].items():
                tensors[f"optimiser.{index}.{name}"] = value
        return tensors


class _Swapped:
    def __init__(self, parameters: list[torch.nn.Parameter], others: list[Tensor]):
        self._parameters, self._others = parameters, others

    def __enter__(self) -> None:
        self._swap()

    def __exit__(self, *_: Any) -> None:
        self._swap()

    def _swap(self) -> None:
        for parameter, other in zip(self._parameters, self._others, strict=True):
            parameter.data, other.data = other.data, parameter.data


def _generator(seed: int, step: int, micro: int = 0) -> torch.Generator:
    """Random numbers of one micro-batch. They do not depend on the process that computes it."""
    words = np.random.SeedSequence([seed, step + 1, *([micro] if micro else [])]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(words[0]) >> 1)
