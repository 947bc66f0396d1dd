"""Is a truth that we know recovered? Logs from the twin with hidden values, fitted as if they were real.

    python benchmarks/known_truth.py [--truths 20] [--out benchmarks/results/known_truth.json]

For every truth: values drawn across the bounds, six logs of the bench (two gains, three motions, the motor off at the
end of one), sensor noise, then `calibrate`. A knob is recovered if it is within 5 % of its truth or its truth within
its stated 90 % interval; a knob that is called unknown is counted apart.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.calibrate.made import logs_of_truth, xl330
from twinloop.calibrate.check import check
from twinloop.calibrate.fit import calibrate

ASKED = {
    # knob -> where its truths lie
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


def one(number: int, *, threads: int) -> dict[str, dict[str, float | bool | str]]:
    bench, rng = xl330(), np.random.default_rng(1000 + number)
    truth = {name: float(rng.uniform(*ends)) for name, ends in ASKED.items()}
    logs = logs_of_truth(bench, truth, seed=number)
    fit = calibrate(bench, check(bench, logs), list(ASKED), seed=number, threads=threads)
    result: dict[str, dict[str, float | bool | str]] = {}
    for name, value in truth.items():
        if name in fit.patch.unknown:
            result[name] = {"truth": value, "unknown": fit.patch.unknown[name].reason}
            continue
        found = fit.patch.fitted[name]
        near = abs(found.value - value) <= 0.05 * abs(value)
        within = found.low <= value <= found.high
        result[name] = {
            "truth": value, "value": found.value, "low": found.low, "high": found.high, "recovered": near or within,
            "near": near, "within": within,
        }  # fmt: skip
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truths", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "known_truth.json")
    args = parser.parse_args()
    began, runs = time.perf_counter(), []
    for number in range(args.truths):
        runs.append(one(number, threads=args.threads))
        missed = [name for name, each in runs[-1].items() if each.get("recovered") is False]
        unknown = [name for name, each in runs[-1].items() if "unknown" in each]
        print(f"truth {number}: missed {missed or 'none'}, unknown {unknown or 'none'}", flush=True)
    told = [each for run in runs for each in run.values() if "unknown" not in each]
    summary = {
        "truths": len(runs),
        "knobs": len(ASKED),
        "told": len(told),
        "recovered": sum(bool(each["recovered"]) for each in told),
        "within_interval": sum(bool(each["within"]) for each in told),
        "unknown": sum("unknown" in each for run in runs for each in run.values()),
        "seconds": round(time.perf_counter() - began, 1),
        "runs": runs,
    }
    args.out.write_text(json.dumps(summary, indent=1) + "\n")
    print({key: value for key, value in summary.items() if key != "runs"})


if __name__ == "__main__":
    main()
