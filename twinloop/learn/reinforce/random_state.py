"""The random generators of a training: rsl-rl and Stable-Baselines3 use the global ones of torch and NumPy."""

import random
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

TORCH, KEYS, PLACE = "random.torch", "random.numpy", "random.numpy_place"


def seed_all(source: int | Mapping[str, Tensor]) -> None:
    """Seed the generators with a number, or restore what `keep_random_state` has returned."""
    if isinstance(source, int):
        random.seed(source)
        torch.manual_seed(source)
        np.random.seed(source % (1 << 32))  # noqa: NPY002 - the replay buffer of Stable-Baselines3 uses this generator
        return
    torch.set_rng_state(source[TORCH])
    place, gauss = source[PLACE].tolist()
    keys = source[KEYS].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", keys, int(place), int(gauss), 0.0))  # noqa: NPY002


def keep_random_state() -> dict[str, Tensor]:
    """The state of the generators, as tensors."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    assert isinstance(state, dict)
    inner = state["state"]
    return {
        TORCH: torch.get_rng_state(),
        KEYS: torch.from_numpy(np.asarray(inner["key"], np.int64)),
        PLACE: torch.tensor([int(inner["pos"]), 0], dtype=torch.int64),
    }
