"""Compare the posterior of `calibrate` with neural posterior estimation (sbi) on a joint whose truth is known.

    python benchmarks/posterior.py [--truths 20] [--simulations 2000] [--out benchmarks/results/posterior.json]

Logs of the servo bench are made with hidden values (the model is right, the sensor noise is white), and both methods
give a 90 % interval of each. Reported: the share of truths in their intervals, the width of the intervals as a share of
the prior's range, simulations (one parameter set over all six logs) and CPU seconds.

- `own`: `calibrate` on the logs of one truth after the other.
- `npe N`: a neural posterior (a spline flow) trained once on N simulations drawn from the prior, and asked about every
  truth. It sees the leading principal components of the logged positions, with sensor noise. Its prior is the range
  that truths come from, which `calibrate` does not know.

sbi is not a dependency of this project. Without it the script says so and ends with exit code 0.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests/, which is not installed

from benchmarks.known_truth import ASKED, commands
from tests.calibrate.made import NOISE_RAD, logs_of_truth, xl330
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.check import check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.objective import Objective
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.sweep import Where
from twinloop.durable import replace_file

HIDDEN = ("pendulum.resistance_ohm", "pendulum.coulomb_nm", "pendulum.load_outside", "pendulum.armature_kgm2",
          "pendulum.delay_ms")  # fmt: skip
FIRST_TRUTH = 7000
COMPONENTS, EVERY, DRAWS = 40, 4, 2000
BATCH = 128


def prior_ranges() -> np.ndarray:
    """(variables, 2) low and high of the truths."""
    return np.array([ASKED[name] for name in HIDDEN])


def truth_of(number: int) -> dict[str, float]:
    low, high = prior_ranges().T
    values = np.random.default_rng(FIRST_TRUTH + number).uniform(low, high)
    return dict(zip(HIDDEN, map(float, values), strict=True))


def own(bench: Bench, truths: int) -> dict[str, Any]:
    """Intervals of `calibrate`, one truth after the other."""
    simulations, cases, began = 0, [], time.process_time()

    def counted(objective: Objective, places: np.ndarray, raw=Objective.raw) -> np.ndarray:
        nonlocal simulations
        simulations += len(np.atleast_2d(places))
        return raw(objective, places)

    with patch.object(Objective, "raw", counted):
        for number in range(truths):
            truth = truth_of(number)
            logs = logs_of_truth(bench, truth, seed=number, asked=commands())
            fitted = calibrate(bench, check(bench, logs), list(HIDDEN), seed=number, where=Where(1)).patch.fitted
            cases += [(name, truth[name], fitted[name].low, fitted[name].high) for name in HIDDEN if name in fitted]
            print(f"own: truth {number}, {time.process_time() - began:.0f} CPU s", flush=True)
    return summary(cases, truths, simulations, time.process_time() - began)


def npe(bench: Bench, truths: int, count: int) -> dict[str, Any]:
    """Intervals of a neural posterior that was trained on `count` simulations."""
    import torch
    from sbi.inference import NPE  # pyright: ignore[reportMissingImports]
    from sbi.utils import BoxUniform  # pyright: ignore[reportMissingImports]

    torch.manual_seed(0)
    torch.set_num_threads(1)
    began = time.process_time()
    low, high = prior_ranges().T
    rng = np.random.default_rng(0)
    values = rng.uniform(low, high, (count, len(HIDDEN)))
    simulator = BenchSimulator(bench, commands(), HIDDEN, where=Where(1), decoupled=True)
    rows = np.concatenate([_positions(simulator, values[k : k + BATCH]) for k in range(0, count, BATCH)])
    rows += rng.normal(0, NOISE_RAD, rows.shape)
    mean = rows.mean(axis=0)
    _, _, axes = np.linalg.svd((rows - mean)[:2000], full_matrices=False)
    axes = axes[:COMPONENTS]

    def features(observed: np.ndarray) -> "torch.Tensor":
        return torch.as_tensor((observed - mean) @ axes.T, dtype=torch.float32)

    # Scaled to 0..1, so that the network sees all variables alike.
    unit = torch.as_tensor((values - low) / (high - low), dtype=torch.float32)
    prior = BoxUniform(torch.zeros(len(HIDDEN)), torch.ones(len(HIDDEN)))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # sbi writes logs where it runs
        inference = NPE(prior=prior, density_estimator="nsf", show_progress_bars=False)
        inference.append_simulations(unit, features(rows)).train()
    posterior = inference.build_posterior()
    trained_s = time.process_time() - began
    cases = []
    for number in range(truths):
        truth = truth_of(number)
        logs = logs_of_truth(bench, truth, seed=number, asked=commands())
        observed = np.concatenate([log.columns["position"][::EVERY, 0] for log in logs])
        draws = posterior.sample((DRAWS,), x=features(observed[None]), show_progress_bars=False).numpy()
        ends = low + np.quantile(draws, [0.05, 0.95], axis=0) * (high - low)
        cases += [(name, truth[name], ends[0, k], ends[1, k]) for k, name in enumerate(HIDDEN)]
    result = summary(cases, truths, count, time.process_time() - began)
    return result | {"cpu_s_before_the_first_truth": round(trained_s, 1)}


def _positions(simulator: BenchSimulator, values: np.ndarray) -> np.ndarray:
    """(sets, every fourth position of all logs)."""
    rows = simulator.simulate(values)["position"]
    parts = [rows[:, place, : track.frames : EVERY, 0] for place, track in enumerate(simulator.tracks)]
    return np.concatenate(parts, axis=1)


def summary(
    cases: list[tuple[str, float, float, float]], truths: int, simulations: int, cpu_s: float
) -> dict[str, Any]:
    size = {name: high - low for name, (low, high) in ASKED.items()}
    inside = {name: [low <= value <= high for n, value, low, high in cases if n == name] for name in HIDDEN}
    width = {name: [(high - low) / size[name] for n, _, low, high in cases if n == name] for name in HIDDEN}
    every = [hit for hits in inside.values() for hit in hits]
    return {
        "truths": truths,
        "intervals": len(every),
        "coverage": round(float(np.mean(every)), 3),
        "coverage_by_variable": {name: round(float(np.mean(hits)), 2) for name, hits in inside.items() if hits},
        "median_width_of_prior": {name: round(float(np.median(w)), 4) for name, w in width.items() if w},
        "simulations": simulations,
        "cpu_s": round(cpu_s, 1),
        "cpu_s_per_truth": round(cpu_s / truths, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truths", type=int, default=20)
    parser.add_argument("--simulations", type=int, nargs="+", default=[2000])
    parser.add_argument("--only", choices=("own", "npe"), help="run one of the methods")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "posterior.json")
    args = parser.parse_args()
    results: dict[str, Any] = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
    bench = xl330()
    if args.only in (None, "npe"):
        try:
            import sbi  # pyright: ignore[reportMissingImports]

            results["sbi"] = sbi.__version__
        except ImportError:
            print("skipped npe: sbi is not installed; run `pip install sbi` in an environment of your own")
            args.simulations = []
        for count in args.simulations:
            results[f"npe {count}"] = npe(bench, args.truths, count)
            print(f"npe {count}: {results[f'npe {count}']}", flush=True)
    if args.only in (None, "own"):
        results["own"] = own(bench, args.truths)
        print(f"own: {results['own']}", flush=True)
    replace_file(args.out, (json.dumps(results, indent=1) + "\n").encode(), scratch=args.out.parent)


if __name__ == "__main__":
    main()
