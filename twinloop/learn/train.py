"""Training: TrainingJob -> Checkpoint. A second call resumes an interrupted training and does nothing if it is done.

OUT/policy-DIGEST.safetensors, card.json   the checkpoint: averaged weights at the last validation
OUT/training/state.safetensors             the state to resume from
OUT/training/curve.jsonl                   losses over the steps
OUT/training/job.json                      the settings
"""

import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from twinloop import __version__
from twinloop.durable import FileDigest, replace_file, storage_errors
from twinloop.errors import CheckpointError, UsageError
from twinloop.learn.backbone_weights import load_backbone
from twinloop.learn.card import CARD, Card
from twinloop.learn.checkpoint import Checkpoint, load, save
from twinloop.learn.distributed import join_processes
from twinloop.learn.frozen_features import use_frozen_features
from twinloop.learn.job_file import differences, write_job
from twinloop.learn.optimise import LossRecord, Optimisation
from twinloop.learn.policies import POLICIES
from twinloop.learn.policy import Policy, tensors_of
from twinloop.learn.scales import scales_of
from twinloop.learn.tool_chain import chain_of
from twinloop.learn.training_job import TrainingJob

TRAINING = "training"
STATE, CURVE, BAD_BATCH = "state.safetensors", "curve.jsonl", "bad_batch.safetensors"


@dataclass(frozen=True)
class TrainProgress:
    """Progress of a training.

    Attributes:
        held_out_loss: at the last validation; NaN before the first.
        waiting_share: share of the time that training has waited for data.
    """

    step: int
    steps: int
    loss: float
    held_out_loss: float
    waiting_share: float = 0.0


@dataclass(frozen=True)
class TrainResult:
    checkpoint: Checkpoint
    curve: tuple[LossRecord, ...]
    resumed_from: int
    waiting_share: float = 0.0


def train(job: TrainingJob, out: Path, *, on_progress: Callable[[TrainProgress], None] = lambda _: None) -> TrainResult:
    folder = out / TRAINING
    with storage_errors(out):
        folder.mkdir(parents=True, exist_ok=True)
    config = job.config
    group = join_processes(config.train.device)
    policy = _policy(job)
    use_frozen_features(job, policy)
    optimisation = Optimisation(policy, config.train, seed=config.seed, group=group)
    curve = _resume(optimisation, job, out)
    resumed_from = optimisation.step
    last = curve[-1].held_out_loss if curve else float("nan")

    def report_progress(step: int, loss: float) -> None:
        if group.writes:
            on_progress(TrainProgress(step, config.train.steps, loss, last, optimisation.waiting_share))

    records = optimisation.run(job.mixture, job.held_out, bad_batch=folder / BAD_BATCH, on_step=report_progress)
    for record in records:
        curve.append(record)
        last = record.held_out_loss
        if group.writes:
            _save(optimisation, job, out, curve)
    group.wait()
    return TrainResult(load(out), tuple(curve), resumed_from, optimisation.waiting_share)


def _policy(job: TrainingJob) -> Policy:
    config, space = job.config, job.mixture.space
    if job.parent is not None:
        policy = job.parent.policy
        policy.rescale(scales_of(job.mixture.parts, job.weights, policy.horizon))
        return policy
    kind = POLICIES[config.policy]
    horizon = int(config.settings.get("horizon", kind.default_settings()["horizon"]))
    scales = scales_of(job.mixture.parts, job.weights, horizon)
    labels, settings = job.mixture.parts[0].labels, dict(config.settings)
    if labels is not None and "landmarks" in kind.default_settings():
        settings.setdefault("landmarks", ",".join(labels.landmarks))
        if settings.get("backbone", "keypoints") == "keypoints" and "tool_joints" not in settings:
            chain = chain_of(job.mixture.parts[0])
            if chain is not None:
                settings["tool_joints"] = ",".join(chain.joints)
                scales = replace(scales, chain=chain.constants.tolist())
    # Torch initialises layers from its global generator, which is seeded here and restored afterwards.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        policy = kind(space, scales, **settings)
    if config.backbone is not None:
        load_backbone(policy, config.backbone)
    return policy


