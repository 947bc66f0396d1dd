"""Measure how fast images get from the physics into a dataset, compared with the engine's renderer alone.

    python benchmarks/cameras.py [--json] [--episodes 200] [--seconds 8] [--quality default,fast]

Two cameras of 128 × 128 at 10 Hz record RGB, depth and segmentation, with new materials, lights and camera poses in
each episode (benchmarks/cameras.yaml). All figures are images per second on all cores; repeated frames are not
counted.

- bare: a `mujoco.Renderer` loop over the same states in the same scene (shadow map, sides of round shapes, no
  multisampling). It needs three render passes per image. The best combination of processes and threads of the
  graphics library is the reference.
- drawn: our renderer alone.
- live: images for 16 episodes at a time, as in the evaluation of a policy that sees; RGB only, with lens and sensor.
- stages: CPU time per image in one thread, by stage: drawing, lens and sensor, encoding. The rest is what remains of
  the CPU time of `generate`.
- generate: `twinloop generate` from the start of the process to the finished dataset: physics, rendering, lens,
  sensor and depth errors, encoding, Parquet, fsync, LeRobot export, report. Every video is decoded afterwards and
  must have one frame per row.

The reference is measured before and after, because the speed of a shared machine changes. CPU time is reported too,
because other programs on the machine change it less.
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
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

# A bare mujoco.Renderer chooses its backend while MuJoCo is imported.
os.environ.setdefault("MUJOCO_GL", "egl")

import mujoco
import numpy as np
import yaml

from twinloop.dataset import Dataset
from twinloop.dataset.video import VideoWriter, read_frames
from twinloop.observe.appearance import dress
from twinloop.observe.gl import driver
from twinloop.observe.image import sensed
from twinloop.observe.moments import picture_ticks, shown_in
from twinloop.observe.pictures import picture_features
from twinloop.observe.quality import QUALITY_NAMES, QualityName
from twinloop.observe.recording import PREFIX, HeldFrames
from twinloop.observe.renderer import FilmRequest, Renderer
from twinloop.run.config import RunConfig, load_config
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

HERE = Path(__file__).parent
DRAWN_EPISODES = 16  # episodes that the loops render repeatedly
CORES = os.cpu_count() or 1


def write_config(path: Path, quality: QualityName = "default") -> None:
    config = yaml.safe_load((HERE / "cameras.yaml").read_text())
    for camera in config["cameras"].values():
        camera["quality"] = quality
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


def live(renderer: Renderer, episodes: Episodes) -> Iterator[int]:
    """Render the current images of all episodes together, at every eighth control period."""
    rows = range(len(episodes.lengths))
    drawn_values = [
        {column: float(array[row]) for column, array in episodes.draws.values.items()} for row in rows
    ]  # fmt: skip
    for tick in range(0, int(episodes.lengths.min()), 8):
        requests = [FilmRequest(episodes, row, dict.fromkeys(renderer.cameras, np.array([tick]))) for row in rows]
        for row, clips in zip(rows, renderer.film_together(requests), strict=True):
            for name, clip in clips.items():
                plain = replace(clip, camera=replace(clip.camera, depth=False))
                sensed(plain, drawn_values[row], seed=0, attempt=row, name=f"{name}/{tick}")
        yield len(rows) * len(renderer.cameras)


def stages(config_path: Path) -> dict[str, float]:
    """CPU milliseconds per image of each stage after the simulation, in one thread."""
    config = load_config(config_path)
    renderer, episodes = simulated(config, DRAWN_EPISODES)
    features = {feature.name: feature for feature in picture_features(config.cameras, renderer.twin)}
    spent: dict[str, float] = dict.fromkeys(("draw", "sense", "video", "depth", "mask"), 0.0)
    images, fps = 0, renderer.twin.control_hz
    with tempfile.TemporaryDirectory() as name, ExitStack() as closing:
        writers = {
            key: closing.enter_context(VideoWriter(Path(name) / f"{key}.mp4", feature, fps))
            for key, feature in features.items()
        }
        for row in range(-1, len(episodes.lengths)):
            if row == 0:  # the round before has compiled and loaded everything
                spent, images = dict.fromkeys(spent, 0.0), 0
            values = {column: float(array[row]) for column, array in episodes.draws.values.items()}
            began = time.thread_time()
            clips = renderer.film(episodes, row)
            spent["draw"] += time.thread_time() - began
            for camera, clip in clips.items():
                began = time.thread_time()
                seen = sensed(clip, values, seed=0, attempt=row + 1, name=camera)
                masks = seen.instance_ids
                spent["sense"] += time.thread_time() - began
                shown = shown_in(seen.ticks, int(episodes.lengths[row]))
                for suffix, frames in (("", seen.rgb), ("_depth", seen.depth_m), ("_instances", masks)):
                    key = f"{PREFIX}{camera}{suffix}"
                    began = time.thread_time()
                    writers[key].write(HeldFrames(frames, shown))
                    spent[features[key].dtype] += time.thread_time() - began
                images += len(seen.ticks)
    return {stage: 1000 * seconds / images for stage, seconds in spent.items()}


LOOPS: dict[str, Callable[[Renderer, Episodes], Iterator[int]]] = {"bare": bare, "drawn": drawn, "live": live}


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
    measured = np.array([process.communicate()[0].split()[-2:] for process in running], float)
    return float(measured[:, 0].sum()), float(measured[:, 1].mean())


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


def measured(quality: QualityName, folder: Path, args: argparse.Namespace, way: tuple[int, int | None]) -> dict:
    """Figures of one quality."""
    config = folder / f"{quality}.yaml"
    write_config(config, quality)
    processes, threads = way
    generated(config, folder / f"warm_up_{quality}", 2)  # Numba compiles once per installation
    ours = generated(config, folder / f"dataset_{quality}", args.episodes)
    command = [sys.executable, __file__, "--loop", "stages", str(config)]
    environment = os.environ | {"LP_NUM_THREADS": "0"}
    staged = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
    alone = rate("drawn", config, args.seconds, processes=processes, threads=threads)
    seen = rate("live", config, args.seconds, processes=processes, threads=threads)
    # The rest of `generate`: simulation, start-up, statistics, Parquet, digests, export, report.
    staged["rest"] = 1000 * ours[1] - sum(staged.values())
    return {
        "generate_pictures_per_s": ours[0],
        "generate_cpu_ms": 1000 * ours[1],
        "drawn_pictures_per_s": alone[0],
        "drawn_cpu_ms": 1000 * alone[1],
        "live_pictures_per_s": seen[0],
        "live_cpu_ms": 1000 * seen[1],
        **{f"stage_{stage}_ms": value for stage, value in staged.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--episodes", type=int, default=200, help="episodes of `generate`")
    parser.add_argument("--seconds", type=float, default=8.0, help="duration of each loop")
    parser.add_argument("--quality", default="default,fast", help=f"any of {', '.join(QUALITY_NAMES)}")
    parser.add_argument("--loop", nargs=2, metavar=("KIND", "CONFIG"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.loop and args.loop[0] == "stages":
        print(json.dumps(stages(Path(args.loop[1]))))
        return
    if args.loop:
        loop(args.loop[0], Path(args.loop[1]), args.seconds)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "cameras.yaml"
        write_config(config)
        load = os.getloadavg()[0]
        ways = ((1, None), (CORES, None), (CORES, 0))
        limits = {way: rate("bare", config, args.seconds, processes=way[0], threads=way[1]) for way in ways}
        best = max(limits, key=lambda way: limits[way][0])
        qualities = {quality: measured(quality, folder, args, (CORES, 0)) for quality in args.quality.split(",")}
        again = rate("bare", config, args.seconds, processes=best[0], threads=best[1])
    reference, reference_ms = (limits[best][0] + again[0]) / 2, 500 * (limits[best][1] + again[1])
    results: dict[str, float] = {
        "bare_pictures_per_s": reference,
        "bare_before": limits[best][0],
        "bare_after": again[0],
        "bare_processes": best[0],
        "bare_cpu_ms": reference_ms,
    }
    for quality, figures in qualities.items():
        results |= {f"{quality}_{figure}": value for figure, value in figures.items()}
        results[f"{quality}_ratio"] = figures["generate_pictures_per_s"] / reference
        results[f"{quality}_cpu_ratio"] = reference_ms / figures["generate_cpu_ms"]
    results |= {"load_before": load, "load_after": os.getloadavg()[0]}
    for name, value in results.items():
        print(f"{name:36} {value:8.2f}")
    if args.json:
        on = {"episodes": args.episodes, "cores": CORES, "stored": "RGB, depth, instance masks", "rate_hz": 10}
        on["opengl"] = driver()
        print(json.dumps({name: round(value, 2) for name, value in results.items()} | on))


if __name__ == "__main__":
    main()
