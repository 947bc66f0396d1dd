"""Train policies that see, and measure them in the twin over full visual randomization.

    python benchmarks/seeing.py [--json] [--task NAME] [--part PART,...] [--quick] [--out DIR] [--minutes M]

The policy reads one fixed camera, the wrist camera and joint positions; it does not read the pose of any object. All
visual parameters vary over their sensible ranges, and so do poses, mass and friction of the object. In half of the
demonstrations somebody moves the object while the arm approaches, the expert's commands are noisy, and sometimes its
fingers slip, so that the data shows corrections.

Parts, in this order; each result is kept in DIR, so a stopped run continues:

1. data: demonstrations with both cameras at 5 Hz and labels, by `twinloop generate`.
2. train: `act` with the keypoint backbone: images, labels and actions together.
3. head: the rest of the policy further, with a frozen backbone whose features are computed once.
4. figure: success in episodes of a run seed that neither training nor the search for settings used.
5. blind: `mlp` from joint positions alone, on the same data and episodes. It shows how much luck explains.
6. poses: error of the predicted positions of landmarks in held-out episodes of the data.
7. images: as figure, for the policy of `train` without the training of `head`.
8. work: as figure, on the seed that settings were chosen with; for work on the policy.

CPU seconds are those of all processes of a part, in all sessions that it took. On a busy machine they are the fair
measure; the wall time is not.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from twinloop.dataset import Dataset
from twinloop.errors import TwinloopError
from twinloop.learn.checkpoint import load
from twinloop.learn.policies._vision import KeypointTokens
from twinloop.learn.policy import tensors_of
from twinloop.learn.training_job import TrainingJobConfig, prepare
from twinloop.randomize.table import TABLE

PARTS = ("data", "train", "head", "figure", "blind", "poses", "images", "work")
DATA = {"pick_and_place": ((61, 1000),), "sort_by_colour": ((71, 1000),)}
"""Task -> run seeds and episodes of its demonstrations."""

STEPS = {"pick_and_place": 5000, "sort_by_colour": 3500}
HEAD_STEPS, HEAD_BATCH = 1500, 128
BATCH, SIZE_PX, RATE_HZ = 64, 96, 5
FIGURE_SEED, WORK_SEED = 9200, 500
REPORTED = ("steps", "loss", "held_out_loss", "waiting_share", "wall_s", "cpu_s", "resumed_from")
INPUTS = "observation.state,observation.images.front,observation.images.wrist"
EXECUTED = 8
"""Actions of a chunk that are carried out. With 5, policies stand still where demonstrations slow down."""
SETTINGS = (f"executed={EXECUTED}", "horizon=16", "shift_px=2", "image_size=64")
CAMERAS = {
    "front": {"position_m": [1.2, -0.3, 0.65], "look_at_m": [0.48, 0.0, 0.05], "fov_deg": 34},
    "wrist": {"mount": "wrist", "position_m": [0.085, 0, -0.05], "look_at_m": [0, 0, 0.035], "fov_deg": 75},
}
LAYOUT = {
    "object_mass_kg": [0.05, 0.4], "friction_coefficient": [0.2, 1.1], "object_position_noise_cm": [-4, 4],
    "object_yaw_deg": [-45, 45], "target_position_noise_cm": [-3, 3],
}  # fmt: skip
EXPERT = {"action_noise_rad": 0.012, "slips": 0.2}
MOVED = {"object_shift_probability": 0.5, "object_shift_cm": [-4, 4], "object_shift_at_s": [0.1, 1.0]}


def config(task: str, *, moved: bool) -> str:
    """The cell, with every visual parameter over its sensible range. moved: for demonstrations."""
    rows = [row for row in TABLE if row.group == "visual" and row.realistic and not row.name.startswith("depth_")]
    visual: dict[str, Any] = {row.name: row.sensible[1] if row.pool else list(row.sensible) for row in rows}
    visual["light_count"] = {"choice": [1, 2, 3, 4]}
    layout = dict(LAYOUT)
    if task != "pick_and_place":
        del layout["target_position_noise_cm"]  # only a zone is moved by it
    common = {"width": SIZE_PX, "height": SIZE_PX, "rate_hz": float(RATE_HZ), "labels": ["poses"]}
    content = {
        "scene": {"robot": "franka_panda", "task": task},
        "cameras": {name: camera | common for name, camera in CAMERAS.items()},
        "randomization": {"visual": visual, "physics": layout, **({"human": MOVED} if moved else {})},
        **({"expert": EXPERT} if moved else {}),
    }
    return json.dumps(content, indent=1)  # JSON is YAML


class OutOfTime(Exception):
    """A part has not ended within --minutes. Running the same command again continues it."""


class Commands:
    """Runs commands of twinloop, and adds up the CPU seconds of each part over all sessions.

    Args:
        minutes: time after which a command is stopped.
        processes: number of processes of each command.
    """

    def __init__(self, folder: Path, *, minutes: float, processes: int):
        self._folder, self._until, self.processes = folder, time.perf_counter() + 60 * minutes, processes
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, part: str, *words: object, processes: int = 1, minutes: float = np.inf) -> dict[str, Any]:
        """Run a command and return its JSON, with the seconds and CPU seconds that it took.

        Raises:
            OutOfTime: it has not ended within `minutes`, or within those of the session.
        """
        several = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
        command = [sys.executable, "-m", *(several if processes > 1 else []), "twinloop", *map(str, words), "--json"]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        output, stopped = "", False
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
        ) as running:
            try:
                output, _ = running.communicate(timeout=max(1.0, min(60 * minutes, self._until - began)))
            except subprocess.TimeoutExpired:
                running.terminate()
                stopped = True
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        sessions = self._folder / f"{part}.jsonl"
        with sessions.open("a") as file:
            file.write(json.dumps({"wall_s": round(time.perf_counter() - began, 1), "cpu_s": round(used, 1)}) + "\n")
        if stopped:
            raise OutOfTime(f"{part}: stopped after --minutes; run the same command again to continue")
        if running.returncode:
            raise SystemExit(f"{part}: {' '.join(command)} failed")
        return json.loads([line for line in output.splitlines() if line.startswith("{")][-1]) | self.spent(part)

    def spent(self, part: str) -> dict[str, float]:
        """Seconds and CPU seconds of a part in all sessions."""
        sessions = [json.loads(line) for line in (self._folder / f"{part}.jsonl").read_text().splitlines()]
        return {key: round(sum(session[key] for session in sessions), 1) for key in ("wall_s", "cpu_s")}


class Study:
    """The parts of one task. Results are in `folder/results`.

    Args:
        train_minutes: time after which each training is stopped and its last checkpoint is used.
    """

    def __init__(self, task: str, folder: Path, commands: Commands, *, trials: int, train_minutes: float, quick: bool):
        self.train_minutes = train_minutes
        self.task, self.folder, self.commands = task, folder, commands
        self.data = [(seed, 4 if quick else episodes) for seed, episodes in DATA[task]]
        self.steps, self.head_steps = (4, 4) if quick else (STEPS[task], HEAD_STEPS)
        self.trials = 4 if quick else trials
        for name in ("results", "configs"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.demonstrated, self.judged = (folder / "configs" / f"{name}.yaml" for name in ("demonstrated", "judged"))
        self.demonstrated.write_text(config(task, moved=True))
        self.judged.write_text(config(task, moved=False))

    def run(self, part: str) -> dict[str, Any]:
        kept = self.folder / "results" / f"{part}.json"
        if kept.exists():
            return json.loads(kept.read_text())
        makers = {
            "data": self.generate, "train": self.train, "head": self.train_head, "blind": self.blind,
            "poses": self.poses, "images": lambda: self.judge("images", FIGURE_SEED, "images"),
        }  # fmt: skip
        result = makers.get(part, lambda: self.judge(part))()
        kept.write_text(json.dumps(result) + "\n")
        print(f"{self.task}: {part}: {json.dumps(result)}", file=sys.stderr, flush=True)
        return result

    def datasets(self) -> list[Path]:
        return [self.folder / "data" / f"{self.task}-{seed}" for seed, _ in self.data]

    def generate(self) -> dict[str, Any]:
        cpu_s = 0.0  # 0: the data was there before
        for path, (seed, episodes) in zip(self.datasets(), self.data, strict=True):
            if not _complete(path, episodes):
                words = [self.demonstrated, "--episodes", episodes, "--seed", seed, "--out", path]
                words += ["--workers", self.commands.processes]
                cpu_s += self.commands.run(f"data-{seed}", "generate", *words)["cpu_s"]
        opened = [Dataset.open(path) for path in self.datasets()]
        return {
            "episodes": sum(dataset.header.episodes for dataset in opened),
            "frames": sum(dataset.frame_count for dataset in opened),
            "cpu_s": round(cpu_s, 1),
        }

    def train(self) -> dict[str, Any]:
        inputs = INPUTS if self.task == "pick_and_place" else f"{INPUTS},observation.instruction"
        settings = [word for setting in SETTINGS for word in ("--set", setting)]
        return self._trained(
            "train", "images", "train", *self.datasets(), "--policy", "act", "--inputs", inputs, "--steps", self.steps,
            "--batch", BATCH, "--precision", "bf16", *settings, processes=self.commands.processes,
        )  # fmt: skip

    def train_head(self) -> dict[str, Any]:
        return self._trained(
            "head", "seeing", "finetune", self.folder / "policies" / "images", "--data", *self.datasets(),
            "--freeze", "sight.encoder", "--steps", self.head_steps, "--batch", HEAD_BATCH, "--learning-rate", 1e-3,
            "--set", f"executed={EXECUTED}",
        )  # fmt: skip

    def _trained(self, part: str, policy: str, *words: object, processes: int = 1) -> dict[str, Any]:
        out = self.folder / "policies" / policy
        try:
            trained = self.commands.run(
                part, *words, "--threads", 1, "--out", out, processes=processes, minutes=self.train_minutes
            )
        except OutOfTime:
            if self.train_minutes == np.inf:
                raise
            # The last checkpoint has the running average of the weights.
            card = load(out).card
            losses = {name: card.metrics[name] for name in ("loss", "held_out_loss")}
            planned = self.steps if part == "train" else self.head_steps
            return {"steps": card.steps, "planned_steps": planned, **losses, **self.commands.spent(part)}
        return {key: trained[key] for key in REPORTED}

    def blind(self) -> dict[str, Any]:
        out = self.folder / "policies" / "blind"
        inputs = "observation.state" if self.task == "pick_and_place" else "observation.state,observation.instruction"
        words = ("--inputs", inputs, "--steps", min(600, self.steps), "--threads", 1, "--set", f"executed={EXECUTED}")
        self.commands.run("blind-train", "train", *self.datasets(), *words, "--out", out)
        return self.judge("blind", FIGURE_SEED, "blind")

    def poses(self) -> dict[str, Any]:
        """Landmark -> median and 90th percentile of the horizontal distance from the true position, in centimetres."""
        checkpoint = load(self.folder / "policies" / "seeing")
        inputs, settings = tuple(feature.name for feature in checkpoint.card.space.inputs), checkpoint.card.settings
        job = prepare(TrainingJobConfig(tuple(self.datasets()), policy="act", inputs=inputs, settings=settings))
        sight = getattr(checkpoint.policy, "sight", None)
        assert isinstance(sight, KeypointTokens)
        assert job.held_out is not None
        away = []
        with torch.inference_mode():
            for batch in job.held_out.sweep(128, checkpoint.policy.horizon, most=600, seed=0):
                tensors = tensors_of(batch)
                assert tensors.labels is not None
                located = sight.encoder(tensors.inputs, sight.vectors(tensors.inputs, tensors.real)).located
                away.append((located.poses - tensors.labels.poses)[..., :2].norm(dim=2).numpy())
        quantiles = 100 * np.quantile(np.concatenate(away), (0.5, 0.9), axis=0)
        names = settings["landmarks"].split(",")
        return {
            name: [round(float(value), 2) for value in column] for name, column in zip(names, quantiles.T, strict=True)
        }

    def judge(self, part: str, seed: int | None = None, policy: str = "seeing") -> dict[str, Any]:
        seed = seed if seed is not None else WORK_SEED if part == "work" else FIGURE_SEED
        judged = self.commands.run(
            f"judge-{part}", "evaluate", self.folder / "policies" / policy, self.judged, "--episodes", self.trials,
            "--seed", seed, "--workers", self.commands.processes, "--clips", 0,
            "--out", self.folder / "evaluations" / part,
        )  # fmt: skip
        success = judged["success"]
        return {
            "seed": seed, "trials": success["trials"], "successes": success["successes"], "rate": success["rate"],
            "low": round(success["low"], 4), "high": round(success["high"], 4), "failures": judged["failures"],
            "episodes_per_s": judged["episodes_per_second"], "wall_s": judged["wall_s"], "cpu_s": judged["cpu_s"],
            "cpu_s_per_episode": round(judged["cpu_s"] / success["trials"], 3),
        }  # fmt: skip


def _complete(path: Path, episodes: int) -> bool:
    try:
        dataset = Dataset.open(path)
    except TwinloopError:
        return False
    return dataset.complete and dataset.header.episodes >= episodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--task", default="pick_and_place", help=f"tasks with commas: {', '.join(DATA)}")
    parser.add_argument("--part", default=",".join(PARTS[:6]), help=f"parts with commas: {', '.join(PARTS)}")
    parser.add_argument("--trials", type=int, default=200, help="episodes of each evaluation")
    parser.add_argument("--quick", action="store_true", help="a few episodes and steps, to test the script")
    parser.add_argument("--out", type=Path, default=Path("out/seeing"))
    parser.add_argument("--minutes", type=float, default=600, help="stop after this time; run again to continue")
    parser.add_argument(
        "--train-minutes", type=float, default=np.inf, help="stop each training after this time, for good"
    )
    parser.add_argument("--processes", type=int, default=2, help="processes of each command")
    args = parser.parse_args()
    results: dict[str, Any] = {"cores": os.cpu_count()}
    for task in args.task.split(","):
        commands = Commands(args.out / task / "sessions", minutes=args.minutes, processes=args.processes)
        study = Study(
            task, args.out / task, commands, trials=args.trials, train_minutes=args.train_minutes, quick=args.quick
        )
        try:
            results[task] = {part: study.run(part) for part in args.part.split(",")}
        except OutOfTime as error:
            raise SystemExit(str(error)) from None
    if args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
