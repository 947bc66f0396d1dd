"""Measure the success of the scripted expert in rehearsal cells, from the robot's readings only, and the cells' speed.

In `nominal` it should be at least 95 of 100. Then a policy's failures there are due to the gap, not to the interface.
Cells run in this process, so that their CPU time can be told from that of the expert.

    python benchmarks/rehearsal.py [--engines drake physx] [--cells nominal mild hard harsh] [--robots R ...]
                                   [--tasks T ...] [--episodes 24] [--json]
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from twinloop.curate.intervals import wilson
from twinloop.deploy.demonstrator import Demonstrator, demonstrate
from twinloop.deploy.rehearsal.cell import RehearsalCell
from twinloop.deploy.rehearsal.cell_file import cell_of
from twinloop.deploy.rehearsal.cell_name import ENGINES
from twinloop.twin.tasks import tasks

SHIPPED = ("nominal", "mild", "hard", "harsh")
ROBOTS = ("franka_panda", "ur5e_2f85", "xarm7")
TASKS = ("pick_and_place", "stack", "put_in_drawer", "peg_insertion", "push_to_goal", "sort_by_colour", "press_button")


class TimedCell(RehearsalCell):
    """A cell that adds up the CPU time of its calls. It is in this process, so there is nothing to connect to."""

    cpu_s = 0.0

    def connect(self):
        return self.describe()

    def close(self) -> None:
        pass

    def _timed(self, call: Callable[..., Any], *args: Any) -> Any:
        began = time.process_time()
        try:
            return call(*args)
        finally:
            self.cpu_s += time.process_time() - began

    def begin(self, episode: int):
        return self._timed(super().begin, episode)

    def act(self, action) -> None:
        self._timed(super().act, action)

    def end(self):
        return self._timed(super().end)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", default=ENGINES, choices=ENGINES)
    parser.add_argument("--cells", nargs="*", default=SHIPPED, help="cells with the Panda and pick_and_place")
    parser.add_argument("--robots", nargs="*", default=ROBOTS, help="robots in the nominal cell")
    parser.add_argument("--tasks", nargs="*", default=TASKS, help="tasks of each robot in the nominal cell")
    parser.add_argument("--episodes", type=int, default=24)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    cases = [(cell, ROBOTS[0], TASKS[0]) for cell in args.cells]
    cases += [("nominal", robot, task) for robot in args.robots for task in args.tasks]
    rows = []
    for engine in args.engines:
        for cell, robot, task in dict.fromkeys(cases):
            rows.append(measured(engine, cell, robot, task, args.episodes))
            if not args.json:
                print(_line(rows[-1]), flush=True)
    if args.json:
        print(json.dumps({"rows": rows}))


def measured(engine: str, cell: str, robot: str, task: str, episodes: int) -> dict[str, Any]:
    name = f"{engine}:{cell},robot={robot},task={task}"
    live = TimedCell(cell_of(name), id=name)
    demonstrator = Demonstrator(live.describe(), seed=0, task=tasks()[task])
    demonstrations = [demonstrate(live, demonstrator, episode) for episode in range(episodes)]
    succeeded = sum(bool(demonstration.outcome.success) for demonstration in demonstrations)
    low, high = wilson(succeeded, episodes)
    failed = Counter(demonstration.last_phase for demonstration in demonstrations if not demonstration.outcome.success)
    periods = sum(demonstration.periods for demonstration in demonstrations)
    return {
        "engine": engine, "cell": cell, "robot": robot, "task": task, "episodes": episodes, "succeeded": succeeded,
        "low": round(float(low), 4), "high": round(float(high), 4),
        "failed_in": ", ".join(f"{phase} {count}" for phase, count in failed.most_common()),
        "times_real_time": round(periods * live.describe().period_s / live.cpu_s, 2),
        "control_steps_per_s": round(periods / live.cpu_s, 1),
        "episodes_per_s": round(episodes / live.cpu_s, 3),
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    case = f"{row['engine']}:{row['cell']:8} {row['robot']:12} {row['task']:15}"
    success = f"{row['succeeded']:3}/{row['episodes']} ({row['low']:.2f}–{row['high']:.2f})"
    return f"{case} {success}  {row['times_real_time']:5.1f} × real time  failed in: {row['failed_in'] or '–'}"


if __name__ == "__main__":
    main()
