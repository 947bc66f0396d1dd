"""Optimisers as tensors, for files that cannot run code."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def part_of(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with a prefix, without it."""
    return {name.removeprefix(f"{prefix}."): value for name, value in state.items() if name.startswith(f"{prefix}.")}


def optimiser_state(optimiser: torch.optim.Optimizer, prefix: str = "optimiser") -> dict[str, Tensor]:
    moments = optimiser.state_dict()["state"].items()
    return {f"{prefix}.{index}.{name}": value for index, values in moments for name, value in values.items()}


def restore_optimiser(
    optimiser: torch.optim.Optimizer, state: Mapping[str, Tensor], prefix: str = "optimiser", *,
    rate: float | None = None,
) -> None:  # fmt: skip
    moments: dict[int, dict[str, Any]] = {}
    for name, value in part_of(state, prefix).items():
        index, _, kind = name.partition(".")
        moments.setdefault(int(index), {})[kind] = value.clone()
    content = optimiser.state_dict()
    if rate is not None:
        for group in content["param_groups"]:
            group["lr"] = rate
    optimiser.load_state_dict({**content, "state": moments})
