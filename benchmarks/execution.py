"""Success of the same policies with action chunks executed as they come, and averaged.

    python benchmarks/execution.py [--tasks NAMES] [--work DIR] [--out benchmarks/results/execution.json]

For each task one `mlp` is trained on few demonstrations and evaluated on the same draws in each way: the first 8
actions of a chunk and then the next chunk (default), and `--ensemble M`. Datasets and policies are kept in `--work`.
Averaging was first tried on attempts 0 to 63 of the default seed of an evaluation; the figure uses another seed.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import twinloop as tl

TASKS = ("push_to_goal", "peg_insertion", "put_in_drawer", "sort_by_colour")
ENSEMBLES = (None, 0.1, 0.01)
DEMONSTRATIONS, STEPS, EPISODES, FIGURE_SEED = 300, 1500, 128, 4_400_000
INPUTS = ("observation.state", "observation.environment_state")


def measured(task: str, work: Path) -> dict[str, dict[str, float]]:
    """Ensemble -> success and mean duration."""
    config = work / f"{task}.yaml"
    config.write_text(
        f"scene: {{robot: franka_panda, task: {task}}}\n"
        "randomization:\n  physics: {object_position_noise_cm: [-3, 3], friction_coefficient: [0.4, 1.0]}\n"
    )
    data, policy = work / "datasets" / task, work / "policies" / task
    tl.generate(config, data, episodes=DEMONSTRATIONS, workers=1)
    inputs = (*INPUTS, "observation.instruction") if task.startswith("sort") else INPUTS
    tl.train(data, policy, inputs=inputs, steps=STEPS)
    results = {}
    for ensemble in ENSEMBLES:
        evaluation = tl.evaluate(policy, config, episodes=EPISODES, seed=FIGURE_SEED, ensemble=ensemble)
        success = evaluation.success
        results["chunks" if ensemble is None else str(ensemble)] = {
            "successes": success.successes, "trials": success.trials, "low": round(success.interval[0], 3),
            "high": round(success.interval[1], 3), "failures": dict(evaluation.failures),
        }  # fmt: skip
        print(task, ensemble, results, file=sys.stderr, flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS), help="names with commas")
    parser.add_argument("--work", type=Path, help="folder of datasets and policies (default: a temporary one)")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = args.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        result = {task: measured(task, work) for task in args.tasks.split(",")}
    print(json.dumps(result, indent=2))
    if args.out is not None:
        args.out.write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
