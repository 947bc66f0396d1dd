"""Measure whether 90 % bands hold 90 % of the measurements at gains that the fit has not seen.

    python benchmarks/bands.py [--first 5000] [--servos 8] [--out benchmarks/results/bands.json]

Every servo is a simulated pendulum bench with hidden values and with effects that the fit does not have: dry friction
near standstill, a lag, backlash, and friction, load and winding resistance that differ from log to log. It is logged at
four gains from 50 to 1600 with three motions each. The twin is fitted to two or three of the gains, and the logs of the
others are replayed. The figures are from seeds from 5000, which were run once; use others while working on the method.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests/, which is not installed

from tests.calibrate.made import NOISE_RAD, RATE_HZ, command, xl330
from twinloop.calibrate.band import replay_with_band
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


def logs_of_servo(bench: Bench, rng: np.random.Generator) -> tuple[list[Log], np.ndarray]:
    """Logs at four gains, and the gains in random order."""
    truth = {name: float(rng.uniform(*ends)) for name, ends in (FITTED | NOT_FITTED).items()}
    gains, logs = rng.choice(GAINS, 4, replace=False), []
    for gain in gains:
        for kind in range(3):
            plan = command(kind, float(gain), off_after_s=OFF_AFTER_S if kind == 0 else np.inf)
            today = {name: float(np.exp(UNSTEADY_SHARE * rng.standard_normal())) for name in UNSTEADY}
            values = {f"pendulum.{name}": value * today.get(name, 1.0) for name, value in truth.items()}
            simulator = BenchSimulator(bench, [plan], tuple(values), where=Where(1))
            clean = simulator.simulate(np.array([list(values.values())]))["position"][0, 0, : len(plan), 0]
            measured = clean + rng.normal(0, NOISE_RAD, len(plan))
            speed = np.gradient(clean, 1 / RATE_HZ)
            columns = {**plan.columns, "position": measured[:, None], "speed": speed[:, None]}
            logs.append(Log(plan.name, plan.time_s, columns, plan.constants))
    return logs, gains


def one(bench: Bench, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    logs, gains = logs_of_servo(bench, rng)
    fitted = set(gains[: 2 + seed % 2])
    known = tuple(log for log in logs if log.constants["kp"] in fitted)
    began = time.process_time()
    patch = calibrate(bench, Checked(known, ()), bench.fit, seed=0, where=Where(1)).patch
    seconds = time.process_time() - began
    coverage, mae = {}, {}
    for gain in gains[2 + seed % 2 :]:
        unseen = [log for log in logs if log.constants["kp"] == gain]
        replayed = replay_with_band(bench, unseen, patch, where=Where(1))
        coverage[f"{gain:g}"] = round(replayed.coverage["position"], 3)
        mae[f"{gain:g}"] = round(replayed.errors["position"].mae, 4)
    return {"fitted": sorted(fitted), "coverage": coverage, "mae_rad": mae, "cpu_s": round(seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=5000)
    parser.add_argument("--servos", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "bands.json")
    args = parser.parse_args()
    bench, servos = xl330(), {}
    for seed in range(args.first, args.first + args.servos):
        servos[str(seed)] = one(bench, seed)
        print(seed, servos[str(seed)], flush=True)
        text = json.dumps({**summary(servos), "servos": servos}, indent=1) + "\n"
        replace_file(args.out, text.encode(), scratch=args.out.parent)
    print(summary(servos))


def summary(servos: dict[str, dict[str, Any]]) -> dict[str, float]:
    shares = [share for servo in servos.values() for share in servo["coverage"].values()]
    return {
        "sets": len(shares),
        "inside": sum(LOW <= share <= HIGH for share in shares),
        "mean": round(float(np.mean(shares)), 3),
        "lowest": min(shares),
        "highest": max(shares),
    }


if __name__ == "__main__":
    main()
