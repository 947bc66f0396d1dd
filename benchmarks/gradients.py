"""Measure what slopes cost and save in a fit: simulations and CPU seconds until the same optimum is reached.

    python benchmarks/gradients.py [--starts 2] [--data DIR] [--only NAME] [--out benchmarks/results/gradients.json]

The fits are those of `benchmarks/least_squares.py`: a servo bench with hidden values, and with `--data` the real XL330
and SO-101 logs. Every method gets the same objective, bounds, prior and starts.

- `every round`: finite differences in every round of `downhill`: one simulation for each variable of a joint.
- `broyden C`: the slopes are updated from the steps that were simulated anyway (Broyden), and finite differences are
  taken again where they missed more than the share C of a step's change.
- `no slopes`: Nelder-Mead of SciPy, with as many simulations as `--most` allows. Servo bench only.

`slopes`: CPU time of a Jacobian by finite differences, in simulations of one parameter set. All variables are moved in
one batch, so it costs less than one simulation for each. Sensitivities in closed form could save no more than this.

`engine`: CPU time of one `mjd_transitionFD` in physics steps. Sensitivities that are propagated along a trajectory need
its matrices at every step, and the direct effect of every variable on every step. So they cost this many steps plus one
for each variable, where finite differences of whole trajectories cost one for each variable plus one.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from scipy import optimize

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for tests/, which is not installed

from benchmarks.least_squares import (
    NEAR,
    REAL,
    ROUNDS,
    CountedObjective,
    FitCase,
    cost_at,
    made_pendulum,
    real_logs,
)
from twinloop.calibrate.bench import load_bench
from twinloop.calibrate.objective import Objective, robust_cost
from twinloop.calibrate.search import coarse, downhill
from twinloop.calibrate.sweep import Where
from twinloop.durable import replace_file

EXAMPLES = Path(__file__).parents[1] / "examples"
CURVED = (0.1, 0.3, 0.6)
STEPS, REPEATS = 2000, 5


class UpdatedSlopes(CountedObjective):
    """An objective whose slopes follow from the steps that were simulated anyway, where these were predicted well.

    Attributes:
        curved: share of a step's change of the residuals that the slopes may have missed. Above it they are computed
            again by finite differences.
    """

    curved = 0.0
    _evaluated: tuple[np.ndarray, np.ndarray] | None = None
    _last: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def residuals(self, places: np.ndarray) -> np.ndarray:
        outcome = super().residuals(places)
        self._evaluated = np.atleast_2d(places), outcome
        return outcome

    def linearised(self, place: np.ndarray, *, step: float = 2e-3) -> tuple[np.ndarray, np.ndarray]:
        if self._last is None or (slopes := self._updated(place, *self._last)) is None:
            residual, jacobian = super().linearised(place, step=step)
        else:
            residual, jacobian = slopes
        self._last = place.copy(), residual, jacobian
        return residual, jacobian

    def _updated(
        self, place: np.ndarray, before: np.ndarray, residual: np.ndarray, jacobian: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Residuals and Broyden updates of the slopes, block by block; None if a block was predicted badly."""
        if self._evaluated is None:
            return None
        places, outcome = self._evaluated
        residual, jacobian = residual.copy(), jacobian.copy()
        for block in self.blocks:
            own, rows = block.variables, self.of_block(block)
            change = place[own] - before[own]
            if not change.any():
                continue
            same = np.flatnonzero((places[:, own] == place[own]).all(axis=1))
            if not len(same):
                return None
            slope, moved = jacobian[np.ix_(rows, own)], outcome[same[0], rows] - residual[rows]
            missed = moved - slope @ change
            slow = robust_cost(outcome[same[0], rows]) > 0.99 * robust_cost(residual[rows])
            if slow or np.linalg.norm(missed) > self.curved * np.linalg.norm(moved):
                return None
            jacobian[np.ix_(rows, own)] = slope + np.outer(missed, change) / float(change @ change)
            residual[rows] = outcome[same[0], rows]
        return residual, jacobian


def by_slopes(objective: Objective, place: np.ndarray) -> np.ndarray:
    return downhill(objective, place, rounds=ROUNDS).place


def without_slopes(objective: Objective, place: np.ndarray, *, most: int) -> np.ndarray:
    def cost(at: np.ndarray) -> float:
        at = np.clip(at, 0, 1)
        return float(robust_cost(objective.residuals(at)[0]) + objective.prior_cost(at, np.arange(len(at))))

    end = optimize.minimize(
        cost, place, method="Nelder-Mead", bounds=[(0, 1)] * len(place), options={"maxfev": most, "adaptive": True}
    )
    return np.clip(end.x, 0, 1)


@dataclass(frozen=True)
class Method:
    """A solver. `curved`: see `UpdatedSlopes`; 0 takes finite differences in every round."""

    solve: Callable[[Objective, np.ndarray], np.ndarray]
    curved: float = 0.0


