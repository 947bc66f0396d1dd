"""How fast pictures are drawn, next to what the graphics library allows on this machine.

    python benchmarks/cameras.py [--json] [--episodes 3]

Two cameras of 128 × 128, RGB + depth + masks, of simulated episodes with new materials, lights and camera poses in
each. The limit is a bare `mujoco.Renderer` over the same states and the same stage (shadow map, sides of round things,
no multisampling): three renderings a picture, since that is what it offers. Both draw on all cores, in one process.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

# A bare mujoco.Renderer chooses its backend while MuJoCo is imported.
os.environ.setdefault("MUJOCO_GL", "egl")

import mujoco
import numpy as np

from twinloop.observe.camera import default_cameras
from twinloop.observe.image import sensed
from twinloop.observe.labels import label
from twinloop.observe.renderer import Renderer
from twinloop.pipeline.config import load_config
from twinloop.pipeline.produce import twin_of
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

CONFIG = Path(__file__).parents[1] / "examples" / "cameras.yaml"


def bare(renderer: Renderer, episodes: Episodes) -> int:
    """Every state of the tape through mujoco.Renderer, with the stage as the last episode left it."""
    model, twin = renderer.stage.model, renderer.twin
    data, plain = mujoco.MjData(model), mujoco.Renderer(model, 128, 128)
    count = 0
    for position, environment in zip(episodes["position"], episodes["environment"], strict=True):
        data.qpos[twin.arm_qpos], data.qpos[twin.gripper_qpos] = position[:-1], position[-1] / 2
        data.qpos[twin.object_qpos : twin.object_qpos + 7] = environment[:7]
        data.mocap_pos[twin.target_mocap] = environment[7:10]
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
            count += 1
    plain.close()
    return count


def filmed(renderer: Renderer, episodes: Episodes, *, finish: bool) -> int:
    """All episodes; with `finish`, through lens and sensor and labelled."""
    count = 0
    for row in range(len(episodes.lengths)):
        values = {column: float(array[row]) for column, array in episodes.draws.values.items()}
        for name, clip in renderer.film(episodes, row, masks=True).items():
            count += len(clip.ticks)
            if finish:
                label(clip)
                sensed(clip, values, seed=0, attempt=row, name=name)
    return count


def rate(work: Callable[[], int]) -> float:
    began = time.perf_counter()
    count = work()
    return count / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--episodes", type=int, default=3)
    args = parser.parse_args()
    config = load_config(CONFIG)
    twin, width = twin_of(config), args.episodes
    draws = Sampler(config.randomization, seed=0).draw(0, width)
    expert = Expert(twin, config.expert, width=width, seed=0)
    (episodes,) = rollout(Cell(twin, width=width), iter([draws]), expert, seed=0)
    # A shutter has the renderer work out how every pixel moves; drawing alone is measured without.
    still = {**draws.values, "shutter_ms": np.zeros(width), "rolling_shutter_ms": np.zeros(width)}
    drawn_only = replace(episodes, draws=replace(draws, values=still))
    renderer = Renderer(twin, default_cameras(rate_hz=config.rollout.control_hz))
    renderer.film(episodes, 0, masks=True, ticks=np.arange(4))
    # Each limit is measured next to what it limits: shared machines drift.
    results = {
        "bare_frames_per_s": rate(lambda: bare(renderer, episodes)),
        "drawn_frames_per_s": rate(lambda: filmed(renderer, drawn_only, finish=False)),
        "bare_again_frames_per_s": rate(lambda: bare(renderer, episodes)),
        "finished_frames_per_s": rate(lambda: filmed(renderer, episodes, finish=True)),
    }
    for name, value in results.items():
        print(f"{name:28} {value:8.1f}")
    if args.json:
        print(json.dumps({name: round(value, 2) for name, value in results.items()} | {"cores": os.cpu_count()}))


if __name__ == "__main__":
    main()
