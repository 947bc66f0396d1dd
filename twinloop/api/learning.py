"""Train, fine-tune and evaluate policies."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from twinloop.api.arguments import (
    CheckpointLike,
    ConfigLike,
    DatasetLike,
    PathOrStr,
    executor_named,
    folder,
    folders,
    named_config,
)
from twinloop.fleet.executor import Executor
from twinloop.gate import Evaluation, write_evaluation
from twinloop.gate.evaluate import TrialProgress, unseen_seed
from twinloop.gate.evaluate import evaluate as _evaluate
from twinloop.learn.candidate import Candidate, candidate_of, home_config
from twinloop.learn.checkpoint import Checkpoint
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.episode_weights import EpisodeWeights
from twinloop.learn.finetune import FinetuneConfig, finetuning
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.space import default_inputs
from twinloop.learn.train import TrainProgress
from twinloop.learn.train import train as _train
from twinloop.learn.training_job import TrainingJobConfig, prepare
from twinloop.learn.value import ValueConfig
from twinloop.learn.value_datasets import value_datasets
from twinloop.run.config import RunConfig

EPISODES = 200


def train(
    data: DatasetLike | Iterable[DatasetLike],
    out: PathOrStr,
    *,
    policy: str = "mlp",
    steps: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    mix: str | None = None,
    inputs: Iterable[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    episodes: int | None = None,
    weights: PathOrStr | None = None,
    rate_hz: float | None = None,
    seed: int = 0,
    on_progress: Callable[[TrainProgress], None] | None = None,
) -> Checkpoint:
    """Train a policy on one or several datasets. Called again with the same arguments, it continues.

    Args:
        data: a dataset or its folder, or several of one schema.
        out: the checkpoint's folder.
        policy: `"mlp"`, `"act"`, `"flow"`, or the name of a policy plugin.
        steps, batch, learning_rate: of the optimisation. Default: those of `twinloop train`.
        mix: weights of the datasets, for example `"sim=0.8,real=0.2"`. Default: by size.
        inputs: features that the policy reads. Default: joint positions, poses of the scene, and the instruction if the
            data has several.
        settings: constructor arguments of the policy, for example `{"width": 256}`.
        episodes: use the first N accepted episodes of each dataset. Default: all.
        weights: file of episode weights that `value` wrote. Default: all episodes count equally.
        rate_hz: resample the data to this rate. Default: the datasets' own rate.
        seed: of the initial weights and the batches.
        on_progress: called after every step.

    Example:
        >>> checkpoint = tl.train("datasets/demo", "policies/demo", steps=50)
        >>> checkpoint.card.policy, checkpoint.card.steps
        ('mlp', 50)
    """
    config = TrainingJobConfig(
        datasets=folders(data),
        policy=policy,
        mix=mix,
        inputs=tuple(inputs) if inputs is not None else default_inputs(folders(data)),
        rate_hz=rate_hz,
        most=episodes,
        weights=None if weights is None else Path(weights),
        settings=dict(settings or {}),
        train=_optimisation(TrainConfig(), steps=steps, batch=batch, learning_rate=learning_rate),
        seed=seed,
    )
    return _train(prepare(config), Path(out), on_progress=on_progress or (lambda _: None)).checkpoint


def value(
    data: DatasetLike | Iterable[DatasetLike],
    out: PathOrStr,
    *,
    policy: CheckpointLike,
    on: DatasetLike | Iterable[DatasetLike],
    keep: float = 0.5,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> EpisodeWeights:
    """Score episodes by how much training on them helps a policy on target data, and write weights for `train`.

    Args:
        data: a dataset or its folder, or several.
        out: the file of weights. The datasets do not change.
        policy: a policy trained on `data`; the gradients of its loss are compared.
        on: demonstrations in the cell that matters: datasets or runlogs.
        keep: share of episodes that get weight 1; the others get 0.
        seed: of the random projection.
        on_progress: called with (episodes done, episodes in all).

    Example:
        >>> weights = tl.value("datasets/demo", "weights.json", policy="policies/demo", on="datasets/demo", keep=0.5)
        >>> sum(weights.datasets[0].weights) <= len(weights.datasets[0].weights) / 2 + 1
        True
    """
    table, _ = value_datasets(
        folders(data),
        folder(policy),
        folders(on),
        keep=keep,
        config=ValueConfig(seed=seed),
        on_progress=on_progress or (lambda *_: None),
    )
    table.write(Path(out))
    return table


def finetune(
    checkpoint: CheckpointLike,
    data: DatasetLike | Iterable[DatasetLike],
    out: PathOrStr,
    *,
    keep: DatasetLike | Iterable[DatasetLike] = (),
    share: float | None = None,
    freeze: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
    steps: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    seed: int = 0,
    on_progress: Callable[[TrainProgress], None] | None = None,
) -> Checkpoint:
    """Continue training a checkpoint on new data, usually a little real data, at a low learning rate.

    Args:
        checkpoint: the policy to start from, or its folder.
        data: what to adapt to.
        out: the new checkpoint's folder.
        keep: data of the earlier training that is mixed in, so that the policy does not forget it.
        share: the part of every batch that comes from `keep`. Default: 0.9 with 10 new episodes, 0.72 with 50, and 0.5
            with thousands.
        freeze: parts of the network that do not change.
        settings: settings of the policy that change. The shape of the network must not.
        steps, batch, learning_rate, seed, on_progress: as for `train`.

    Example:
        >>> tuned = tl.finetune("policies/demo", "datasets/demo", "policies/tuned", steps=10)
        >>> tuned.card.parent == tl.Checkpoint.load("policies/demo").card.digest
        True
    """
    config = FinetuneConfig(
        checkpoint=folder(checkpoint), data=folders(data), keep=folders(keep), share=share, seed=seed,
        settings=dict(settings or {}),
    )  # fmt: skip
    optimisation = _optimisation(config.train, steps=steps, batch=batch, learning_rate=learning_rate)
    job = finetuning(replace(config, train=replace(optimisation, frozen=tuple(freeze))))
    return _train(job, Path(out), on_progress=on_progress or (lambda _: None)).checkpoint


def evaluate(
    checkpoint: CheckpointLike,
    config: ConfigLike | None = None,
    *,
    episodes: int = EPISODES,
    seed: int | None = None,
    out: PathOrStr | None = None,
    workers: int | None = None,
    ensemble: float | None = None,
    executor: str | Executor = "local",
    on_progress: Callable[[TrialProgress], None] | None = None,
) -> Evaluation:
    """Roll a policy out in the twin, on draws that it was not trained on.

    Args:
        checkpoint: the policy, or its folder.
        config: the twin. Default: the config of the training data where it is found, else the embedded cell.
        episodes: number of rollouts.
        seed: of the draws. Default: one that the training data does not use.
        out: folder for the evaluation, so that `promote` can use it as evidence. Default: it is not written.
        workers: number of processes. Default: one per core.
        ensemble: average overlapping action chunks with weights exp(-ensemble · age). Default: no averaging.
        executor: where the work runs: `"local"`, `"ray"`, or the name of an executor plugin.
        on_progress: called whenever a worker returns results.

    Example:
        >>> evaluation = tl.evaluate("policies/demo", "cell.yaml", episodes=8, out="evaluations/demo")
        >>> evaluation.success.trials
        8
    """
    candidate = candidate_of(folder(checkpoint))
    run_config, name = _twin(config, candidate)
    run_config = run_config.with_seed(unseen_seed(candidate) if seed is None else seed)
    evaluation = _evaluate(
        candidate,
        run_config,
        config_name=name,
        episodes=episodes,
        workers=workers,
        acting=ActingConfig(ensemble),
        executor=executor_named(executor),
        on_progress=on_progress or (lambda _: None),
    )
    if out is not None:
        write_evaluation(evaluation, Path(out))
    return evaluation


def _twin(config: ConfigLike | None, candidate: Candidate) -> tuple[RunConfig, str]:
    return (home_config(candidate) if config is None else None) or named_config(config)


def _optimisation(
    default: TrainConfig, *, steps: int | None, batch: int | None, learning_rate: float | None
) -> TrainConfig:
    given = {"steps": steps, "batch": batch, "learning_rate": learning_rate}
    return replace(default, **{name: value for name, value in given.items() if value is not None})