def methods(most: int) -> dict[str, Method]:
    slopes = {"every round": Method(by_slopes)}
    slopes |= {f"broyden {curved:g}": Method(by_slopes, curved) for curved in CURVED}
    return slopes | ({"no slopes": Method(partial(without_slopes, most=most))} if most else {})


def compare(case: FitCase, starts: int, solvers: dict[str, Method]) -> dict[str, Any]:
    """Method -> cost relative to the lowest, simulations and CPU seconds, means over the starts."""
    scout = Objective(case.bench, case.logs, case.names, where=Where(1))
    places = [scout.start, *coarse(scout, seed=0, points=16, best=max(starts - 1, 1))][:starts]
    scout.rescale(scout.raw(downhill(scout, scout.start, rounds=ROUNDS // 3).place)[0])
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in solvers}
    for place in places:
        for name, method in solvers.items():
            kind = UpdatedSlopes if method.curved else CountedObjective
            objective = kind(case.bench, case.logs, case.names, where=Where(1))
            objective.scale = scout.scale.copy()
            if isinstance(objective, UpdatedSlopes):
                objective.curved = method.curved
            began = time.process_time()
            end = method.solve(objective, place.copy())
            seconds = time.process_time() - began
            run = {"cost": cost_at(objective, end), "simulations": objective.simulations, "cpu_s": seconds}
            runs[name].append(run)
            print(f"  {name}: {run}", file=sys.stderr, flush=True)
    lowest = min(run["cost"] for solver in runs.values() for run in solver)
    return {
        name: {
            "relative_costs": [round(run["cost"] / lowest, 4) for run in solver],
            "reached": sum(run["cost"] <= NEAR * lowest for run in solver),
            "starts": len(solver),
            **{key: round(float(np.mean([run[key] for run in solver])), 1) for key in ("simulations", "cpu_s")},
        }
        for name, solver in runs.items()
    }


def slopes(cases: dict[str, FitCase]) -> dict[str, Any]:
    """Fit -> variables of its widest block, and CPU time of a Jacobian over that of one simulation."""
    results = {}
    for name, case in cases.items():
        objective = Objective(case.bench, case.logs, case.names, where=Where(1))
        objective.raw(objective.start)
        seconds = []
        for call in (objective.raw, objective.linearised):
            began = time.process_time()
            for _ in range(REPEATS):
                call(objective.start)
            seconds.append((time.process_time() - began) / REPEATS)
        results[name] = {
            "variables": max(len(block.variables) for block in objective.blocks),
            "simulation_s": round(seconds[0], 4),
            "jacobian_in_simulations": round(seconds[1] / seconds[0], 1),
        }
    return results


def engine() -> dict[str, Any]:
    """Bench -> CPU time of mjd_transitionFD over that of a step."""
    results = {}
    for name in ("xl330_bench", "so101_cell"):
        model = load_bench(EXAMPLES / f"{name}.yaml").model
        data = mujoco.MjData(model)
        state, control = np.zeros((2 * model.nv, 2 * model.nv)), np.zeros((2 * model.nv, model.nu))
        seconds = []
        for centred, call in ((0, None), (0, state), (1, state)):
            mujoco.mj_resetData(model, data)
            began = time.process_time()
            for _ in range(STEPS):
                if call is None:
                    mujoco.mj_step(model, data)
                else:
                    mujoco.mjd_transitionFD(model, data, 1e-6, centred, state, control, None, None)
            seconds.append(time.process_time() - began)
        results[name] = {
            "degrees_of_freedom": model.nv,
            "steps_per_forward_difference": round(seconds[1] / seconds[0], 1),
            "steps_per_centred_difference": round(seconds[2] / seconds[0], 1),
        }
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--most", type=int, default=1500, help="simulations of Nelder-Mead")
    parser.add_argument("--only", help="name of one part")
    parser.add_argument("--data", type=Path, help="folder with xl330_pendulum and so101_table_cleanup")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gradients.json")
    args = parser.parse_args()
    cases = {"made pendulum": made_pendulum()}
    if args.data is not None:
        cases |= {name: real_logs(args.data, folder, file, count) for name, folder, file, count in REAL}
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "engine": engine,
        "slopes": lambda: slopes(cases),
    }
    for name, case in cases.items():
        most = args.most if name == "made pendulum" else 0
        parts[name] = lambda case=case, most=most: compare(case, args.starts, methods(most))
    if args.only is not None and args.only not in parts:
        parser.error(f"--only {args.only}: valid are {', '.join(parts)}; real logs need --data")
    results: dict[str, Any] = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
    for name in [args.only] if args.only else parts:
        results[name] = parts[name]()
        print(name)
        for row, result in results[name].items():
            print(f"  {row:12} {', '.join(f'{key} {value}' for key, value in result.items())}", flush=True)
        replace_file(args.out, (json.dumps(results, indent=1) + "\n").encode(), scratch=args.out.parent)


if __name__ == "__main__":
    main()
