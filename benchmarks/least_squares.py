"""Compare the project's Levenberg-Marquardt (calibrate/search.py) with solvers of SciPy and MuJoCo on its own fits.

    python benchmarks/least_squares.py [--starts 3] [--only NAME] [--data DIR] [--json]

It takes about 5 CPU minutes with real logs, one minute without. The fits are those of `calibrate`, with the same
objective, scale, prior, bounds and Jacobian. Only the solver differs.

- `made pendulum`: logs of the servo bench with hidden values, all variables of the bench file. It needs no data.
- `xl330 pendulum` and `so101 arm`: real logs under `--data` (6 and 4 of them).
- `truths`: whole calibrations of `benchmarks/known_truth.py` with nine hidden values, by `downhill` and by `trf`.
- `camera`: the fit of camera rows to frames (calibrate/visual/match.py) with hidden values, against `trf`. A simulation
  is then a rendering of all scenes.

The last two report how many hidden values lie within 5 % or within their interval, instead of costs.

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
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from mujoco import minimize
from scipy import optimize

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for tests/, which is not installed

from benchmarks import known_truth
from tests.calibrate.made import commands, logs_of_truth, xl330
from tests.calibrate.visual.test_anchoring import write_config
from twinloop.calibrate import cross_validation, fit
from twinloop.calibrate.bench import Bench, load_bench, logs_of
from twinloop.calibrate.check import check
from twinloop.calibrate.logs import Log
from twinloop.calibrate.objective import Objective, robust_cost, robust_weight
from twinloop.calibrate.search import Optimum, coarse, downhill
from twinloop.calibrate.sweep import Where
from twinloop.calibrate.visual import match
from twinloop.calibrate.visual.anchor import Set
from twinloop.run.config import load_config

least_squares: Any = optimize.least_squares
"""Without its type: pyright infers that a Jacobian is a text."""
EXAMPLES = Path(__file__).parents[1] / "examples"
ROUNDS, MAX_ITERATIONS, TOLERANCE = 24, 60, 1e-3
HIDDEN = {"pendulum.resistance_ohm": 2.5, "pendulum.coulomb_nm": 0.03, "pendulum.delay_ms": 8.0,
          "pendulum.armature_kgm2": 0.0022}  # fmt: skip
HIDDEN_CAMERA = {"exposure_ev": (-1.5, 1.5), "white_balance_shift.red": (-0.2, 0.2),
                 "white_balance_shift.blue": (-0.2, 0.2), "colour_saturation": (0.6, 1.4), "read_noise": (0.5, 4.0),
                 "shot_noise": (0.005, 0.03), "defocus_px": (0.1, 1.5)}  # fmt: skip
REAL = (("xl330 pendulum", "xl330_pendulum", "xl330_bench", 6), ("so101 arm", "so101_table_cleanup", "so101_cell", 4))
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


def trf(objective: Objective, place: np.ndarray, *, most: int = MAX_ITERATIONS) -> np.ndarray:
    problem = Problem(objective)
    inside = np.clip(place, 1e-6, 1 - 1e-6)
    return least_squares(
        problem.residual, inside, problem.jacobian, bounds=(0, 1), method="trf", loss="soft_l1", x_scale="jac",
        ftol=TOLERANCE, xtol=1e-6, max_nfev=most,
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


def with_trf(objective: Objective, place: np.ndarray, *, rounds: int, on_progress: object = None) -> Optimum:
    """`downhill` by SciPy."""
    del on_progress
    end = trf(objective, place, most=2 * rounds)
    residual, jacobian = objective.linearised(end)
    cost = robust_cost(residual) + objective.prior_cost(end, np.arange(len(end)))
    return Optimum(end, residual, jacobian, float(cost))


def truths(count: int) -> dict[str, Any]:
    """Solver -> hidden values and how many were recovered, simulations and CPU seconds of `count` calibrations."""
    results = {}
    for name, solve in (("own", downhill), ("trf", with_trf)):
        simulations, began, values = 0, time.process_time(), []

        def counted(objective: Objective, places: np.ndarray, raw=Objective.raw) -> np.ndarray:
            nonlocal simulations
            simulations += len(np.atleast_2d(places))
            return raw(objective, places)

        replaced = [patch.object(module, "downhill", solve) for module in (fit, cross_validation)]
        with replaced[0], replaced[1], patch.object(Objective, "raw", counted), redirect_stdout(sys.stderr):
            for number in range(count):
                values += known_truth.one(number, variables=len(known_truth.ASKED))[1].values()
        results[name] = _recovered(values, simulations, time.process_time() - began)
    return {"starts": count, "solvers": results}


def camera(count: int) -> dict[str, Any]:
    """The same for `count` hidden cameras."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        hidden, twin = (Set(load_config(write_config(Path(folder), seed)), "front", scenes=8) for seed in (7, 0))
    runs: dict[str, list[Any]] = {"own": [], "trf": []}
    simulations, seconds = dict.fromkeys(runs, 0), dict.fromkeys(runs, 0.0)
    for _ in range(count):
        hidden_values = {column: float(rng.uniform(*ends)) for column, ends in HIDDEN_CAMERA.items()}
        real = hidden.develop(hidden_values, seed=11)
        for name in runs:

            def develop(values: dict[str, float], name=name) -> list[np.ndarray]:
                simulations[name] += 1
                return twin.develop(values)

            began = time.process_time()
            with patch.object(match, "descend", match.descend if name == "own" else trf_camera):
                estimates = match.match(real, develop, rng=np.random.default_rng(1)).fitted
            seconds[name] += time.process_time() - began
            runs[name] += [
                {"recovered": estimate.low <= hidden_values[column] <= estimate.high
                 or abs(estimate.value / hidden_values[column] - 1) < 0.05}
                for column, estimate in estimates.items()
            ]  # fmt: skip
    solvers = {name: _recovered(values, simulations[name], seconds[name]) for name, values in runs.items()}
    return {"starts": count, "solvers": solvers}


