"""Value: how much each training episode helps a policy on target data, by the alignment of gradients.

A step along the gradient of an episode's loss changes the loss on the target by their inner product (TracIn: Pruthi et
al., arXiv 2002.08484). The gradient of an episode is first brought to length 1, so that a noisy or odd episode does not
get a high score by its size, and both are projected at random (LESS: Xia et al., arXiv 2402.04333). The target is a few
demonstrations of the cell that matters (as in DataMIL: Dass et al., arXiv 2505.09603).

The projection is a count sketch: every weight of the network is added to one of `size` numbers with a random sign.
Inner products keep their expectation, and a gradient costs one pass, whatever the size of the network.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch

from twinloop.errors import UsageError
from twinloop.learn.checkpoint import Checkpoint
from twinloop.learn.demonstrations import Demonstrations
from twinloop.learn.mixture import Mixture
from twinloop.learn.pictures import PictureStore
from twinloop.learn.policy import Policy, tensors_of
from twinloop.learn.space import table_of

MIN_TARGET = 4
"""Fewer target episodes have a gradient that is mostly chance."""
NOISE_AGREEMENT = 0.2
"""Below this rank correlation between scores from two halves of the target, the order is mostly chance."""


@dataclass(frozen=True)
class ValueConfig:
    """Settings of a valuation.

    Attributes:
        frames: frames of each episode, evenly spaced.
        size: numbers that a gradient is projected to.
        seed: seed of the projection.
    """

    frames: int = 48
    size: int = 2048
    seed: int = 0


@dataclass(frozen=True)
class Valuation:
    """Scores of training episodes.

    Attributes:
        scores: (episodes,) of each dataset; a positive score lowers the loss on the target.
        agreement: rank correlation of the scores from two random halves of the target.
        target_episodes: number of target episodes.
    """

    scores: tuple[np.ndarray, ...]
    agreement: float
    target_episodes: int

    @property
    def is_noise(self) -> bool:
        """True if two halves of the target give unrelated orders."""
        return self.agreement < NOISE_AGREEMENT


def value_episodes(
    checkpoint: Checkpoint,
    parts: Sequence[Demonstrations],
    target: Sequence[Demonstrations],
    *,
    config: ValueConfig = ValueConfig(),  # noqa: B008
    pictures: PictureStore | None = None,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Valuation:
    """Score every episode of `parts` by how much training on it lowers the loss on `target`.

    Args:
        checkpoint: the policy whose gradients are used, usually trained on `parts`.
        target: demonstrations in the cell that matters.
        on_progress: called with (episodes done, episodes in all).

    Raises:
        UsageError: the policy does not fit the data, or the target has too few episodes.
    """
    for part in (*parts, *target):
        refuse_other_space(checkpoint, part)
    count = sum(len(part.lengths) for part in target)
    if count < MIN_TARGET:
        raise UsageError(
            f"the target has {count} accepted episodes; {MIN_TARGET} or more are needed, and 10 or more are better"
        )
    every = (*parts, *target)
    total = sum(len(part.lengths) for part in every)
    sketch = _Sketch(checkpoint.policy, config)
    rows, done = [], 0
    for part in every:
        gradients = np.zeros((len(part.lengths), config.size))
        for episode in range(len(part.lengths)):
            gradients[episode] = sketch.of(part, episode, pictures)
            done += 1
            on_progress(done, total)
        rows.append(gradients)
    train = np.concatenate(rows[: len(parts)])
    goal = np.concatenate(rows[len(parts) :])
    scores, agreement = aligned(train, goal, seed=config.seed)
    starts = np.cumsum([len(part.lengths) for part in parts])[:-1]
    return Valuation(tuple(np.split(scores, starts)), agreement, count)


def aligned(train: np.ndarray, target: np.ndarray, *, seed: int) -> tuple[np.ndarray, float]:
    """Return (n,) scores from (n, size) and (m, size) projected gradients, and the agreement of two halves."""
    length = np.linalg.norm(train, axis=1, keepdims=True)
    if not length.any() or not target.any():
        raise UsageError("the policy has no gradient on these episodes: its loss there is exactly 0")
    direction = train / np.where(length > 0, length, 1.0)
    order = np.random.default_rng(seed).permutation(len(target))
    half = len(target) // 2
    first, second = (direction @ target[rows].mean(axis=0) for rows in (order[:half], order[half:]))
    return direction @ target.mean(axis=0), _rank_correlation(first, second)


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    ranks = np.stack([np.argsort(np.argsort(values)) for values in (first, second)])
    return float(np.atleast_2d(np.corrcoef(ranks))[0, -1]) if len(first) > 1 else 0.0


def refuse_other_space(checkpoint: Checkpoint, part: Demonstrations) -> None:
    """Raise if the data has other inputs, actions, robot or rate than the policy."""
    differences = checkpoint.card.space.differences(part.space)
    if differences:
        table = table_of(differences, here=checkpoint.path.name, there=part.source.path)
        raise UsageError(f"{part.source.path} does not fit the policy {checkpoint.path.name}. Differences:\n{table}")


def settings_of(config: ValueConfig, valuation: Valuation, keep: float) -> dict[str, float | int]:
    """Settings and diagnostics for the file of weights."""
    return asdict(config) | {
        "keep": keep, "agreement": round(valuation.agreement, 4), "target_episodes": valuation.target_episodes,
    }  # fmt: skip


class _Sketch:
    """The projected gradient of a policy's loss on one episode."""

    def __init__(self, policy: Policy, config: ValueConfig):
        self._policy, self._config = policy.eval(), config
        self._trained = [parameter for parameter in policy.parameters() if parameter.requires_grad]
        count = sum(parameter.numel() for parameter in self._trained)
        rng = np.random.default_rng(config.seed)
        self._bucket = torch.from_numpy(rng.integers(0, config.size, count))
        self._sign = torch.from_numpy(rng.choice(np.array([-1, 1], np.float32), count))

    def of(self, part: Demonstrations, episode: int, pictures: PictureStore | None) -> np.ndarray:
        length, start = int(part.lengths[episode]), int(part.starts[episode])
        frames = start + np.unique(np.linspace(0, length - 1, min(length, self._config.frames)).astype(int))
        batch = Mixture([part], [1.0], pictures).gather([frames], self._policy.horizon)
        # The same random numbers for every episode, so that policies that sample noise are compared on the same noise.
        generator = torch.Generator().manual_seed(self._config.seed)
        loss = self._policy.loss(tensors_of(batch), generator=generator)
        gradients = torch.autograd.grad(loss, self._trained, allow_unused=True)
        flat = torch.cat([
            (torch.zeros_like(parameter) if gradient is None else gradient).reshape(-1)
            for parameter, gradient in zip(self._trained, gradients, strict=True)
        ])  # fmt: skip
        projected = torch.zeros(self._config.size).index_add_(0, self._bucket, self._sign * flat)
        return projected.double().numpy()
