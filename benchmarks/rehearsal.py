"""Measure the success of the scripted expert in each rehearsal cell, from the robot's readings only.

In `nominal` it should be at least 95 of 100. Then a policy's failures there are due to the gap, not to the interface.

    python benchmarks/rehearsal.py [--cells nominal mild hard harsh] [--episodes 100] [--workers 2] [--json]
"""

import argparse
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from twinloop.curate.intervals import wilson
from twinloop.deploy.demonstrator import Demonstration, Demonstrator, demonstrate
from twinloop.deploy.rehearsal.client import RehearsalRobot

SHIPPED = ("nominal", "mild", "hard", "harsh")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=SHIPPED)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2, help="processes for each cell")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = {cell: measured(cell, args.episodes, args.workers) for cell in args.cells}
    if args.json:
        print(json.dumps({f"{cell}_{name}": value for cell, row in rows.items() for name, value in row.items()}))
        return
    for cell, row in rows.items():
        low, high = row["low"], row["high"]
        print(f"{cell:10} {row['rate']:.2f} [{low:.2f}, {high:.2f}]  {row['times_real_time']:.1f} × real time")
        print(f"           where it failed: {row['failed_in'] or 'nowhere'}")


def measured(cell: str, episodes: int, workers: int) -> dict:
    began = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        parts = pool.map(lambda first: _run(cell, range(first, episodes, workers)), range(workers))
        shown = [each for part in parts for each in part]
    took_s = time.perf_counter() - began
    succeeded = sum(bool(each.outcome.success) for each in shown)
    low, high = wilson(succeeded, episodes)
    failed = Counter(each.last_phase for each in shown if not each.outcome.success)
    return {
        "episodes": episodes,
        "succeeded": succeeded,
        "rate": round(succeeded / episodes, 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
        "failed_in": ", ".join(f"{phase} {count}" for phase, count in failed.most_common()),
        "times_real_time": round(sum(each.periods for each in shown) / 25 / took_s, 2),
    }


def _run(cell: str, numbers: range) -> list[Demonstration]:
    with RehearsalRobot(cell) as robot:
        demonstrator = Demonstrator(robot.describe(), seed=0)
        return [demonstrate(robot, demonstrator, episode) for episode in numbers]


if __name__ == "__main__":
    main()