def trf_camera(
    place: np.ndarray, shown: np.ndarray, target: np.ndarray, weight: np.ndarray, develop: Any, told: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`match.descend` by SciPy, on whitened features."""
    whiten = np.linalg.cholesky(weight[np.ix_(told, told)]).T
    rendered = {place[told].tobytes(): shown}

    def whole(part: np.ndarray) -> np.ndarray:
        moved = place.copy()
        moved[told] = part
        return moved

    def features_at(part: np.ndarray) -> np.ndarray:
        if part.tobytes() not in rendered:
            rendered[part.tobytes()] = match.features_of(whole(part), develop)
        return rendered[part.tobytes()]

    def residual(part: np.ndarray) -> np.ndarray:
        return whiten @ np.nan_to_num(match.middle(features_at(part)) - target)[told]

    def jacobian(part: np.ndarray) -> np.ndarray:
        return whiten @ match.slope_at(whole(part), features_at(part), develop, told)[np.ix_(told, told)]

    low, high = match.LOW[told], match.HIGH[told]
    end = least_squares(
        residual, np.clip(place[told], low + 1e-6, high - 1e-6), jacobian, bounds=(low, high),
        x_scale=match.STEPS[told], ftol=1 - match.PROGRESS, max_nfev=match.ROUNDS,
    ).x  # fmt: skip
    place, shown = whole(end), features_at(end)
    return place, shown, match.slope_at(place, shown, develop, told)


def _recovered(values: list[Any], simulations: int, cpu_s: float) -> dict[str, Any]:
    return {
        "hidden": len(values), "recovered": sum(bool(value.get("recovered")) for value in values),
        "simulations": simulations, "cpu_s": round(cpu_s, 1),
    }  # fmt: skip


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
    cases: dict[str, Callable[[], dict[str, Any]]] = {
        "made pendulum": lambda: compare(made_pendulum(), args.starts),
        "truths": lambda: truths(2 * args.starts),
        "camera": lambda: camera(args.starts + 1),
    }
    if args.data is not None:
        for name, folder, file, count in REAL:
            cases[name] = lambda folder=folder, file=file, count=count: compare(
                real_logs(args.data, folder, file, count), args.starts
            )
    if args.only is not None and args.only not in cases:
        parser.error(f"--only {args.only}: valid are {', '.join(cases)}; real logs need --data")
    results = {name: case() for name, case in cases.items() if args.only in (None, name)}
    for name, result in results.items():
        print(f"{name}, {result['starts']} runs:")
        for solver, row in result["solvers"].items():
            print(f"  {solver:7} {', '.join(f'{key} {value}' for key, value in row.items())}")
    if args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
