"""Compare the project's Levenberg-Marquardt (calibrate/search.py) with solvers of SciPy and MuJoCo on its own fits.

    python benchmarks/least_squares.py [--starts 3] [--only NAME] [--data DIR] [--json]

The fits are those of `calibrate`: the same objective, scale, prior, bounds and Jacobian, so only the solver differs.

- `made pendulum`: logs of the servo bench with hidden values, all variables of the bench file. It needs no data.
- `xl330 pendulum` and `so101 arm`: real logs under `--data` (6 and 4 of them).

Each solver begins at the values of the bench file and at some of the Sobol points that `calibrate` tries.

- `own`: `downhill` with its 24 rounds.
- `trf`: `scipy.optimize.least_squares` with bounds and the loss `soft_l1`, which is the same robust cost.
- `lm`: MINPACK through SciPy. It knows neither bounds nor robust losses, so places are mapped by a sine and residuals
  to the square root of their cost.
- `mujoco`: `mujoco.minimize.least_squares`, the solver of `mujoco.sysid`. The other one that it offers is SciPy's.

Solvers stop when an iteration (own: three rounds; mujoco: three iterations) improves the cost by less than 1e-3, or
after `MAX_ITERATIONS`.

A simulation is one parameter set over all logs of the fit. `batches` counts the calls of the simulator: sets of one
batch run in parallel. Costs are compared with the lowest cost that any solver reached from any start.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mujoco import minimize
from scipy import optimize

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for tests/, which is not installed

from tests.calibrate.made import commands, logs_of_truth, xl330
from twinloop.calibrate.bench import Bench, load_bench, logs_of
from twinloop.calibrate.check import check
from twinloop.calibrate.logs import Log
from twinloop.calibrate.objective import Objective, robust_cost, robust_weight
from twinloop.calibrate.search import coarse, downhill
from twinloop.calibrate.sweep import Where

least_squares: Any = optimize.least_squares
"""Without its type: pyright infers that a Jacobian is a text."""
EXAMPLES = Path(__file__).parents[1] / "examples"
ROUNDS, MAX_ITERATIONS, TOLERANCE = 24, 60, 1e-3
HIDDEN = {"pendulum.resistance_ohm": 2.5, "pendulum.coulomb_nm": 0.03, "pendulum.delay_ms": 8.0,
          "pendulum.armature_kgm2": 0.0022}  # fmt: skip
NEAR = 1.01
"""A cost within 1 % of the lowest one counts as reached."""


class CountedObjective(Objective):
    """An objective that counts its simulations."""

    simulations = batches = 0

    def raw(self, places: np.ndarray) -> np.ndarray:
        self.simulations += len(np.atleast_2d(places))
        self.batches += 1
        return super().raw(places)


def cost_at(objective: Objective, place: np.ndarray) -> float:
    residual = Objective.raw(objective, place)[0] / objective.scale[objective.channel_of]
    return float(robust_cost(residual) + objective.prior_cost(place, np.arange(len(place))))


def own(objective: Objective, place: np.ndarray) -> np.ndarray:
    return downhill(objective, place, rounds=ROUNDS).place


class Problem:
    """Residuals with the prior as further rows, and their Jacobian, for solvers that take one place at a time."""

    def __init__(self, objective: Objective):
        self.objective, self._start = objective, objective.start
        self._weight = np.sqrt(objective.prior_weight)

    def residual(self, place: np.ndarray) -> np.ndarray:
        return np.concatenate([self.objective.residuals(place)[0], self._weight * (place - self._start)])

    def jacobian(self, place: np.ndarray) -> np.ndarray:
        _, slopes = self.objective.linearised(place)
        return np.concatenate([slopes, self._weight * np.eye(len(place))])


def trf(objective: Objective, place: np.ndarray) -> np.ndarray:
    problem = Problem(objective)
    inside = np.clip(place, 1e-6, 1 - 1e-6)
    return least_squares(
        problem.residual, inside, problem.jacobian, bounds=(0, 1), method="trf", loss="soft_l1", x_scale="jac",
        ftol=TOLERANCE, xtol=1e-6, max_nfev=MAX_ITERATIONS,
    ).x  # fmt: skip


def lm(objective: Objective, place: np.ndarray) -> np.ndarray:
    problem = Problem(objective)

    def place_of(angle: np.ndarray) -> np.ndarray:
        return 0.5 + 0.5 * np.sin(angle)

    def residual(angle: np.ndarray) -> np.ndarray:
        rows = problem.residual(place_of(angle))
        return np.sign(rows) * np.sqrt(2 * (np.sqrt(1 + rows**2) - 1))

    def jacobian(angle: np.ndarray) -> np.ndarray:
        rows = problem.residual(place_of(angle))
        root = np.sqrt(2 * (np.sqrt(1 + rows**2) - 1))
        chain = np.where(root > 1e-9, np.abs(rows) * robust_weight(rows) / np.maximum(root, 1e-9), 1.0)
        return chain[:, None] * problem.jacobian(place_of(angle)) * (0.5 * np.cos(angle))

    angle = np.arcsin(np.clip(2 * place - 1, -0.98, 0.98))  # at a bound the slope of the sine is zero
    end = least_squares(residual, angle, jacobian, method="lm", ftol=TOLERANCE, xtol=1e-6, max_nfev=MAX_ITERATIONS)
    return place_of(end.x)


class PseudoHuber(minimize.Norm):
    """Half the robust cost of the project."""

    def value(self, r: np.ndarray) -> np.float64:
        return np.float64(robust_cost(r.ravel()) / 2)

    def grad_hess(self, r: np.ndarray, proj: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weight = robust_weight(r)
        return proj.T @ (weight * r), proj.T @ (weight * proj)


class _Converged(Exception):
    """The last three iterations of the solver improved the cost by less than the tolerance."""


def mujoco(objective: Objective, place: np.ndarray) -> np.ndarray:
    problem, best = Problem(objective), [place]

    def residual(columns: np.ndarray) -> np.ndarray:
        rows = objective.residuals(columns.T)
        prior = np.sqrt(objective.prior_weight) * (columns.T - objective.start)
        return np.concatenate([rows, prior], axis=1).T

    def after_iteration(trace: list[minimize.IterLog]) -> None:
        best[0] = trace[-1].candidate.ravel()
        costs = [float(log.objective) for log in trace]
        if len(costs) > 3 and costs[-1] > costs[-4] * (1 - TOLERANCE):
            raise _Converged

    bounds = [np.zeros((len(place), 1)), np.ones((len(place), 1))]
    try:
        end, _ = minimize.least_squares(
            place[:, None], residual, bounds, lambda x, _r: problem.jacobian(x.ravel()), norm=PseudoHuber(),
            max_iter=MAX_ITERATIONS, verbose=minimize.Verbosity.SILENT, iter_callback=after_iteration,
        )  # fmt: skip
    except _Converged:
        return best[0]
    return end.ravel()


SOLVERS: dict[str, Callable[[Objective, np.ndarray], np.ndarray]] = {"own": own, "trf": trf, "lm": lm, "mujoco": mujoco}


@dataclass(frozen=True)
class FitCase:
    """A bench with logs and the variables to fit."""

    bench: Bench
    logs: Sequence[Log]
    names: tuple[str, ...]


def made_pendulum() -> FitCase:
    bench = xl330()
    return FitCase(bench, logs_of_truth(bench, HIDDEN, seed=3, asked=commands()), bench.fit)


def real_logs(data: Path, folder: str, file: str, count: int) -> FitCase:
    bench = load_bench(EXAMPLES / f"{file}.yaml")
    logs = check(bench, logs_of(bench, data / folder)).logs
    return FitCase(bench, logs[:: max(1, len(logs) // count)][:count], bench.fit)


def compare(case: FitCase, starts: int) -> dict[str, Any]:
    """Solver -> costs relative to the lowest, simulations, batches and CPU seconds, means over the starts."""
    scout = Objective(case.bench, case.logs, case.names, where=Where(1))
    places = [scout.start, *coarse(scout, seed=0, points=16, best=max(starts - 1, 1))][:starts]
    # As in `calibrate`: residuals are weighed by what is left after a first descent.
    scout.rescale(scout.raw(downhill(scout, scout.start, rounds=ROUNDS // 3).place)[0])
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in SOLVERS}
    for place in places:
        for name, solve in SOLVERS.items():
            objective = CountedObjective(case.bench, case.logs, case.names, where=Where(1))
            objective.scale = scout.scale.copy()
            began = time.process_time()
            end = np.clip(solve(objective, place.copy()), 0, 1)
            runs[name].append({
                "cost": cost_at(objective, end), "simulations": objective.simulations, "batches": objective.batches,
                "cpu_s": time.process_time() - began,
            })  # fmt: skip
            print(f"  {name}: {runs[name][-1]}", file=sys.stderr, flush=True)
    lowest = min(run["cost"] for solver in runs.values() for run in solver)
    return {
        "variables": len(case.names),
        "logs": len(case.logs),
        "starts": len(places),
        "solvers": {
            name: {
                "relative_costs": [round(run["cost"] / lowest, 4) for run in solver],
                "reached": sum(run["cost"] <= NEAR * lowest for run in solver),
                **{key: round(float(np.mean([run[key] for run in solver])), 1)
                   for key in ("simulations", "batches", "cpu_s")},
            }
            for name, solver in runs.items()
        },
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--only", help="name of one fit")
    parser.add_argument("--data", type=Path, help="folder with xl330_pendulum and so101_table_cleanup")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    cases: dict[str, Callable[[], FitCase]] = {"made pendulum": made_pendulum}
    if args.data is not None:
        cases["xl330 pendulum"] = lambda: real_logs(args.data, "xl330_pendulum", "xl330_bench", 6)
        cases["so101 arm"] = lambda: real_logs(args.data, "so101_table_cleanup", "so101_cell", 4)
    if args.only is not None and args.only not in cases:
        parser.error(f"--only {args.only}: valid are {', '.join(cases)}; real logs need --data")
    results = {name: compare(case(), args.starts) for name, case in cases.items() if args.only in (None, name)}
    if args.json:
        print(json.dumps(results))
        return
    for name, result in results.items():
        print(f"{name}: {result['variables']} variables, {result['logs']} logs, {result['starts']} starts")
        for solver, row in result["solvers"].items():
            costs = ", ".join(f"{cost:.3f}" for cost in row["relative_costs"])
            print(
                f"  {solver:7} lowest cost reached {row['reached']} times (relative costs {costs}); "
                f"{row['simulations']:.0f} simulations in {row['batches']:.0f} batches, {row['cpu_s']:.1f} CPU s"
            )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
