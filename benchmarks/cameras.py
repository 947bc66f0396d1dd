"""Measure how fast images get from the physics into a dataset, compared with the renderer alone.

    python benchmarks/cameras.py [--json] [--episodes 48] [--seconds 8]

Two cameras of 128 × 128 at 10 Hz record RGB, depth and segmentation, with new materials, lights and camera poses in
each episode (benchmarks/cameras.yaml). All figures are images per second on all cores; repeated frames are not
counted.

- bare: a `mujoco.Renderer` loop over the same states in the same scene (shadow map, sides of round shapes, no
  multisampling). It needs three render passes per image. The best combination of processes and threads of the
  graphics library is the limit.
- drawn: our renderer alone.
- generate: `twinloop generate` from the start of the process to the finished dataset: physics, rendering, lens,
  sensor and depth errors, encoding, Parquet, fsync, LeRobot export, report. Every video is decoded afterwards and
  must have one frame per row.

The limit is measured before and after `generate`, because the speed of a shared machine changes. CPU time is reported
too, because other programs on the machine change it less.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

# A bare mujoco.Renderer chooses its backend while MuJoCo is imported.
os.environ.setdefault("MUJOCO_GL", "egl")

import mujoco
import numpy as np
import yaml

from twinloop.dataset import Dataset
from twinloop.dataset.video import read_frames
from twinloop.observe.appearance import dress
from twinloop.observe.moments import picture_ticks
from twinloop.observe.renderer import Renderer
from twinloop.run.config import RunConfig, load_config
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

HERE = Path(__file__).parent
DRAWN_EPISODES = 8  # episodes that the loops render repeatedly
CORES = os.cpu_count() or 1


def write_config(path: Path) -> None:
    config = yaml.safe_load((HERE / "cameras.yaml").read_text())
    varied = yaml.safe_load((HERE.parent / "examples" / "cameras.yaml").read_text())
    path.write_text(yaml.safe_dump(config | {"randomization": varied["randomization"]}))


def simulated(config: RunConfig, count: int) -> tuple[Renderer, Episodes]:
    twin = twin_of(config)
    draws = config.sampler(seed=0).draw(0, count)
    expert = Expert(twin, config.expert, width=count, seed=0)
    (episodes,) = rollout(Cell(twin, width=count), iter([draws]), expert, seed=0)
    return Renderer(twin, config.cameras), episodes


def bare(renderer: Renderer, episodes: Episodes) -> Iterator[int]:
    """Render every episode with mujoco.Renderer; yield the number of images since the last yield."""
    model, twin = renderer.stage.model, renderer.twin
    data, plain = mujoco.MjData(model), mujoco.Renderer(model, 128, 128)
    for row, (start, length) in enumerate(zip(episodes.starts, episodes.lengths, strict=True)):
        values = {column: float(array[row]) for column, array in episodes.draws.values.items()}
        dress(renderer.stage, values | {"texture_pool": 0.0})  # making new textures is not part of the limit
        for tick in picture_ticks(length, control_hz=twin.control_hz, rate_hz=10).astype(int):
            position, environment = (episodes[name][start + tick] for name in ("position", "environment"))
            twin.pose_robot(data, position)
            twin.pose_scene(data, environment)
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            for name in renderer.cameras:
                plain.update_scene(data, name)
                plain.render()
                plain.enable_depth_rendering()
                plain.render()
                plain.enable_segmentation_rendering()
                plain.render()
                plain.disable_segmentation_rendering()
            yield len(renderer.cameras)
    plain.close()


def drawn(renderer: Renderer, episodes: Episodes) -> Iterator[int]:
    """Render every episode with our renderer only."""
    # With a shutter the renderer computes how every pixel moves; that is part of an image.
    still = {column: np.zeros(len(episodes.lengths)) for column in ("shutter_ms", "rolling_shutter_ms")}
    episodes = replace(episodes, draws=replace(episodes.draws, values={**episodes.draws.values, **still}))
    for row in range(len(episodes.lengths)):
        yield sum(len(clip.ticks) for clip in renderer.film(episodes, row, masks=True).values())


LOOPS: dict[str, Callable[[Renderer, Episodes], Iterator[int]]] = {"bare": bare, "drawn": drawn}


def loop(kind: str, config: Path, seconds: float) -> None:
    """One process of `rate`: prepare, report, wait for the others, render for a while, print the rate."""
    renderer, episodes = simulated(load_config(config), DRAWN_EPISODES)
    next(LOOPS[kind](renderer, episodes))
    print("ready", flush=True)
    sys.stdin.readline()
    count, began, used = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        for pictures in LOOPS[kind](renderer, episodes):
            count += pictures
            if time.perf_counter() - began >= seconds:
                break
    print(count / (time.perf_counter() - began), (time.process_time() - used) / count, flush=True)


def rate(kind: str, config: Path, seconds: float, *, processes: int, threads: int | None) -> tuple[float, float]:
    """Images per second of several processes together, and CPU seconds per image."""
    environment = os.environ | ({} if threads is None else {"LP_NUM_THREADS": str(threads)})
    command = [sys.executable, __file__, "--loop", kind, str(config), "--seconds", str(seconds)]
    running = [
        subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    # All start at the same time, when all are ready.
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    found = np.array([process.communicate()[0].split()[-2:] for process in running], float)
    return float(found[:, 0].sum()), float(found[:, 1].mean())


def generated(config: Path, out: Path, episodes: int) -> tuple[float, float]:
    """Images per second of `twinloop generate`, and CPU seconds per image."""
    command = [
        sys.executable,
        "-m",
        "twinloop",
        "generate",
        str(config),
        "--episodes",
        str(episodes),
        "--out",
        str(out),
    ]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*command, "--json"], check=True, capture_output=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    count = checked(Dataset.open(out))
    return count / seconds, used / count


def checked(dataset: Dataset) -> int:
    """The number of rendered images. Every video must decode to one frame per row."""
    header = dataset.header
    lengths = np.concatenate([dataset.episodes(entry)["length"].to_numpy() for entry in dataset.entries])
    for entry in dataset.entries:
        for feature in header.pictures:
            path = dataset.path / "shards" / entry.name / f"{feature.name}.mp4"
            frames = read_frames(path, feature, 0, entry.frames, fps=header.fps)
            assert len(frames) == entry.frames
    assert lengths.sum() == sum(entry.frames for entry in dataset.entries)
    return 2 * sum(len(picture_ticks(length, control_hz=header.fps, rate_hz=10)) for length in lengths if length)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--episodes", type=int, default=48, help="episodes of `generate`")
    parser.add_argument("--seconds", type=float, default=8.0, help="duration of each loop")
    parser.add_argument("--loop", nargs=2, metavar=("KIND", "CONFIG"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.loop:
        loop(args.loop[0], Path(args.loop[1]), args.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "cameras.yaml"
        write_config(config)
        load = os.getloadavg()[0]
        ways = ((1, None), (CORES, None), (CORES, 0))
        limits = {way: rate("bare", config, args.seconds, processes=way[0], threads=way[1]) for way in ways}
        best = max(limits, key=lambda way: limits[way][0])
        ours = generated(config, Path(folder) / "dataset", args.episodes)
        again = rate("bare", config, args.seconds, processes=best[0], threads=best[1])
        alone = rate("drawn", config, args.seconds, processes=best[0], threads=best[1])
    limit = (limits[best][0] + again[0]) / 2
    limit_ms = 500 * (limits[best][1] + again[1])
    results = {
        "limit_pictures_per_s": limit,
        "limit_before": limits[best][0],
        "limit_after": again[0],
        "limit_processes": best[0],
        "one_process_pictures_per_s": limits[(1, None)][0],
        "drawn_pictures_per_s": alone[0],
        "generate_pictures_per_s": ours[0],
        "ratio": ours[0] / limit,
        "limit_cpu_ms": limit_ms,
        "drawn_cpu_ms": 1000 * alone[1],
        "generate_cpu_ms": 1000 * ours[1],
        "cpu_ratio": limit_ms / (1000 * ours[1]),
        "load_before": load,
        "load_after": os.getloadavg()[0],
    }
    for name, value in results.items():
        print(f"{name:28} {value:8.2f}")
    if args.json:
        on = {"episodes": args.episodes, "cores": CORES, "stored": "RGB, depth, instance masks", "rate_hz": 10}
        print(json.dumps({name: round(value, 2) for name, value in results.items()} | on))


if __name__ == "__main__":
    main()
