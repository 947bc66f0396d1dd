"""Measure whether the episodes that `twinloop value` chooses train a better policy than as many random ones.

    python benchmarks/value.py [--arms bias region peg] [--set figure] [--into benchmarks/results/value.json] [--json]

In every arm the episodes of a dataset differ in worth for a target cell:

1. `bias` (pick_and_place): in three of four episodes the tracker's frame is 25 mm off in x, y or both;
2. `region` (pick_and_place): objects lie anywhere within 8 cm, and in the target cell in one corner of that area;
3. `peg` (peg_insertion): in three of four episodes the tracker's frame is 12 mm off in x, y or both.

A policy is trained on all episodes. `value` scores them against 20 demonstrations of the target cell. Then policies
are trained on the best half and on a random half, for the same number of steps, with several seeds. All are evaluated
in the target cell with a run seed that no data used, over the same scenes. `--set work` has other seeds, for
development.

The interval of a difference is a bootstrap over trainings and scenes. Results are kept in DIR, so a stopped run
continues. About 12 minutes per arm on 2 cores.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from twinloop.curate.intervals import wilson
from twinloop.dataset import Dataset
from twinloop.gate.evaluate import evaluate
from twinloop.learn.candidate import candidate_of
from twinloop.learn.episode_weights import EpisodeWeights, read_episode_weights
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJobConfig, prepare
from twinloop.learn.value_datasets import value_datasets
from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig, config_from_text

SEEDS = {
    "work": {"data": 101, "target": 102, "trials": 103, "trainings": (10,)},
    "figure": {"data": 201, "target": 202, "trials": 203, "trainings": (20, 21, 22)},
}
PICK = """
scene: {{robot: franka_panda, task: pick_and_place}}
randomization:
  physics: {{object_position_noise_cm: {places}, object_yaw_deg: [-45, 45]}}
  sensing: {{tracker_bias_mm: {bias}}}
"""
PEG = """
scene: {{robot: franka_panda, task: peg_insertion}}
randomization:
  physics: {{object_position_noise_cm: [-2, 2], object_yaw_deg: [-45, 45]}}
  environment: {{fixture_position_noise_cm: [-1.5, 1.5]}}
  sensing: {{tracker_bias_mm: {bias}}}
