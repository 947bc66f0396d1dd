"""Measure how well ranges fitted by a discriminator hold known truths, beside the posterior of `calibrate`.

    python benchmarks/anchoring.py [--set figure] [--cells 6] [--into benchmarks/results/anchoring.json] [--json]

A cell is the twin with hidden values of four rows, drawn at random: object mass, delay of commands, noise of the
tracker and force of the gripper. The scripted expert records 12 episodes in it. Then both methods get the same
recordings:

1. `discriminator`: `calibrate --by discriminator`, four rows, 240 simulations;
2. `posterior`: `calibrate` as it is. It fits the drive of every joint; of the four rows it can tell only the delay. Its
   estimate is the median over joints of the fitted delays, with the median of the ends of their intervals.

Distance is |estimate - truth| as a share of the searched range; the middle of the range is off by 0.25 on average.
Coverage is the share of 90 % intervals that hold the truth. Cells of `--set work` are for development.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.calibrate.by_discriminator import fit_by_discriminator
from twinloop.calibrate.fit_config import calibrate_config
from twinloop.errors import TwinloopError
from twinloop.pipeline.generate import generate
from twinloop.run.config import config_from_text

SEEDS = {"work": 500, "figure": 900}
SEARCHED = {
    "object_mass_kg": ("physics", 0.05, 0.6),
    "grip_force_scale": ("physics", 0.5, 1.5),
    "action_delay_ms": ("latency", 0.0, 80.0),
    "tracker_noise_mm": ("sensing", 0.0, 4.0),
}
EPISODES, SIMULATIONS = 12, 240


def text_of(values: dict[str, Any]) -> str:
    groups: dict[str, dict[str, Any]] = {"physics": {"object_position_noise_cm": [-3, 3]}}
    for name, (group, _, _) in SEARCHED.items():
        groups.setdefault(group, {})[name] = values[name]
    return json.dumps({"scene": {"robot": "franka_panda", "task": "pick_and_place"}, "randomization": groups})


def measured(number: int, seed: int, out: Path) -> dict[str, Any]:
    rng = np.random.default_rng([seed, number])
    truth = {name: float(rng.uniform(low, high)) for name, (_, low, high) in SEARCHED.items()}
    reality = config_from_text(text_of(truth), name="reality", folder=Path()).with_seed(seed + number)
    generate(reality, out, episodes=EPISODES, workers=1, keep_rejected=True)
    searched = {name: [low, high] for name, (_, low, high) in SEARCHED.items()}
    twin = config_from_text(text_of(searched), name="twin", folder=Path())
    began = time.process_time()
    fit = fit_by_discriminator(twin, [out], seed=number, simulations=SIMULATIONS)
    cpu_s = time.process_time() - began
    result: dict[str, Any] = {
        "truth": truth, "discriminator": {}, "cpu_s": round(cpu_s, 1), "simulations": fit.simulations,
        "auc_before": fit.auc_before, "auc_after": fit.auc_after,
    }  # fmt: skip
    for name, (_, low, high) in SEARCHED.items():
        known = fit.patch.fitted.get(name)
        result["discriminator"][name] = known and entry(known.value, known.low, known.high, truth[name], high - low)
    result["posterior"] = posterior(twin, out, truth["action_delay_ms"], number)
    print(json.dumps(result), flush=True)
    return result


def entry(value: float, low: float, high: float, truth: float, span: float) -> dict[str, Any]:
    return {
        "value": value, "low": low, "high": high, "distance": abs(value - truth) / span,
        "holds": bool(low <= truth <= high), "width": (high - low) / span,
    }  # fmt: skip


def posterior(twin, out: Path, truth: float, number: int) -> dict[str, Any]:
    began = time.process_time()
    try:
        patch = calibrate_config(twin, out, seed=number, fit=("delay_ms",)).patch
    except TwinloopError as problem:
        return {"refused": str(problem)[:200]}
    delays = [estimate for name, estimate in patch.fitted.items() if name.endswith(".delay_ms")]
    if not delays:
        return {"refused": "no delay is determined"}
    value, low, high = (float(np.median([getattr(one, part) for one in delays])) for part in ("value", "low", "high"))
    span = SEARCHED["action_delay_ms"][2]
    return entry(value, low, high, truth, span) | {"cpu_s": round(time.process_time() - began, 1)}


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    rows = {}
    for name in SEARCHED:
        entries = [run["discriminator"][name] for run in runs if run["discriminator"][name]]
        rows[name] = {
            "told": len(entries), "of": len(runs),
            "distance": round(float(np.mean([one["distance"] for one in entries])), 4) if entries else None,
            "holds": sum(one["holds"] for one in entries),
            "width": round(float(np.mean([one["width"] for one in entries])), 4) if entries else None,
        }  # fmt: skip
    posteriors = [run["posterior"] for run in runs if "value" in run["posterior"]]
    return {
        "rows": rows,
        "posterior_delay": {
            "told": len(posteriors), "of": len(runs), "holds": sum(one["holds"] for one in posteriors),
            "distance": round(float(np.mean([one["distance"] for one in posteriors])), 4) if posteriors else None,
            "width": round(float(np.mean([one["width"] for one in posteriors])), 4) if posteriors else None,
        },
        "auc_before": round(float(np.mean([run["auc_before"][0] for run in runs])), 4),
        "auc_after": round(float(np.mean([run["auc_after"][0] for run in runs])), 4),
        "cpu_s": round(float(np.mean([run["cpu_s"] for run in runs])), 1),
        "simulations": SIMULATIONS, "episodes": EPISODES,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="figure", choices=list(SEEDS))
    parser.add_argument("--cells", type=int, default=6)
    parser.add_argument("--out", type=Path, default=Path("out/anchoring"))
    parser.add_argument("--into", type=Path, help="write the results to this file")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    runs, results = [], {}
    for number in range(args.cells):
        runs.append(measured(number, SEEDS[args.set], args.out / args.set / str(number)))
        results = {"set": args.set, **summary(runs), "runs": runs}
        if args.into:
            args.into.write_text(json.dumps(results, indent=1) + "\n")
    if args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
