"""Measure how much of the physics engine's speed reaches the dataset.

In one run on one machine, alternating, for the embedded config and then for other tasks:
- limit: `mujoco.batch` alone, with the same model and randomized fields. It replays the recorded commands of the same
  episodes for the same number of steps, on every core, with every slot busy.
- tuned limit: the same with what Twinloop changes about the engine and what leaves every bit of the data as it is: no
  profiler, which the Python package turns on, and contact forces read once per control period, not in every step.
- ours: `twinloop generate` from the start of the process to the finished dataset: expert, recording, curation,
  statistics, Parquet, fsync, export, report.

Both count attempts: every draw of a run, accepted or not, and draws that the robot cannot reach, which neither of them
simulates.

`generate` takes some seconds to start, export and report, whatever the number of episodes (`fixed_s` has the time of a
run of 16). A run of another task therefore has as many episodes as the engine simulates in `--task-seconds`, which is
about as long as the run of the embedded config.

`ratio` compares wall time with the limit and needs an idle machine. `cpu_ratio` compares the CPU time per trajectory of
all processes and holds on a busy machine too. It does not see cores that wait. `tuned_ratio` and `tuned_cpu_ratio`
compare with the tuned limit.

On a machine whose speed changes within a minute, limit and ours do not see the same machine, and neither ratio means
much. `--together N` therefore runs `generate` and the limit at the same time, N times, on the same cores, and compares
their CPU time per trajectory (`together`). It says nothing about cores that wait.

`steps` has simulated seconds per second of `generate` at larger physics steps, beside those of Genesis, which is the
fastest other simulator on a CPU that was tried (in batches, without randomization and without writing).

    python benchmarks/throughput.py [--episodes 6000] [--rounds 3] [--tasks stack,pour] [--task-seconds 50] [--json]
        [--store]    write results/throughput.json after every part, and keep the parts that this run does not measure
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.run.config import RunConfig
from twinloop.run.default import embedded_config
from twinloop.run.scene import ThingConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.cpu_engine import profiler_callbacks
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.objects import OBJECTS

PUBLISHED_PER_S = 780_000 / (11 * 3600)  # NVIDIA, 780,000 synthetic manipulation trajectories in 11 h
WIDTH = 256
WIDTHS = {"pour": 64, "twelve_things": 64}
"""Task -> width of the limit, where episodes are slow."""
PASSES, TASK_PASSES = 5, 3
RESULTS = Path(__file__).parent / "results" / "throughput.json"
TWELVE = "twelve_things"
"""Name of bin_picking, which has eight products, with four things more beside the bin."""
TASKS = ("stack", "put_in_drawer", "peg_insertion", "sort_by_colour", "clear_table", "pour", "lift_tray", TWELVE)
ROBOTS = {"lift_tray": "dual_panda"}
"""Task -> robot, where it is not that of the embedded config."""
GENESIS_SECONDS_PER_S = {4.0: 102.0, 10.0: 275.0}
"""Physics step in ms -> simulated seconds per second of Genesis, measured on two cores of the same type."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--episodes", type=int, default=6000, help="in each run of ours; 0 to leave the embedded config out"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", default=",".join(TASKS), help='other tasks, with commas; "" for none')
    parser.add_argument("--task-seconds", type=float, default=50.0, help="length of each run of another task")
    parser.add_argument("--task-rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=0, help="processes and threads for other tasks; 0 for all cores")
    parser.add_argument("--together", type=int, default=0, metavar="N", help="also run both at the same time, N times")
    parser.add_argument("--steps", default="4,10", help='physics steps to compare with Genesis, in ms; "" for none')
    parser.add_argument("--store", action="store_true", help="write the results file after every part")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    result: dict[str, Any] = json.loads(RESULTS.read_text()) if args.store and RESULTS.exists() else {}

    def keep() -> None:
        if args.store:
            RESULTS.write_text(json.dumps(result, indent=2) + "\n")

    generate(16)  # the first run of an installation compiles its modules
    result["fixed_s"] = round(16 / generate(16).per_s, 2)
    if args.episodes:
        figures = compare("embedded config", embedded_config(), args.rounds, passes=PASSES, episodes=args.episodes)
        result |= figures | {
            "unit": "trajectories/s",
            "published_gpu_cluster": round(PUBLISHED_PER_S, 2),
            "times_published": round(figures["ours"] / PUBLISHED_PER_S, 2),
            "simulated_seconds_per_second": round(figures["ours"] * figures["mean_episode_s"], 1),
            "cores": os.cpu_count(),
        }
        keep()
    if args.together:
        result["together"] = compare_together(embedded_config(), args.together, args.episodes or 6000)
        keep()
    result.setdefault("tasks", {})
    for name in filter(None, args.tasks.split(",")):
        result["tasks"][name] = compare(
            name,
            config_of(name),
            args.task_rounds,
            passes=TASK_PASSES,
            seconds=args.task_seconds,
            workers=args.workers,
        )
        keep()
    result.setdefault("steps", {})
    for step_ms in map(float, filter(None, args.steps.split(","))):
        result["steps"][f"{step_ms:g}"] = compare_step(step_ms, args.episodes or 6000, args.rounds)
        keep()
    print(json.dumps(result) if args.json else "\n".join(f"{key:30} {value}" for key, value in result.items()))


def config_of(task: str) -> RunConfig:
    """The embedded config with another task, and the robot or the things that it needs."""
    config = embedded_config()
    if task == TWELVE:
        more = {f"cube_{number}": ThingConfig(OBJECTS["cube"]) for number in range(4)}
        return replace(config, scene=replace(config.scene, things=more)).with_task("bin_picking")
    return (config.with_robot(ROBOTS[task]) if task in ROBOTS else config).with_task(task)


def compare_together(config: RunConfig, rounds: int, episodes: int) -> dict[str, Any]:
    """CPU time per trajectory of `generate` and of the engine, which run at the same time on the same cores."""
    limit_of = Limit(WIDTH, config)
    ratios: dict[bool, list[float]] = {False: [], True: []}
    for number in range(rounds):
        for tuned in ratios:
            done = Event()
            with ThreadPoolExecutor(1) as beside:
                limit = beside.submit(limit_of.measure_until, done, tuned=tuned)
                ours = generate(episodes, config).per_cpu_s
                done.set()
                ratios[tuned].append(ours / limit.result().per_cpu_s)
        note(f"together, round {number + 1}: CPU ratio {ratios[False][-1]:.3f}, tuned {ratios[True][-1]:.3f}")
    names = {False: "cpu_ratio", True: "tuned_cpu_ratio"}
    return {
        "rounds": rounds, "episodes": episodes,
        **{names[tuned]: round(statistics.median(values), 4) for tuned, values in ratios.items()},
        **{f"{names[tuned]}s": [round(value, 4) for value in values] for tuned, values in ratios.items()},
    }  # fmt: skip


def compare_step(step_ms: float, episodes: int, rounds: int) -> dict[str, Any]:
    """`generate` with another physics step, in simulated seconds per second, beside Genesis."""
    config = embedded_config()
    config = replace(config, rollout=replace(config.rollout, timestep_ms=step_ms))
    mean_episode_s = Limit(WIDTH, config).mean_episode_s
    rates = [generate(episodes, config) for _ in range(rounds)]
    simulated = _median(rates).per_s * mean_episode_s
    peer = GENESIS_SECONDS_PER_S.get(step_ms)
    note(f"physics step of {step_ms:g} ms: {simulated:.0f} simulated seconds per second")
    times = {"genesis": peer, "times_genesis": round(simulated / peer, 2)} if peer else {}
    return {"ours": round(_median(rates).per_s, 2), "simulated_seconds_per_second": round(simulated, 1), **times}


def compare(
    name: str,
    config: RunConfig,
    rounds: int,
    *,
    passes: int,
    episodes: int = 0,
    seconds: float = 0.0,
    workers: int = 0,
) -> dict[str, Any]:
    """The rates of the engine and of `generate`, and their ratios.

    Args:
        episodes: of `generate`; 0 for as many as the engine simulates in `seconds` on all cores.
        workers: processes of `generate` and threads of the engine; 0 for all cores.
    """
    width = WIDTHS.get(name, WIDTH)
    note(f"{name}: recording the commands of {width} episodes")
    limit_of = Limit(width, config, threads=workers)
    limits, tuned, ours = [], [], []
    for number in range(rounds):
        limits.append(limit_of.measure(passes))
        # From CPU time, so that a busy machine does not measure shorter runs.
        episodes = episodes or round(limits[0].per_cpu_s * (os.cpu_count() or 1) * seconds)
        ours.append(generate(episodes, config, workers=workers))
        tuned.append(limit_of.measure(passes, tuned=True))
        limits.append(limit_of.measure(passes))
        speeds = [rate.per_s for rate in (*limits[-2:], ours[-1])]
        note("{}, round {}: limit {:.1f} and {:.1f}, ours {:.1f} trajectories/s".format(name, number + 1, *speeds))
    limit, fastest, reached = _median(limits), _median(tuned), _median(ours)
    return {
        "limit": round(limit.per_s, 2),
        "tuned_limit": round(fastest.per_s, 2),
        "ours": round(reached.per_s, 2),
        "ratio": round(reached.per_s / limit.per_s, 4),
        "cpu_ratio": round(reached.per_cpu_s / limit.per_cpu_s, 4),
        "tuned_ratio": round(reached.per_s / fastest.per_s, 4),
        "tuned_cpu_ratio": round(reached.per_cpu_s / fastest.per_cpu_s, 4),
        "mean_episode_s": round(limit_of.mean_episode_s, 3),
        "things": len(limit_of.twin.things),
        "arms": len(limit_of.twin.robot.arms),
        "episodes": episodes,
        "rounds": rounds,
        "workers": workers or os.cpu_count(),
    }


@dataclass(frozen=True)
class Rate:
    """Trajectories per second of wall time, and per second of CPU time of all processes."""

    per_s: float
    per_cpu_s: float


def _median(rates: Sequence[Rate]) -> Rate:
    return Rate(statistics.median(r.per_s for r in rates), statistics.median(r.per_cpu_s for r in rates))


class Limit:
    """The engine alone, with commands that were recorded once.

    Args:
        width: simulations.
        config: default: the embedded config.
        threads: 0 is one per core.
    """

    def __init__(self, width: int, config: RunConfig | None = None, *, threads: int = 0):
        config = config or embedded_config()
        self.twin = twin_of(config)
        self._profilers = [(callback, callback.value) for callback in profiler_callbacks()]
        self.draws: Draws = config.sampler(seed=0).draw(0, width)
        expert = Expert(self.twin, config.expert, width=width, seed=0)
        cell = Cell(self.twin, width=width, threads=threads)
        (episodes,) = rollout(cell, iter([self.draws]), expert, seed=0, check_reach=True)
        self.lengths = episodes.lengths
        self.commands = _padded(episodes)
        arms = self.twin.robot.arms
        for column, arm in enumerate(arms, start=self.commands.shape[2] - len(arms)):
            self.commands[:, :, column] = arm.gripper.control(self.commands[:, :, column])
        self.cell = cell
        self._readings = cell.engine.expand("sensor_interval")
        self._readings_tuned = self._readings.copy()
        self.mean_episode_s = float(self.lengths.mean() * self.twin.control_period_s)

    def measure(self, passes: int, *, tuned: bool = False) -> Rate:
        """The rate of the engine, measured for about as long as our run, under the same noise."""
        self._tune(on=tuned)
        rates = [self._pass() for _ in range(passes)]
        self._tune(on=False)
        return self._mean(rates)

    def measure_until(self, done: Event, *, tuned: bool) -> Rate:
        """The rate of the engine in passes until something else is done."""
        self._tune(on=tuned)
        rates = [self._pass()]
        while not done.is_set():
            rates.append(self._pass())
        self._tune(on=False)
        return self._mean(rates)

    @staticmethod
    def _mean(rates: Sequence[Rate]) -> Rate:
        return Rate(statistics.mean(r.per_s for r in rates), statistics.mean(r.per_cpu_s for r in rates))

    def _tune(self, *, on: bool) -> None:
        """Run the engine as Twinloop does, or with the defaults of `import mujoco`."""
        for callback, installed in self._profilers:
            callback.value = None if on else installed
        self._readings[:] = self._readings_tuned if on else 0

    def _pass(self) -> Rate:
        """One pass over all episodes: `Batch.step` with the randomized fields, nothing else."""
        twin, cell = self.twin, self.cell
        everyone = np.arange(len(self.lengths))
        cell.admit(everyone, self.draws, everyone)
        control = cell.batch.bind("ctrl")
        order = [*twin.arm_controls, *twin.gripper_controls]
        began, cpu_before = time.perf_counter(), time.process_time()
        for tick in range(self.commands.shape[1]):
            control[:, order] = self.commands[:, tick]
            running = self.lengths > tick
            cell.batch.step(None if running.all() else np.flatnonzero(running), nstep=twin.substeps)
        count = len(self.lengths)
        return Rate(count / (time.perf_counter() - began), count / (time.process_time() - cpu_before))


def _padded(episodes: Episodes) -> np.ndarray:
    """(episodes, ticks, joints and opening), each row continued with its last command."""
    longest = int(episodes.lengths.max())
    rows = [
        np.minimum(np.arange(longest), length - 1) + start
        for start, length in zip(episodes.starts, episodes.lengths, strict=True)
    ]
    return episodes["command"][np.array(rows)].astype(float)


def generate(episodes: int, config: RunConfig | None = None, *, workers: int = 0) -> Rate:
    """Rates of `twinloop generate` in a process of its own, with this number of workers; 0 for one per core."""
    # With this variable every process would compile all modules again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "dataset"
        file = Path(folder) / "cell.yaml"
        file.write_text((config or embedded_config()).to_yaml())
        command = [
            sys.executable,
            "-m",
            "twinloop",
            "generate",
            str(file),
            "--episodes",
            str(episodes),
            "--out",
            str(out),
            *(["--workers", str(workers)] if workers else []),
        ]
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
