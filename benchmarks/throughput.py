"""Measure how much of the physics engine's speed reaches the dataset.

In one run on one machine, alternating:
- limit: `mujoco.batch` alone, with the same model and randomized fields. It replays the recorded commands of the same
  episodes for the same number of steps, on every core, with every slot busy.
- ours: `twinloop generate` from the start of the process to the finished dataset: expert, recording, curation,
  statistics, Parquet, fsync, export, report.

`ratio` compares wall time and needs an idle machine. `cpu_ratio` compares the CPU time per trajectory of all processes
and holds on a busy machine too. It does not see cores that wait.

    python benchmarks/throughput.py [--episodes 4000] [--rounds 3] [--json]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.run.default import embedded_config
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

PUBLISHED_PER_S = 780_000 / (11 * 3600)  # NVIDIA, 780,000 synthetic manipulation trajectories in 11 h
WIDTH = 256
PASSES = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=6000, help="in each run of ours")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    note(f"recording the commands of {WIDTH} episodes")
    limit_of = Limit(WIDTH)
    generate(16)  # the first run of an installation compiles its modules
    limits, ours = [], []
    for number in range(args.rounds):
        limits.append(limit_of.measure())
        ours.append(generate(args.episodes))
        limits.append(limit_of.measure())
        speeds = [rate.per_s for rate in (*limits[-2:], ours[-1])]
        note("round {}: limit {:.1f} and {:.1f}, ours {:.1f} trajectories/s".format(number + 1, *speeds))
    limit, reached = _median(limits), _median(ours)
    result = {
        "limit": round(limit.per_s, 2),
        "ours": round(reached.per_s, 2),
        "ratio": round(reached.per_s / limit.per_s, 4),
        "cpu_ratio": round(reached.per_cpu_s / limit.per_cpu_s, 4),
        "unit": "trajectories/s",
        "published_gpu_cluster": round(PUBLISHED_PER_S, 2),
        "times_published": round(reached.per_s / PUBLISHED_PER_S, 2),
        "mean_episode_s": round(limit_of.mean_episode_s, 3),
        "simulated_seconds_per_second": round(reached.per_s * limit_of.mean_episode_s, 1),
        "episodes": args.episodes,
        "rounds": args.rounds,
        "cores": os.cpu_count(),
    }
    print(json.dumps(result) if args.json else "\n".join(f"{key:30} {value}" for key, value in result.items()))


@dataclass(frozen=True)
class Rate:
    """Trajectories per second of wall time, and per second of CPU time of all processes."""

    per_s: float
    per_cpu_s: float


def _median(rates: Sequence[Rate]) -> Rate:
    return Rate(statistics.median(r.per_s for r in rates), statistics.median(r.per_cpu_s for r in rates))


class Limit:
    """The engine alone, with commands that were recorded once. threads: 0 is one per core."""

    def __init__(self, width: int, *, threads: int = 0):
        config = embedded_config()
        self.twin = twin_of(config)
        self.draws: Draws = config.sampler(seed=0).draw(0, width)
        expert = Expert(self.twin, config.expert, width=width, seed=0)
        cell = Cell(self.twin, width=width, threads=threads)
        (episodes,) = rollout(cell, iter([self.draws]), expert, seed=0)
        self.lengths = episodes.lengths
        self.commands = _padded(episodes)
        self.cell = cell
        self.mean_episode_s = float(self.lengths.mean() * self.twin.control_period_s)

    def measure(self, passes: int = PASSES) -> Rate:
        """The rate of the engine, measured for about as long as our run, under the same noise."""
        rates = [self._pass() for _ in range(passes)]
        return Rate(statistics.mean(r.per_s for r in rates), statistics.mean(r.per_cpu_s for r in rates))

    def _pass(self) -> Rate:
        """One pass over all episodes: `Batch.step` with the randomized fields, nothing else."""
        twin, cell = self.twin, self.cell
        everyone = np.arange(len(self.lengths))
        cell.admit(everyone, self.draws, everyone)
        control = cell.batch.bind("ctrl")
        order = [*twin.arm_controls, twin.gripper_control]
        began, cpu_before = time.perf_counter(), time.process_time()
        for tick in range(self.commands.shape[1]):
            control[:, order] = self.commands[:, tick]
            running = self.lengths > tick
            cell.batch.step(None if running.all() else np.flatnonzero(running), nstep=twin.substeps)
        count = len(self.lengths)
        return Rate(count / (time.perf_counter() - began), count / (time.process_time() - cpu_before))


def _padded(episodes: Episodes) -> np.ndarray:
    """(episodes, ticks, controls), each row continued with its last command."""
    longest = int(episodes.lengths.max())
    rows = [
        np.minimum(np.arange(longest), length - 1) + start
        for start, length in zip(episodes.starts, episodes.lengths, strict=True)
    ]
    commands = episodes["command"][np.array(rows)].astype(float)
    commands[:, :, -1] /= 2  # the recorded opening is the sum of both fingers; the control is per finger
    return commands


def generate(episodes: int) -> Rate:
    # With this variable every process would compile all modules again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "dataset"
        command = [sys.executable, "-m", "twinloop", "generate", "--episodes", str(episodes), "--out", str(out)]
        began, cpu_before = time.perf_counter(), _children_cpu_s()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        return Rate(episodes / (time.perf_counter() - began), episodes / (_children_cpu_s() - cpu_before))


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
