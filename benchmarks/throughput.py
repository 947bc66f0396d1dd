"""Measure how much of the physics engine's speed reaches the dataset.

In one run on one machine, alternating:
- limit: `mujoco.batch` alone, with the same model and randomized fields. It replays the recorded commands of the same
  episodes for the same number of steps, on every core, with every slot busy.
- ours: `twinloop generate` from the start of the process to the finished dataset: expert, recording, curation,
  statistics, Parquet, fsync, export.

    python benchmarks/throughput.py [--episodes 4000] [--rounds 3] [--json]
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

import numpy as np

from twinloop.randomize.draw import Draws, Sampler
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
    limits, ours = [], []
    for number in range(args.rounds):
        limits.append(limit_of.measure())
        ours.append(generate(args.episodes))
        limits.append(limit_of.measure())
        note(f"round {number + 1}: limit {limits[-2]:.1f} and {limits[-1]:.1f}, ours {ours[-1]:.1f} trajectories/s")
    limit, reached = statistics.median(limits), statistics.median(ours)
    result = {
        "limit": round(limit, 2),
        "ours": round(reached, 2),
        "ratio": round(reached / limit, 4),
        "unit": "trajectories/s",
        "published_gpu_cluster": round(PUBLISHED_PER_S, 2),
        "times_published": round(reached / PUBLISHED_PER_S, 2),
        "mean_episode_s": round(limit_of.mean_episode_s, 3),
        "simulated_seconds_per_second": round(reached * limit_of.mean_episode_s, 1),
        "episodes": args.episodes,
        "rounds": args.rounds,
        "cores": os.cpu_count(),
    }
    print(json.dumps(result) if args.json else "\n".join(f"{key:30} {value}" for key, value in result.items()))


class Limit:
    """The engine alone, with commands that were recorded once. threads: 0 is one per core."""

    def __init__(self, width: int, *, threads: int = 0):
        config = embedded_config()
        self.twin = twin_of(config)
        self.draws: Draws = Sampler(config.randomization, seed=0).draw(0, width)
        expert = Expert(self.twin, config.expert, width=width, seed=0)
        cell = Cell(self.twin, width=width, threads=threads)
        (episodes,) = rollout(cell, iter([self.draws]), expert, seed=0)
        self.lengths = episodes.lengths
        self.commands = _padded(episodes)
        self.cell = cell
        self.mean_episode_s = float(self.lengths.mean() * self.twin.control_period_s)

    def measure(self, passes: int = PASSES) -> float:
        """Trajectories per second of the engine, measured for about as long as our run, under the same noise."""
        return statistics.mean(self._pass() for _ in range(passes))

    def _pass(self) -> float:
        """One pass over all episodes: `Batch.step` with the randomized fields, nothing else."""
        twin, cell = self.twin, self.cell
        everyone = np.arange(len(self.lengths))
        cell.admit(everyone, self.draws, everyone)
        control = cell.batch.bind("ctrl")
        order = [*twin.arm_controls, twin.gripper_control]
        began = time.perf_counter()
        for tick in range(self.commands.shape[1]):
            control[:, order] = self.commands[:, tick]
            running = self.lengths > tick
            cell.batch.step(None if running.all() else np.flatnonzero(running), nstep=twin.substeps)
        return len(self.lengths) / (time.perf_counter() - began)


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


def generate(episodes: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "dataset"
        began = time.perf_counter()
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
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return episodes / (time.perf_counter() - began)


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
