"""Fine-tuning: a training job that starts from a checkpoint, at a low learning rate, with old data in the batches."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twinloop.dataset import Dataset
from twinloop.errors import CheckpointError, UsageError, nearest
from twinloop.learn.checkpoint import load, with_settings
from twinloop.learn.mixture import real_share
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.space import table_of
from twinloop.learn.training_job import TrainingJob, TrainingJobConfig, prepare


@dataclass(frozen=True)
class FinetuneConfig:
    """Settings of a fine-tuning.

    Attributes:
        data: new datasets.
        keep: old datasets.
        share: share of the old data in a batch. None: 1 - `real_share` of the number of new episodes.
        most: largest number of episodes of each new dataset. Old datasets are used whole.
        as_real: those of `data` and `keep` that are simulated in a twin which is fitted to the robot; see
            `TrainingJobConfig`.
        settings: settings of the policy that change, e.g. {"executed": 4}. The shape of the network must not.
    """

    checkpoint: Path
    data: tuple[Path, ...]
    keep: tuple[Path, ...] = ()
    share: float | None = None
    rate_hz: float | None = None
    most: int | None = None
    train: TrainConfig = field(default_factory=lambda: TrainConfig(steps=500, learning_rate=1e-4))
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    as_real: tuple[Path, ...] = ()


def finetuning(config: FinetuneConfig) -> TrainingJob:
    """Return the training job. The data must have the policy's space.

    The training starts at the policy's current performance. Inputs that vary more in the new data are scaled by it.
    """
    parent = load(config.checkpoint)
    if config.settings:
        parent = with_settings(parent, config.settings)
    card = parent.card
    _refuse_unknown_parts(config, [name for name, _ in parent.policy.named_children()])
    names = [path.name for path in (*config.data, *config.keep)]
    if len(set(names)) < len(names):
        raise UsageError(f"two datasets have the same name ({', '.join(names)}); rename one folder")
    job = prepare(
        TrainingJobConfig(
            datasets=(*config.data, *config.keep),
            policy=card.policy,
            mix=_mix(config),
            inputs=tuple(feature.name for feature in card.space.inputs),
            rate_hz=config.rate_hz,
            most=config.most,
            whole=tuple(path.name for path in config.keep) if config.most is not None else (),
            settings={**card.settings, **config.settings},
            train=config.train,
            seed=config.seed,
            as_real=tuple(path.name for path in config.as_real),
        ),
        parent,
    )
    differences = card.space.differences(job.mixture.space)
    if differences:
        table = table_of(differences, here=config.checkpoint.name, there=config.data[0].name)
        raise CheckpointError(f"{config.checkpoint}: was trained on incompatible data:\n{table}")
    return job


def _mix(config: FinetuneConfig) -> str | None:
    """Return the mix: new and old data get their shares, divided equally among their datasets."""
    if not config.keep:
        return None
    share = 1 - real_share(_count_new(config)) if config.share is None else config.share
    weights = {path.name: (1 - share) / len(config.data) for path in config.data}
    weights |= {path.name: share / len(config.keep) for path in config.keep}
    return ",".join(f"{name}={weight}" for name, weight in weights.items())


def _count_new(config: FinetuneConfig) -> int:
    """The number of new episodes."""
    accepted = [sum(entry.accepted for entry in Dataset.open(path).entries) for path in config.data]
    return sum(count if config.most is None else min(count, config.most) for count in accepted)


def _refuse_unknown_parts(config: FinetuneConfig, parts: list[str]) -> None:
    for name in config.train.frozen:
        if name.partition(".")[0] not in parts:
            raise UsageError(f"--freeze: this policy has no part {name!r}; {nearest(name, parts)}")
