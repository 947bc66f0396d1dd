"""Measure how long `twinloop generate --tasks all --robots all` takes: CPU seconds, wall time and memory.

    python benchmarks/all_tasks.py [--episodes 200] [--few 50] [--workers 2] [--json]

Two runs, with `--few` and with `--episodes` episodes for each robot. Their difference gives the cost of an episode
without start-up; the first gives start-up. CPU seconds are those of all processes, so that a busy machine matters less.
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
    """One run with this number of episodes for each robot."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "twinloop", "generate", "--tasks", "all", "--robots", "all", "--json",
            "--episodes", str(episodes), "--workers", str(workers), "--out", f"{folder}/all",
        ]  # fmt: skip
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        peak_mib = 0.0
        while driver.poll() is None:
            peak_mib = max(peak_mib, processes_mib(driver.pid))
            time.sleep(0.5)
        if driver.returncode:
            sys.exit(driver.returncode)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        made = sum(1 for _ in Path(folder).glob("all*/*/manifest.jsonl")) or 1
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"episodes": episodes * made, "robots": made, "cpu_s": round(cpu_s, 1),
            "wall_s": round(time.perf_counter() - began, 1), "peak_mib": round(peak_mib)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--few", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    few, many = (measured(count, arguments.workers) for count in (arguments.few, arguments.episodes))
    each_s = (many["cpu_s"] - few["cpu_s"]) / (many["episodes"] - few["episodes"])
    start_s = max(few["cpu_s"] - each_s * few["episodes"], 0.0)
    result = {
        "few": few, "many": many, "episode_cpu_s": round(each_s, 4), "start_cpu_s": round(start_s, 1),
        "wanted": WANTED, "wanted_cpu_s": round(start_s + WANTED * each_s),
        "wanted_minutes_on_two_cores": round((start_s + WANTED * each_s) / 2 / 60, 1),
    }  # fmt: skip
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result) if arguments.json else "\n".join(f"{key:28} {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()
