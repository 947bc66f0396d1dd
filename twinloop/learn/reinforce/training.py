"""Reinforcement: RunConfig -> Checkpoint. A second call resumes a training that was interrupted, with the same result.

OUT/policy-DIGEST.safetensors, card.json   the checkpoint: weights of the last save
OUT/config.yaml                            the config, as resolved
OUT/training/state.safetensors             the state to resume from, with the running episodes
OUT/training/curve.jsonl                   an IterationRecord per iteration
OUT/training/tensorboard/                  the same for TensorBoard
OUT/training/job.json                      the settings
"""

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from twinloop import __version__
from twinloop.durable import FileDigest, replace_file, storage_errors
from twinloop.errors import CheckpointError, UsageError
from twinloop.learn.card import CARD, REINFORCEMENT, Card
from twinloop.learn.checkpoint import Checkpoint, load, save
from twinloop.learn.job_file import differences, write_job
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.event_files import EventFiles
from twinloop.learn.reinforce.fresh_policy import space_of_env
from twinloop.learn.reinforce.policy_env import PolicyEnv
from twinloop.learn.reinforce.record import IterationRecord
from twinloop.learn.tensors import read_tensors, write_tensors
from twinloop.run.config import RunConfig

TRAINING, STATE, CURVE, CONFIG = "training", "state.safetensors", "curve.jsonl", "config.yaml"


class IterativeTraining(Protocol):
    """A training that can be saved between two iterations."""

    env: PolicyEnv
    policy: MlpPolicy

    def iterate(self) -> dict[str, float]: ...

    def state(self) -> dict[str, Tensor]: ...

    def restore(self, state: Mapping[str, Tensor]) -> None: ...


@dataclass(frozen=True)
class ReinforceResult:
    """The result of a training. stopped: why it ended before its last iteration, or ""."""

    checkpoint: Checkpoint
    curve: tuple[IterationRecord, ...]
    resumed_from: int
    stopped: str = ""


