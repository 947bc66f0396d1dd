"""Measure how long `twinloop generate --tasks all --robots all` takes: CPU seconds, wall time and memory.

    python benchmarks/all_tasks.py [--episodes 10000] [--workers 2] [--out DIR] [--minutes M] [--json]

The episodes are shared between the robots, and those of a robot between its tasks in shards of 16. `--minutes` ends a
run early, and the same command with the same `--out` continues it: times add up over the parts, and the results are
written after the last one. A part that is ended loses the shards that it had begun, and starts once more; `parts` says
how many there were. CPU seconds hold on a busy machine too; `minutes` needs an idle one, `load` has the mean load while
the run took place.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from memory import processes_mib

RESULTS = Path(__file__).parent / "results" / "all_tasks.json"
EMPTY = {"cpu_s": 0.0, "wall_s": 0.0, "peak_mib": 0.0, "parts": 0, "load": 0.0}


def run_part(command: list[str], minutes: float, output: Path) -> tuple[dict[str, float], int]:
    """Start or continue the run for at most `minutes`. Return what it took, and its exit code."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    loads, peak_mib = [], 0.0
    with output.open("w") as stream:
        driver = subprocess.Popen(command, stdout=stream)
    while driver.poll() is None:
        peak_mib = max(peak_mib, processes_mib(driver.pid))
        loads.append(os.getloadavg()[0])
        time.sleep(0.5)
        if time.perf_counter() - began > 60 * minutes:
            driver.send_signal(signal.SIGINT)
            driver.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall_s = time.perf_counter() - began
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    load = sum(loads) / max(len(loads), 1)
    return {"cpu_s": cpu_s, "wall_s": wall_s, "peak_mib": peak_mib, "parts": 1, "load": load}, driver.returncode


def added(first: dict[str, float], second: dict[str, float]) -> dict[str, float]:
    """The sum of the times of two parts."""
    wall_s = first["wall_s"] + second["wall_s"]
    return {
        "cpu_s": first["cpu_s"] + second["cpu_s"],
        "wall_s": wall_s,
        "peak_mib": max(first["peak_mib"], second["peak_mib"]),
        "parts": first["parts"] + second["parts"],
        "load": (first["load"] * first["wall_s"] + second["load"] * second["wall_s"]) / max(wall_s, 1e-9),
    }


def summary(output: str, took: dict[str, float], workers: int) -> dict[str, Any]:
    """The results of a run that has ended.

    Args:
        output: what `generate --json` printed last.
    """
    made = json.loads(output.splitlines()[-1])["robots"]
    return {
        "episodes": sum(run["episodes"] for run in made.values()),
        "accepted": sum(run["accepted"] for run in made.values()),
        "robots": {name: run["episodes"] for name, run in made.items()},
        "workers": workers,
        "cpu_s": round(took["cpu_s"]),
        "minutes": round(took["wall_s"] / 60, 1),
        "peak_mib": round(took["peak_mib"]),
        "parts": int(took["parts"]),
        "load": round(took["load"], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000, help="of all robots together")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("datasets/all_tasks"))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end this part of the run after that")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    command = [
        sys.executable, "-m", "twinloop", "generate", "--tasks", "all", "--robots", "all", "--json",
        "--episodes", str(arguments.episodes), "--workers", str(arguments.workers), "--out", str(arguments.out),
    ]  # fmt: skip
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    times, output = (arguments.out.with_suffix(suffix) for suffix in (".times.json", ".output.txt"))
    took, code = run_part(command, arguments.minutes, output)
    took = added(json.loads(times.read_text()) if times.exists() else EMPTY, took)
    times.write_text(json.dumps(took))
    if code:
        print(f"the run has not ended (exit code {code}); the same command continues it", file=sys.stderr)
        sys.exit(code)
    result = summary(output.read_text(), took, arguments.workers)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result) if arguments.json else "\n".join(f"{key:12} {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()
