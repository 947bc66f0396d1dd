"""AdamW: the optimiser of `twinloop train`, with the update rule of torch and without the compiler of torch.

`torch.optim.AdamW` imports `torch._dynamo`, which takes longer than `import torch` itself and than a short training.
The update below is torch's own function, so weights are bitwise those of `torch.optim.AdamW(foreach=True)`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim.adamw import adamw

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class AdamW:
    """Adam with decoupled weight decay.

    Attributes:
        rate: learning rate of the next step.
        moments: parameter -> its number of steps (`step`) and running averages (`exp_avg`, `exp_avg_sq`). A parameter
            that never had a gradient has none.
    """

    def __init__(self, parameters: Sequence[torch.nn.Parameter], *, rate: float, weight_decay: float):
        self.rate = rate
        self.moments: dict[torch.nn.Parameter, dict[str, Tensor]] = {parameter: {} for parameter in parameters}
        self._weight_decay = weight_decay

    def zero_grad(self) -> None:
        for parameter in self.moments:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        moved = [parameter for parameter in self.moments if parameter.grad is not None]
        for parameter in moved:
            if not self.moments[parameter]:
                self.moments[parameter].update(
                    step=torch.tensor(0.0), exp_avg=torch.zeros_like(parameter), exp_avg_sq=torch.zeros_like(parameter)
                )
        states = [self.moments[parameter] for parameter in moved]
        adamw(
            list[Tensor](moved),
            [parameter.grad for parameter in moved if parameter.grad is not None],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            foreach=True, amsgrad=False, beta1=BETAS[0], beta2=BETAS[1], lr=self.rate, weight_decay=self._weight_decay,
            eps=EPSILON, maximize=False,
        )  # fmt: skip
