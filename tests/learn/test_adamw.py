"""AdamW moves weights bitwise like the optimiser of torch, and does not load the compiler of torch."""

import subprocess
import sys

import torch

from twinloop.learn.adamw import AdamW

TRAIN = """
import sys, torch
from twinloop.learn.optimise import Optimisation
from twinloop.learn.adamw import AdamW
from twinloop.learn.policy import normal_parameter
weight = torch.nn.Parameter(torch.ones(3))
optimiser = AdamW([weight], rate=0.1, weight_decay=0.1)
(weight ** 2).sum().backward()
torch.nn.utils.clip_grad_norm_([weight], 1.0)
optimiser.step()
optimiser.zero_grad()
with torch.device("meta"):
    assert normal_parameter(2, 3, std=1.0).is_meta
assert normal_parameter(200, std=2.0).std() > 1
assert (weight < 1).all() and weight.grad is None
print(sorted(name for name in sys.modules if name.startswith("torch._dynamo"))[:5])
"""


def weights() -> list[torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((3, 4), (4,), (2, 2, 2), (5,))]


def gradients(step: int) -> list[torch.Tensor | None]:
    """The gradients of a step. The last parameter has one in the first steps only, the first has none there."""
    generator = torch.Generator().manual_seed(step + 1)
    values = [torch.randn(weight.shape, generator=generator) * 10.0**step for weight in weights()]
    return [None if step < 2 else values[0], *values[1:3], values[3] if step < 2 else None]


def test_weights_and_moments_are_bitwise_those_of_torch():
    ours, theirs = weights(), weights()
    own = AdamW(ours, rate=0.0, weight_decay=0.01)
    reference = torch.optim.AdamW(theirs, lr=0.0, weight_decay=0.01, foreach=True)
    for step in range(5):
        own.rate = reference.param_groups[0]["lr"] = 0.1 / (1 + step)
        own.zero_grad()
        for parameters in (ours, theirs):
            for parameter, gradient in zip(parameters, gradients(step), strict=True):
                parameter.grad = gradient
        own.step()
        reference.step()
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.equal(mine, other)
        assert own.moments[mine].keys() == reference.state[other].keys()
        for name, value in reference.state[other].items():
            assert torch.equal(own.moments[mine][name], value)
    assert not torch.equal(ours[0], weights()[0])


def test_a_training_does_not_import_the_compiler_of_torch():
    result = subprocess.run([sys.executable, "-c", TRAIN], capture_output=True, text=True)
    assert result.stdout == "[]\n", result.stderr