"""
ARMS = {
    "bias": {
        "data": PICK.format(places="[-8, 8]", bias="{choice: [0, 25]}"),
        "target": PICK.format(places="[-8, 8]", bias="0"),
        "worthless": ("draw/tracker_bias_mm", 1.0),
        "episodes": 200,
    },
    "region": {
        "data": PICK.format(places="[-8, 8]", bias="0"),
        "target": PICK.format(places="[3, 8]", bias="0"),
        "worthless": None,
        "episodes": 60,
    },
    "peg": {
        "data": PEG.format(bias="{choice: [0, 12]}"),
        "target": PEG.format(bias="0"),
        "worthless": ("draw/tracker_bias_mm", 1.0),
        "episodes": 200,
    },
}
TARGET, STEPS, BATCH, TRIALS, KEEP = 20, 500, 256, 60, 0.5
POLICY = {"width": 192, "depth": 2}
REPEATS = 2000


def made(text: str, out: Path, *, episodes: int, seed: int) -> tuple[RunConfig, Path]:
    config = config_from_text(text, name=out.name, folder=Path()).with_seed(seed)
    generate(config, out, episodes=episodes, workers=2)
    return config, out


def trained(data: Path, out: Path, *, weights: Path | None, seed: int) -> Path:
    config = TrainingJobConfig(
        datasets=(data,), weights=weights, seed=seed, settings=POLICY, train=TrainConfig(steps=STEPS, batch=BATCH)
    )
    train(prepare(config), out)
    return out


def random_half(table: EpisodeWeights, *, seed: int) -> EpisodeWeights:
    (entry,) = table.datasets
    chosen = np.zeros(len(entry.weights))
    chosen[np.random.default_rng(seed).permutation(len(chosen))[: int(sum(entry.weights))]] = 1.0
    return replace(table, method="random half", datasets=(replace(entry, weights=tuple(chosen.tolist())),))


def outcomes(policy: Path, config: RunConfig, file: Path, *, seed: int) -> list[bool]:
    if not file.exists():
        evaluation = evaluate(
            candidate_of(policy), config.with_seed(seed), config_name="target", episodes=TRIALS, workers=2
        )
        file.write_text(json.dumps([bool(success) for success in evaluation.outcomes.success]))
    return json.loads(file.read_text())


def purity(table: EpisodeWeights, data: Path, worthless: tuple[str, float] | None) -> dict[str, float] | None:
    """Share of worthy episodes among all and among those kept."""
    if worthless is None:
        return None
    prefix, above = worthless
    attempts, (entry,) = Dataset.open(data).attempts(), table.datasets
    columns = [name for name in attempts.column_names if name.startswith(prefix)]
    values = np.max([np.abs(np.array(attempts[name].to_pylist(), float)) for name in columns], axis=0)
    worthy = values[np.array(entry.attempts)] < above
    kept = np.array(entry.weights) > 0
    return {"all": round(float(worthy.mean()), 4), "kept": round(float(worthy[kept].mean()), 4)}


def difference(first: np.ndarray, second: np.ndarray, *, seed: int) -> dict[str, float]:
    """Mean of first - second over (trainings, scenes), with a 95 % bootstrap interval over both."""
    rng, gains = np.random.default_rng(seed), []
    count, scenes = first.shape
    for _ in range(REPEATS):
        rows, others = rng.integers(0, count, count), rng.integers(0, count, count)
        columns = rng.integers(0, scenes, scenes)
        gains.append(first[rows][:, columns].mean() - second[others][:, columns].mean())
    low, high = np.quantile(gains, [0.025, 0.975])
    return {"mean": round(float(first.mean() - second.mean()), 4), "low": round(float(low), 4),
            "high": round(float(high), 4)}  # fmt: skip


def measured(name: str, seeds: dict[str, Any], out: Path) -> dict[str, Any]:
    arm = ARMS[name]
    for part in ("weights", "outcomes"):
        (out / part).mkdir(parents=True, exist_ok=True)
    _, data = made(arm["data"], out / "data", episodes=arm["episodes"], seed=seeds["data"])
    target, goal = made(arm["target"], out / "target", episodes=TARGET, seed=seeds["target"])
    first = seeds["trainings"][0]
    policy = trained(data, out / "policies" / f"all-{first}", weights=None, seed=first)
    best = out / "weights" / "best.json"
    if not best.exists():
        table, _ = value_datasets([data], policy, [goal], keep=KEEP)
        table.write(best)
    table = read_episode_weights(best)
    results: dict[str, list[list[bool]]] = {"best half": [], "random half": [], "all": []}
    for seed in seeds["trainings"]:
        file = out / "weights" / f"random-{seed}.json"
        random_half(table, seed=seed).write(file)
        for title, weights in (("best half", best), ("random half", file), ("all", None)):
            if weights is None and seed != first:
                continue  # all episodes are for orientation; one training is enough
            key = f"{title.split()[0]}-{seed}"
            policy = trained(data, out / "policies" / key, weights=weights, seed=seed)
            results[title].append(outcomes(policy, target, out / "outcomes" / f"{key}.json", seed=seeds["trials"]))
            print(f"{name:8} {title:12} seed {seed}: {sum(results[title][-1])}/{TRIALS}", flush=True)
    arrays = {title: np.array(values, float) for title, values in results.items()}
    rates = {}
    for title, values in arrays.items():
        low, high = wilson(int(values.sum()), values.size)
        rates[title] = {
            "successes": int(values.sum()), "trials": values.size, "low": round(float(low), 4),
            "high": round(float(high), 4), "by_training": values.sum(axis=1).astype(int).tolist(),
        }  # fmt: skip
    return {
        "task": target.scene.task.name, "episodes": len(table.datasets[0].weights), "target_episodes": TARGET,
        "steps": STEPS, "agreement": table.settings["agreement"], "worthy": purity(table, data, arm["worthless"]),
        "rates": rates, "gain": difference(arrays["best half"], arrays["random half"], seed=0),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--set", default="figure", choices=list(SEEDS))
    parser.add_argument("--out", type=Path, default=Path("out/value"))
    parser.add_argument("--into", type=Path, help="add the results to this file")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    results: dict[str, Any] = {"set": args.set, "arms": {}}
    if args.into and args.into.exists():
        results["arms"] = json.loads(args.into.read_text())["arms"]
    for name in args.arms:
        results["arms"][name] = measured(name, SEEDS[args.set], args.out / args.set / name)
        if args.into:
            args.into.write_text(json.dumps(results, indent=1) + "\n")
    if args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
