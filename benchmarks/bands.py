"""Measure whether 90 % bands hold 90 % of the measurements at gains that the fit has not seen.

    python benchmarks/bands.py [--first 8000 9000 10000] [--servos 24] [--out benchmarks/results/bands.json]

Every servo is a simulated pendulum bench with hidden values and with effects that the fit does not have: dry friction
near standstill, a lag, backlash, and friction, load and winding resistance that differ from log to log. The twin is
fitted to two or three gains with three logs each. At one or two other gains 12 logs are replayed: a set.

Errors within a log are correlated, and logs differ. So the coverage of a set has an interval (bootstrap over its logs),
and there is a limit to what any band can reach: the same band, scaled to hold 90 % of the other logs at the very
same gain, is judged on sets of three logs and of six.

The figures are from 24 seeds each from 8000, 9000 and 10000; the method was not changed after them. Use other seeds
while working on it, and many: the mean distance from 90 % differs by up to 2 points between two groups of 36 sets.
Seeds 6000 to 6011 and 7000 to 7331 have been used.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from coverage_interval import coverage_interval

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests/, which is not installed

from tests.calibrate.made import NOISE_RAD, RATE_HZ, command, xl330
from twinloop.calibrate.band import INSIDE, replay_with_band
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.check import Checked
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.sweep import Where
from twinloop.durable import replace_file

GAINS = (50.0, 100.0, 200.0, 400.0, 800.0, 1600.0)
FITTED = {"torque_constant_nm_a": (0.25, 0.45), "resistance_ohm": (1.8, 4.5), "sag": (0.3, 1.2),
          "coulomb_nm": (0.005, 0.03), "viscous_nms_rad": (0.001, 0.01), "load_motor": (0.05, 0.2),
          "load_outside": (0.1, 0.3), "stribeck_load_motor": (0.02, 0.15), "stribeck_load_outside": (0.1, 0.4),
          "armature_kgm2": (0.0008, 0.003), "delay_ms": (0.0, 15.0), "encoder_bias_rad": (-0.02, 0.02)}  # fmt: skip
NOT_FITTED = {"stribeck_nm": (0.0, 0.03), "stribeck_speed_rad_s": (0.1, 1.0), "backlash_rad": (0.0, 0.02),
              "lag_ms": (0.0, 15.0)}  # fmt: skip
UNSTEADY = ("coulomb_nm", "load_motor", "load_outside", "resistance_ohm", "viscous_nms_rad")
UNSTEADY_SHARE = 0.12
OFF_AFTER_S = 2.0
LOW, HIGH = 0.85, 0.95
MOTIONS, REPEATS = 3, 4
DIVISIONS = 100


def record(bench: Bench, truth: dict[str, float], gain: float, rng: np.random.Generator, name: str = "") -> list[Log]:
    """One log of each motion at a gain, on different days."""
    logs = []
    for kind in range(MOTIONS):
        plan = command(kind, gain, off_after_s=OFF_AFTER_S if kind == 0 else np.inf)
        today = {name: float(np.exp(UNSTEADY_SHARE * rng.standard_normal())) for name in UNSTEADY}
        values = {f"pendulum.{name}": value * today.get(name, 1.0) for name, value in truth.items()}
        simulator = BenchSimulator(bench, [plan], tuple(values), where=Where(1))
        clean = simulator.simulate(np.array([list(values.values())]))["position"][0, 0, : len(plan), 0]
        measured = clean + rng.normal(0, NOISE_RAD, len(plan))
        columns = {
            **plan.columns, "position": measured[:, None], "speed": np.gradient(clean, 1 / RATE_HZ)[:, None],
        }  # fmt: skip
        logs.append(Log(plan.name + name, plan.time_s, columns, plan.constants))
    return logs


def one(bench: Bench, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    truth = {name: float(rng.uniform(*ends)) for name, ends in (FITTED | NOT_FITTED).items()}
    gains = [float(gain) for gain in rng.choice(GAINS, 4, replace=False)]
    fitted, unseen = gains[: 2 + seed % 2], gains[2 + seed % 2 :]
    known = tuple(log for gain in fitted for log in record(bench, truth, gain, rng))
    began = time.process_time()
    patch = calibrate(bench, Checked(known, ()), bench.fit, seed=0, where=Where(1)).patch
    seconds = time.process_time() - began
    sets = {}
    for gain in unseen:
        logs = [log for number in range(REPEATS) for log in record(bench, truth, gain, rng, f"_{number}")]
        replayed = replay_with_band(bench, logs, patch, where=Where(1))
        ratios = [
            np.abs(trace.measured["position"] - trace.simulated["position"])[:, 0]
            / (trace.high["position"] - trace.simulated["position"])[:, 0]
            for trace in replayed.traces
        ]
        shares = list(replayed.coverage_by_log["position"].values())
        interval = coverage_interval(replayed, "position", rng=rng)
        sets[f"{gain:g}"] = {
            "coverage": round(float(np.mean(shares)), 3),
            "interval": [round(end, 3) for end in interval],
            "by_log": [round(share, 3) for share in shares],
            "mae_rad": round(replayed.errors["position"].mae, 4),
            "limit": {str(size): attainable(ratios, size, rng) for size in (3, 6)},
        }
    return {"fitted": sorted(fitted), "sets": sets, "cpu_s": round(seconds, 1)}


def attainable(ratios: list[np.ndarray], size: int, rng: np.random.Generator) -> float:
    """Share of sets of `size` logs within 85 to 95 %, with the band scaled to hold 90 % of the other logs."""
    hits = []
    for _ in range(DIVISIONS):
        order = rng.permutation(len(ratios))
        factor = np.quantile(np.concatenate([ratios[log] for log in order[size:]]), 0.9)
        share = np.mean([(ratios[log] <= factor).mean() for log in order[:size]])
        hits.append(LOW <= share <= HIGH)
    return round(float(np.mean(hits)), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, nargs="+", default=[8000, 9000, 10000])
    parser.add_argument("--servos", type=int, default=24, help="servos from each first seed")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "bands.json")
    args = parser.parse_args()
    bench, servos = xl330(), {}
    for seed in (first + number for first in args.first for number in range(args.servos)):
        servos[str(seed)] = one(bench, seed)
        print(seed, servos[str(seed)], flush=True)
        text = json.dumps({**summary(servos), "servos": servos}, indent=1) + "\n"
        replace_file(args.out, text.encode(), scratch=args.out.parent)
    print(summary(servos))


def summary(servos: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Over all sets: how many are within 85 to 95 %, how many cannot be told from 90 %, mean and limit."""
    sets = [part for servo in servos.values() for part in servo["sets"].values()]
    shares = np.array([part["coverage"] for part in sets])
    wide = 1.645 * shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else 0.0
    rng = np.random.default_rng(0)
    triples = np.array([[rng.choice(part["by_log"], 3, replace=False).mean() for _ in range(100)] for part in sets])
    return {
        "sets": len(sets),
        "inside": int(((shares >= LOW) & (shares <= HIGH)).sum()),
        "with_90_in_interval": sum(part["interval"][0] <= 0.9 <= part["interval"][1] for part in sets),
        "mean_distance_from_90": round(float(np.abs(shares - INSIDE).mean()), 3),
        "mean": round(float(shares.mean()), 3),
        "mean_interval": [round(float(shares.mean() - wide), 3), round(float(shares.mean() + wide), 3)],
        "lowest": float(shares.min()),
        "highest": float(shares.max()),
        "inside_of_three_logs": round(float(((triples >= LOW) & (triples <= HIGH)).mean()), 3),
        "limit_of_three_logs": round(float(np.mean([part["limit"]["3"] for part in sets])), 3),
        "limit_of_six_logs": round(float(np.mean([part["limit"]["6"] for part in sets])), 3),
    }


if __name__ == "__main__":
    main()
