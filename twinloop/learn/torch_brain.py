"""TorchBrain: a policy computed by torch, on the processor."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from twinloop.learn.policy import Policy, to_tensor
from twinloop.learn.space import Space


class TorchBrain:
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
        inputs = {feature.name: to_tensor(observation[feature.name]) for feature in self.space.inputs}
        domain = torch.full((len(instructions),), float(real))
        return self._policy(inputs, domain, torch.as_tensor(noise, dtype=torch.float32)).numpy()
