"""Measure whether memory grows with the number of episodes.

Runs `twinloop generate` with few and with many episodes, and compares the peak memory of all its processes together
(proportional set size, sampled every 0.25 s).

    python benchmarks/memory.py [--few 2000] [--many 20000] [--json]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", type=int, default=2000)
    parser.add_argument("--many", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    few, first_shard_s = peak(args.few)
    many, _ = peak(args.many)
    result = {
        "few_episodes": args.few,
        "few_peak_mib": round(few, 1),
        "many_episodes": args.many,
        "many_peak_mib": round(many, 1),
        "growth": round(many / few - 1, 4),
        "first_shard_s": round(first_shard_s, 2),
    }
    print(json.dumps(result) if args.json else "\n".join(f"{key:16} {value}" for key, value in result.items()))


def peak(episodes: int) -> tuple[float, float]:
    """Peak memory in MiB, and seconds until the first shard was committed."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "dataset"
        command = [
            sys.executable,
            "-m",
            "twinloop",
            "generate",
            "--episodes",
            str(episodes),
            "--out",
            str(out),
        ]
        began = time.perf_counter()
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        highest, first_shard_s = 0.0, float("nan")
        while driver.poll() is None:
            highest = max(highest, processes_mib(driver.pid))
            manifest = out / "manifest.jsonl"
            if first_shard_s != first_shard_s and manifest.is_file() and manifest.stat().st_size:
                first_shard_s = time.perf_counter() - began
            time.sleep(0.25)
        if driver.returncode:
            raise SystemExit(driver.returncode)
        print(f"{episodes} episodes: {highest:.0f} MiB peak", file=sys.stderr, flush=True)
        return highest, first_shard_s


def processes_mib(pid: int) -> float:
    """Memory of a process and all its descendants."""
    return sum(_pss_mib(member) for member in _family(pid))


def _family(pid: int) -> list[int]:
    """A process and all its descendants."""
    members = [pid]
    for member in members:
        for task in Path(f"/proc/{member}/task").glob("*/children"):
            try:
                members += map(int, task.read_text().split())
            except OSError:
                continue  # it has just ended
    return members


def _pss_mib(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass  # it has just ended
    return 0.0


if __name__ == "__main__":
    main()