class Reinforcement:
    """The loop around a training: progress, checkpoints, resuming, early stop.

    Args:
        parent: the checkpoint that training started from.
        data: sources of demonstrations, for the card.
    """

    def __init__(
        self, training: IterativeTraining, run: RunConfig, config: ReinforceConfig, out: Path, *,
        parent: Checkpoint | None = None, data: tuple[dict[str, Any], ...] = (),
    ):  # fmt: skip
        self.training, self.run_config, self.config, self.out = training, run, config, out
        self.parent, self._data = parent, data
        self._folder = out / TRAINING
        self._curve: list[IterationRecord] = []
        self._recent: list[bool] = []
        with storage_errors(out):
            self._folder.mkdir(parents=True, exist_ok=True)

    def run(self, on_iteration: Callable[[IterationRecord], None] = lambda _: None) -> ReinforceResult:
        self._resume()
        resumed_from, stopped = len(self._curve), self._reason_to_stop()
        with EventFiles(self._folder / "tensorboard", resumed_from) as events:
            while len(self._curve) < self.config.iterations and not stopped:
                record = self._iterate()
                self._curve.append(record)
                events.write(record.iteration, record.scalars())
                on_iteration(record)
                stopped = self._reason_to_stop()
                last = stopped or len(self._curve) == self.config.iterations
                if last or len(self._curve) % self.config.save_every == 0:
                    self._save(finished=bool(last))
        return ReinforceResult(load(self.out), tuple(self._curve), resumed_from, stopped)

    def _iterate(self) -> IterationRecord:
        env = self.training.env
        env.clear()
        figures = self.training.iterate()
        self._recent = [*self._recent, *env.ended][-self.config.window :]
        if env.env.curriculum is not None:
            figures |= env.env.curriculum.figures()
        periods = max(env.periods, 1)
        return IterationRecord(
            iteration=len(self._curve) + 1,
            periods=env.total_periods,
            reward=env.returns / periods,
            terms={name: value / periods for name, value in env.term_sums.items()},
            episodes=len(env.ended),
            successes=int(sum(env.ended)),
            success=float(np.mean(self._recent)) if self._recent else None,
            length_s=float(np.mean(env.lengths)) / env.env.robot.rate_hz if env.lengths else None,
            reasons={name: env.reasons.count(name) for name in sorted(set(env.reasons))},
            figures=figures,
        )

    def _reason_to_stop(self) -> str:
        config, curve = self.config, self._curve
        if config.until and len(self._recent) >= config.window and np.mean(self._recent) >= config.until:
            return f"success rate {np.mean(self._recent):.0%} of the last {config.window} episodes"
        if config.patience and len(curve) > config.patience:
            rewards = [record.reward for record in curve]
            if max(rewards[-config.patience :]) <= max(rewards[: -config.patience]):
                return f"no better mean reward in {config.patience} iterations"
        return ""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that determines the weights after a number of iterations, as JSON."""
        config = asdict(self.config)
        for name in ("iterations", "until", "patience", "save_every"):
            del config[name]  # a training may go on for longer
        if config["shards"] == 1:
            del config["shards"]  # trainings from before there were shards can go on
        return config | {
            "config": hashlib.sha256(self.run_config.to_yaml().encode()).hexdigest(),
            "parent": self.parent.card.digest if self.parent else "",
            "demonstrations_of": [source["digest"] for source in self._data],
        }

    def _resume(self) -> None:
        state = self._folder / STATE
        if not state.is_file():
            if (self.out / CARD).exists():
                raise UsageError(f"{self.out}: contains a checkpoint that would be overwritten; choose another --out")
            write_job(self._folder, self.settings)
            with storage_errors(self.out):
                replace_file(self.out / CONFIG, self.run_config.to_yaml().encode(), scratch=self.out)
            return
        if difference := differences(self._folder, self.settings):
            raise UsageError(
                f"{self.out}: {difference}. Give the same arguments to continue, or choose another --out"
            )  # fmt: skip
        tensors, facts = read_tensors(state)
        try:
            self.training.restore(tensors)
            progress = json.loads(facts["progress"])
        except (KeyError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{state}: is not the state of this training ({error}); choose another --out"
            ) from None
        lines = (self._folder / CURVE).read_text(encoding="utf-8").splitlines()
        self._curve = [IterationRecord(**json.loads(line)) for line in lines][: progress["iteration"]]
        self._recent = progress["recent"]
        env = self.training.env
        env.total_periods, env.episodes = progress["periods"], progress["episodes"]
        env.lowest, env.highest = np.array(progress["lowest"]), np.array(progress["highest"])

    def _save(self, *, finished: bool) -> None:
        """Save the curve, then the checkpoint, then the state. After a kill in between, iterations are repeated."""
        env = self.training.env
        lines = "".join(json.dumps(asdict(record)) + "\n" for record in self._curve)
        with storage_errors(self.out):
            replace_file(self._folder / CURVE, lines.encode(), scratch=self._folder)
        save(self.out, self.training.policy, partial(self._card, finished))
        progress = {
            "iteration": len(self._curve), "recent": self._recent, "periods": env.total_periods,
            "episodes": env.episodes, "lowest": env.lowest.tolist(), "highest": env.highest.tolist(),
        }  # fmt: skip
        write_tensors(self._folder / STATE, self.training.state(), {"progress": json.dumps(progress)})

    def _card(self, finished: bool, file: str, weights: FileDigest) -> Card:
        env, policy, record = self.training.env, self.training.policy, self._curve[-1]
        twin = {
            "path": self.out.name, "name": self.out.name, "kind": REINFORCEMENT, "digest": "",
            "config_digest": self.run_config.digest, "run_seed": self.config.seed, "episodes": env.episodes,
            "frames": env.total_periods, "weight": 1.0, "held_out": 0,
        }  # fmt: skip
        return Card(
            policy=policy.name,
            settings=policy.settings(),
            space=space_of_env(env.env),
            file=file,
            weights=weights,
            # The parent's data too: an evaluation on its seeds would not be held out.
            data=(twin, *self._data, *(self.parent.card.data if self.parent else ())),
            training=asdict(self.config),
            seed=self.config.seed,
            versions={"twinloop": __version__, "torch": torch.__version__, "python": platform.python_version()},
            metrics={
                "loss": record.figures.get("loss/surrogate", 0.0), "held_out_loss": None, "held_out_error": {},
                "reward": record.reward, "reward_terms": record.terms, "success": record.success,
            },
            limits={"lowest_action": tuple(env.lowest.tolist()), "highest_action": tuple(env.highest.tolist())},
            instructions=(env.env.robot.instruction,),
            steps=len(self._curve),
            finished=finished,
            parent=self.parent.card.digest if self.parent else "",
        )  # fmt: skip
