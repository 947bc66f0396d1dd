"""Measure how long `twinloop generate --tasks all --robots all` takes: CPU seconds, wall time and memory.

    python benchmarks/all_tasks.py [--episodes 1840] [--workers 2] [--json]

One run. The episodes are shared between the robots, and those of a robot between its tasks in shards of 16. The default
has a shard of every task for each robot with one arm. The time of 10,000 episodes is extrapolated in proportion.
Start-up, export and report do not grow as fast, so the extrapolated time is rather too long.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from memory import processes_mib

RESULTS = Path(__file__).parent / "results" / "all_tasks.json"
WANTED = 10_000


def measured(episodes: int, workers: int) -> dict[str, Any]:
    """One run with this number of episodes of all robots together."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "twinloop", "generate", "--tasks", "all", "--robots", "all", "--json",
            "--episodes", str(episodes), "--workers", str(workers), "--out", f"{folder}/all",
        ]  # fmt: skip
        output = Path(folder) / "output.txt"
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with output.open("w") as stream:
            driver = subprocess.Popen(command, stdout=stream)
        peak_mib = 0.0
        while driver.poll() is None:
            peak_mib = max(peak_mib, processes_mib(driver.pid))
            time.sleep(0.5)
        wall_s = time.perf_counter() - began
        if driver.returncode:
            sys.exit(driver.returncode)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        made = json.loads(output.read_text().splitlines()[-1])["robots"]
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "episodes": sum(run["episodes"] for run in made.values()),
        "accepted": sum(run["accepted"] for run in made.values()),
        "robots": {name: {"episodes": run["episodes"], "seconds": run["seconds"]} for name, run in made.items()},
        "cpu_s": round(cpu_s, 1),
        "wall_s": round(wall_s, 1),
        "peak_mib": round(peak_mib),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=1840, help="of all robots together")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    run = measured(arguments.episodes, arguments.workers)
    times = WANTED / run["episodes"]
    result = {
        **run,
        "workers": arguments.workers,
        "wanted": WANTED,
        "extrapolated_cpu_s": round(times * run["cpu_s"]),
        "extrapolated_minutes": round(times * run["wall_s"] / 60, 1),
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result) if arguments.json else "\n".join(f"{key:28} {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()
