"""Draw the sheets of the docs: `python docs/sheets.py [qualities] [robots] [tasks]`.

- `pictures/qualities.png`: the same episode at every quality of rendering.
- `pictures/robots.png`: every robot. `pictures/tasks.png`: every task.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from twinloop.deploy.robot_model import usual_robot
from twinloop.observe.camera import CameraConfig
from twinloop.observe.quality import QUALITY_NAMES
from twinloop.observe.renderer import Renderer
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.robots import robots as all_robots
from twinloop.twin.tasks import tasks as all_tasks
from twinloop.twin.twin import Twin

FOLDER = Path(__file__).parent / "pictures"
TILE_PX = 240
COLUMNS = 5
SEED = 8
MOMENT = 0.45  # share of the episode that is shown
LIGHT = "light_softness: 0.4, light_count: {choice: [3]}"


def simulated(text: str) -> tuple[RunConfig, Twin, Episodes]:
    config = config_from_text(text, name="sheet.yaml", folder=Path())
    twin = twin_of(config)
    draws = config.sampler(seed=SEED).draw(0, 1)
    expert = Expert(twin, config.expert, width=1, seed=SEED)
    (episodes,) = rollout(Cell(twin, width=1), iter([draws]), expert, seed=SEED)
    return config, twin, episodes


def pictured(text: str, **camera: object) -> list[np.ndarray]:
    """The middle of the first episode, from the default cameras."""
    config, twin, episodes = simulated(text)
    cameras: dict[str, CameraConfig] = {
        name: replace(own, width=TILE_PX, height=TILE_PX, **camera) for name, own in config.cameras_or_default.items()
    }
    tick = np.array([round(MOMENT * (int(episodes.lengths[0]) - 1))])
    return [clip.rgb[0] for clip in Renderer(twin, cameras).film(episodes, 0, ticks=tick).values()]


def sheet(name: str, tiles: list[tuple[str, np.ndarray]], columns: int = COLUMNS) -> None:
    rows = -(-len(tiles) // columns)
    height = TILE_PX + 22
    image = Image.new("RGB", (columns * (TILE_PX + 4) - 4, rows * height), "white")
    pen = ImageDraw.Draw(image)
    for number, (title, tile) in enumerate(tiles):
        left, top = number % columns * (TILE_PX + 4), number // columns * height
        image.paste(Image.fromarray(tile), (left, top + 18))
        pen.text((left + 2, top + 3), title, fill="black")
    file = FOLDER / f"{name}.png"
    image.quantize(200).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size:,} B", flush=True)


def qualities() -> None:
    tiles = []
    for quality in QUALITY_NAMES:
        front, wrist = pictured(f"randomization: {{visual: {{texture_pool: 12, {LIGHT}}}}}", quality=quality)
        tiles += [(f"quality: {quality}, front", front), (f"quality: {quality}, wrist", wrist)]
    sheet("qualities", tiles[::2] + tiles[1::2], columns=3)


def robots() -> None:
    tiles = []
    for robot in all_robots():
        task = "lift_tray" if robot.startswith("dual") else "pick_and_place"
        text = f"scene: {{robot: {robot}, task: {task}}}\nrandomization: {{visual: {{{LIGHT}}}}}"
        tiles.append((robot, pictured(text, quality="high")[0]))
    sheet("robots", tiles)


def tasks() -> None:
    tiles = []
    for task in all_tasks():
        robot = usual_robot(all_tasks()[task])
        text = f"scene: {{robot: {robot}, task: {task}}}\nrandomization: {{visual: {{{LIGHT}}}}}"
        tiles.append((task, pictured(text, quality="high")[0]))
    sheet("tasks", tiles)


if __name__ == "__main__":
    sheets = {"qualities": qualities, "robots": robots, "tasks": tasks}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(sheets)} (default: all)")
    for name in parser.parse_args().names or sheets:
        sheets[name]()
