"""TorchRuntime: runs a policy with torch on the CPU."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from twinloop.learn.pictures import as_read
from twinloop.learn.policy import Policy, to_tensor
from twinloop.learn.space import Space


class TorchRuntime:
    def __init__(self, space: Space, policy: Policy):
        self.space, self._policy = space, policy.eval()
        self.horizon, self.executed = policy.horizon, policy.executed

    @torch.inference_mode()
    def chunks(
        self,
        observation: Mapping[str, np.ndarray],
        *,
        instructions: Sequence[str],
        real: bool,
        noise: np.ndarray,
    ) -> np.ndarray:
        read = as_read(self.space, observation, self._policy.image_size, instructions)
        inputs = {name: to_tensor(values) for name, values in read.items()}
        domain = torch.full((len(instructions),), float(real))
        return self._policy(inputs, domain, torch.as_tensor(noise, dtype=torch.float32)).numpy()