def _resume(optimisation: Optimisation, job: TrainingJob, out: Path) -> list[LossRecord]:
    """Continue the training in the folder, if it was started with the same data and settings."""
    folder = out / TRAINING
    state = folder / STATE
    if not state.is_file():
        if (out / CARD).exists():
            raise UsageError(f"{out}: contains a checkpoint that would be overwritten; choose another --out")
        optimisation.group.wait()
        if optimisation.group.writes:
            write_job(folder, job.settings)
        return []
    if difference := differences(folder, job.settings):
        raise UsageError(f"{out}: {difference}. Give the same arguments to continue, or choose another --out")
    try:
        facts = optimisation.restore(state)
    except (CheckpointError, KeyError, ValueError):
        facts = {}
    if facts.get("lesson") != job.digest:
        raise UsageError(f"{out}: was trained with other data, policy or settings; choose another --out")
    text = (out / TRAINING / CURVE).read_text(encoding="utf-8")
    looks = [LossRecord(**json.loads(line)) for line in text.splitlines()]
    return [look for look in looks if look.step <= optimisation.step]


def _save(optimisation: Optimisation, job: TrainingJob, out: Path, curve: list[LossRecord]) -> None:
    """Save the curve, then the checkpoint, then the state. After a kill in between, only a few steps are repeated."""
    folder = out / TRAINING
    lines = "".join(json.dumps(asdict(look)) + "\n" for look in curve)
    with storage_errors(out):
        replace_file(folder / CURVE, lines.encode(), scratch=folder)
    with optimisation.averaged():
        errors = _errors(optimisation.policy, job)
        save(out, optimisation.policy, partial(_card, optimisation, job, curve[-1], errors))
    optimisation.save(folder / STATE, {"lesson": job.digest})


def _card(
    optimisation: Optimisation,
    job: TrainingJob,
    look: LossRecord,
    errors: dict[str, float],
    file: str,
    weights: FileDigest,
) -> Card:
    config = job.config
    return Card(
        policy=optimisation.policy.name,
        settings=optimisation.policy.settings(),
        space=job.mixture.space,
        file=file,
        weights=weights,
        data=job.data,
        training=asdict(config.train) | {"frozen": list(config.train.frozen)},
        seed=config.seed,
        versions={"twinloop": __version__, "torch": torch.__version__, "python": platform.python_version()},
        metrics={"loss": look.loss, "held_out_loss": _finite(look.held_out_loss), "held_out_error": errors},
        limits=_limits(job),
        instructions=tuple(dict.fromkeys(task for part in job.mixture.parts for task in part.tasks)),
        steps=optimisation.step,
        finished=optimisation.step == config.train.steps,
        parent=job.parent.card.digest if job.parent else "",
    )


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


@torch.no_grad()
def _errors(policy: Policy, job: TrainingJob) -> dict[str, float]:
    """Return element of the action -> mean absolute error over a chunk on held-out episodes, in its unit."""
    if job.held_out is None:
        return {}
    most = 256 if job.mixture.space.pictures else 1024
    (batch, *_) = job.held_out.sweep(most, policy.horizon, most=most, seed=job.config.seed)
    device = next(policy.parameters()).device
    tensors = tensors_of(batch, device)
    noise = torch.randn(tensors.actions.shape, generator=torch.Generator().manual_seed(0)).to(device)
    wrong = (policy.eval()(tensors.inputs, tensors.real, noise) - tensors.actions).abs().mean(dim=(0, 1))
    policy.train()
    return dict(zip(job.mixture.space.action.names, map(float, wrong), strict=True))


def _limits(job: TrainingJob) -> dict[str, tuple[float, ...]]:
    actions = [part.action for part in job.mixture.parts]
    return {
        "lowest_action": tuple(np.min([action.min(axis=0) for action in actions], axis=0).tolist()),
        "highest_action": tuple(np.max([action.max(axis=0) for action in actions], axis=0).tolist()),
    }
