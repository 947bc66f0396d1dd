"""Success of policies on other tasks against demonstrations, action noise and width of randomization.

`python benchmarks/learning.py --task NAMES` runs it. An arm is one policy: a number of demonstrations, from a twin with
one width of randomization, with or without noise on the expert's commands. Every arm is evaluated under the small and
under the realistic ranges, on the same episodes of a run seed that no demonstration used.

Each result is written to benchmarks/results/learning_tasks.json (with `--quick`, to the output folder) when it is
measured. A stopped run continues.
"""

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from tasks import RANGES

from twinloop.gate.evaluate import evaluate
from twinloop.gate.evaluation import Evaluation
from twinloop.learn.candidate import candidate_of
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.space import default_inputs
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJobConfig, prepare
from twinloop.observe.recording import ESTIMATE
from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig, config_from_text

RESULTS = Path(__file__).parent / "results" / "learning_tasks.json"
STEPS, BATCH, TRIALS = 600, 256, 64
SEEN_SEED, HELD_OUT_SEED, TRAINING_SEED = 1, 77, 0
WIDTHS = {"none": "", "small": RANGES["default"], "realistic": RANGES["realistic"]}
"""Which entity is asked for varies in all three, where the task has a choice."""
JUDGED = ("small", "realistic")
ATTEMPTS_PER_DEMONSTRATION = {"none": 1.2, "small": 1.3, "realistic": 2.2}
"""More than the expert needs in `put_in_drawer`, where most attempts are rejected."""


@dataclass(frozen=True)
class Arm:
    """One policy.

    Attributes:
        width: randomization of the demonstrations, a key of WIDTHS.
        noise_rad: noise on the expert's commands.
        estimates: the policy reads `observation.estimate` in place of raw readings.
    """

    demonstrations: int
    width: str = "small"
    noise_rad: float = 0.005
    estimates: bool = False

    @property
    def data(self) -> str:
        return f"{self.width}-{'noisy' if self.noise_rad else 'clean'}"

    @property
    def name(self) -> str:
        return f"{self.data}-{self.demonstrations}{'-estimate' if self.estimates else ''}"


ARMS = (
    Arm(100), Arm(25), Arm(400), Arm(100, noise_rad=0.0), Arm(100, "none"), Arm(100, "realistic"),
    Arm(100, "realistic", estimates=True), Arm(25, noise_rad=0.0),
)  # fmt: skip


def measure(tasks: list[str], out: Path, *, quick: bool = False) -> dict[str, Any]:
    """Train and evaluate the arms of these tasks that have no result yet, and return the results of all tasks.

    Args:
        out: folder of datasets and checkpoints.
        quick: a tenth of everything, to test the script.
    """
    torch.set_num_threads(1)
    steps, trials, file = (STEPS // 10, TRIALS // 10, out / RESULTS.name) if quick else (STEPS, TRIALS, RESULTS)
    arms = [replace(arm, demonstrations=max(arm.demonstrations // 10, 4)) if quick else arm for arm in ARMS]
    settings = {
        "steps": steps, "batch": BATCH, "trials": trials, "policy": "mlp", "robot": "franka_panda",
        "seeds": {"demonstrations": SEEN_SEED, "evaluation": HELD_OUT_SEED, "training": TRAINING_SEED},
    }  # fmt: skip
    results = json.loads(file.read_text()) if file.exists() else {}
    if {key: results.get(key) for key in settings} != settings:
        results = settings | {"tasks": {}}
    for arm in arms:
        for task in tasks:
            rows = results["tasks"].setdefault(task, {})
            row = rows.setdefault(arm.name, asdict(arm))
            for judged in (width for width in JUDGED if width not in row):
                begun = time.process_time()
                policy = trained(task, arm, out / task, steps=steps, most=_most(arms, arm))
                evaluation = evaluate(
                    candidate_of(policy), config_of(task, judged, seed=HELD_OUT_SEED),
                    config_name=f"{task}-{judged}", episodes=trials, workers=1,
                )  # fmt: skip
                row[judged] = summary(evaluation) | {"cpu_s": round(time.process_time() - begun, 1)}
                file.write_text(json.dumps(results, indent=1) + "\n")
                print(f"{task} {arm.name}, {judged} ranges: {row[judged]}", flush=True)
    return results


def trained(task: str, arm: Arm, out: Path, *, steps: int, most: int) -> Path:
    """Return the checkpoint of an arm, from `out` if it is there."""
    data, policy = out / "datasets" / f"{arm.data}-{most}", out / "policies" / f"{arm.name}-{steps}"
    attempts = math.ceil(most * ATTEMPTS_PER_DEMONSTRATION[arm.width])
    config = config_of(task, arm.width, seed=SEEN_SEED, noise_rad=arm.noise_rad)
    progress = generate(config, data, episodes=attempts, workers=1).progress
    if progress.accepted < arm.demonstrations:
        raise SystemExit(f"{data}: {progress.accepted} of {attempts} attempts accepted, {arm.name} needs more")
    inputs = default_inputs([data])
    if arm.estimates:
        inputs = (ESTIMATE, *inputs[2:])
    job = TrainingJobConfig(
        datasets=(data,), inputs=inputs, most=arm.demonstrations, train=TrainConfig(steps=steps, batch=BATCH),
        seed=TRAINING_SEED,
    )  # fmt: skip
    train(prepare(job), policy)
    return policy


def config_of(task: str, width: str, *, seed: int, noise_rad: float = 0.005) -> RunConfig:
    text = f"scene: {{task: {task}}}\nrollout: {{seed: {seed}}}\nexpert: {{action_noise_rad: {noise_rad}}}"
    return config_from_text(text + WIDTHS[width], name=f"{task}-{width}.yaml", folder=Path())


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """Success with its interval, the phase that most attempts ended in, and the most common failures."""
    success, (low, high) = evaluation.success, evaluation.success.interval
    failures = sorted(evaluation.failures.items(), key=lambda item: -item[1])[:3]
    missed = {phase.name: phase.rate.trials - phase.rate.successes for phase in evaluation.phases}
    return {
        "successes": success.successes, "trials": success.trials, "low": round(low, 4), "high": round(high, 4),
        "failures": dict(failures), "most_end_in": max(missed, key=lambda name: missed[name]),
    }  # fmt: skip


def _most(arms: list[Arm], arm: Arm) -> int:
    """Demonstrations of the largest arm that uses the same data, so that arms share one dataset."""
    return max(other.demonstrations for other in arms if other.data == arm.data)
