"""Measure whether calibration recovers known values: logs of the twin with hidden values, fitted as if they were real.

    python benchmarks/known_truth.py [--truths 20] [--variables 5] [--out benchmarks/results/known_truth.json]

For every truth: fit variables are chosen at random, their values are drawn within their bounds, six logs of the bench
are simulated (two gains, three motions, the motor off at the end of one), sensor noise is added, and `calibrate`
runs. A variable is recovered if its estimate is within 5 % of the truth, or the truth is within the 90 % interval. A
variable that is reported as unknown is counted separately. `--variables 9` hides and fits all. Truths that are in the
file already are not repeated.
"""

import argparse
import json
import multiprocessing
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.calibrate.made import RATE_HZ, command, logs_of_truth, xl330
from twinloop.calibrate.check import check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.logs import Log
from twinloop.calibrate.sweep import Where
from twinloop.durable import replace_file

ASKED = {
    # fit variable -> range of its truths
    "pendulum.torque_constant_nm_a": (0.25, 0.45),
    "pendulum.resistance_ohm": (1.8, 4.5),
    "pendulum.coulomb_nm": (0.005, 0.04),
    "pendulum.viscous_nms_rad": (0.001, 0.01),
    "pendulum.load_outside": (0.05, 0.25),
    "pendulum.armature_kgm2": (0.0008, 0.003),
    "pendulum.delay_ms": (0.0, 15.0),
    "pendulum.encoder_bias_rad": (-0.03, 0.03),
    "pendulum.backlash_rad": (0.0, 0.01),
}


SECONDS, OFF_AFTER_S = 2.0, 1.4
Outcome = dict[str, float | bool | str]


def commands() -> list[Log]:
    return [
        command(kind, kp, off_after_s=OFF_AFTER_S if kind == 0 else np.inf).select(slice(0, int(SECONDS * RATE_HZ)))
        for kp in (100, 400)
        for kind in (0, 1, 2)
    ]


def one(number: int, *, variables: int) -> tuple[int, dict[str, Outcome]]:
    bench, rng = xl330(), np.random.default_rng(1000 + number)
    drawn = set(rng.choice(len(ASKED), variables, replace=False).tolist())
    truth = {name: float(rng.uniform(*ends)) for k, (name, ends) in enumerate(ASKED.items()) if k in drawn}
    logs = logs_of_truth(bench, truth, seed=number, asked=commands())
    began = time.process_time()
    fit = calibrate(bench, check(bench, logs), list(truth), seed=number, where=Where(1))
    result: dict[str, Outcome] = {}
    for name, value in truth.items():
        if name in fit.patch.unknown:
            result[name] = {"truth": value, "unknown": fit.patch.unknown[name].reason}
            continue
        estimate = fit.patch.fitted[name]
        near = abs(estimate.value - value) <= 0.05 * abs(value)
        within = estimate.low <= value <= estimate.high
        result[name] = {
            "truth": value, "value": estimate.value, "low": estimate.low, "high": estimate.high,
            "recovered": near or within, "near": near, "within": within,
        }  # fmt: skip
    missed = [name for name, outcome in result.items() if outcome.get("recovered") is False]
    unknown = [name for name, outcome in result.items() if "unknown" in outcome]
    used = time.process_time() - began
    print(f"truth {number}: missed {missed or 'none'}, unknown {unknown or 'none'}, {used:.0f} s", flush=True)
    return number, result


def summary(runs: dict[str, dict[str, Outcome]], variables: int) -> dict[str, object]:
    estimated = [outcome for run in runs.values() for outcome in run.values() if "unknown" not in outcome]
    return {
        "truths": len(runs),
        "variables": variables,
        "hidden": sum(len(run) for run in runs.values()),
        "told": len(estimated),
        "recovered": sum(bool(outcome["recovered"]) for outcome in estimated),
        "near": sum(bool(outcome["near"]) for outcome in estimated),
        "within_interval": sum(bool(outcome["within"]) for outcome in estimated),
        "unknown": sum("unknown" in outcome for run in runs.values() for outcome in run.values()),
        "whole_truths": sum(all(outcome.get("recovered", True) for outcome in run.values()) for run in runs.values()),
        "runs": dict(sorted(runs.items(), key=lambda item: int(item[0]))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truths", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--variables", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "known_truth.json")
    args = parser.parse_args()
    runs: dict[str, dict[str, Outcome]] = {}
    if args.out.exists():
        before = json.loads(args.out.read_text(encoding="utf-8"))
        if before["variables"] != args.variables:
            parser.error(f"{args.out} has {before['variables']} variables per truth; give another --out")
        runs = before["runs"]
    left = [number for number in range(args.first, args.first + args.truths) if str(number) not in runs]
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        for number, result in pool.imap_unordered(partial(one, variables=args.variables), left):
            runs[str(number)] = result
            text = json.dumps(summary(runs, args.variables), indent=1) + "\n"
            replace_file(args.out, text.encode(), scratch=args.out.parent)
    print({key: value for key, value in summary(runs, args.variables).items() if key != "runs"})


if __name__ == "__main__":
    main()
