"""Draw the pictures of the docs from simulated episodes: `make pictures`.

- `pictures/rows/`: what each row of the parameter table does.
- `pictures/episodes.gif`: a few episodes of one config, side by side.
- `pictures/report.png`: the top of a dataset's report, as a browser shows it.
"""

import argparse
import json
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from twinloop.cli import main
from twinloop.dashboard.effects.looks import range_of
from twinloop.dashboard.effects.picture import pictures_of
from twinloop.dashboard.effects.strips import StripRenderer
from twinloop.observe.image import sensed
from twinloop.observe.renderer import Renderer
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.run.config import load_config
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

DOCS = Path(__file__).parent
FOLDER = DOCS / "pictures" / "rows"
INDEX = FOLDER / "index.json"
EPISODES, REPORT = DOCS / "pictures" / "episodes.gif", DOCS / "pictures" / "report.png"

TILE_PX, TILES, FRAMES = 192, 4, 22
FRAME_MS, LAST_FRAME_MS = 160, 900
COLOURS = 96
REPORT_EPISODES, REPORT_SIZE_PX = 400, (1200, 1340)
REPORT_CONFIG = """\
randomization:
  physics:
    object_mass_kg: [0.05, 0.6]
    friction_coefficient: [0.02, 1.1]
    object_position_noise_cm: [-4, 4]
  actuation: {motor_strength_scale: [0.5, 1.1]}
"""


def draw_rows(names: list[str]) -> None:
    """Draw the effect of each named row and list the files in the index."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    index = json.loads(INDEX.read_text(encoding="utf-8")) if INDEX.exists() else {}
    begin = time.perf_counter()
    for picture in pictures_of((BY_NAME[name] for name in names), StripRenderer()):
        name = picture.row.name
        file = FOLDER / (name + picture.suffix)
        for old in FOLDER.glob(f"{name}.*"):
            old.unlink()
        file.write_bytes(picture.content)
        index[name] = {
            "file": file.name,
            "look": picture.look,
            "range": list(range_of(BY_NAME[name])),
            "clearness": float(f"{picture.clearness:.3g}"),
        }
        print(f"{file.name:36} {picture.look:14} {picture.clearness:8.1f} {len(picture.content):7,} B")
    print(f"{len(names)} pictures in {time.perf_counter() - begin:.1f} s")
    index = {row.name: index[row.name] for row in TABLE if row.name in index}
    INDEX.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    kept = {entry["file"] for entry in index.values()} | {INDEX.name}
    for stray in FOLDER.iterdir():
        if stray.name not in kept:
            stray.unlink()


def draw_episodes() -> None:
    """Episodes of the first example side by side, as an animation."""
    config = load_config(DOCS.parent / "examples" / "pick_and_place.yaml")
    camera = replace(config.cameras_or_default["front"], width=TILE_PX, height=TILE_PX, depth=False, labels=())
    twin, seed = twin_of(config), config.rollout.seed
    renderer = Renderer(twin, {"front": replace(camera, rate_hz=twin.control_hz)})
    draws = config.sampler(seed=seed).draw(0, TILES)
    actor = Expert(twin, config.expert, width=TILES, seed=seed)
    (episodes,) = rollout(Cell(twin, width=TILES), iter([draws]), actor, seed=seed)
    columns = []
    for row in range(TILES):
        ticks = np.linspace(0, int(episodes.lengths[row]) - 1, FRAMES).round().astype(int)
        clip = renderer.film(episodes, row, ticks=ticks)["front"]
        values = {column: float(array[row]) for column, array in draws.values.items()}
        columns.append(sensed(clip, values, seed=seed, attempt=int(draws.attempts[row]), name="front").rgb)
    gap = np.full((FRAMES, TILE_PX, 4, 3), 255, np.uint8)
    strip = np.concatenate([part for column in columns for part in (column, gap)][:-1], axis=2)
    # One palette for all frames, without dithering: pixels that do not change cost nothing.
    palette = Image.fromarray(strip[:: FRAMES // 4].reshape(-1, *strip.shape[2:])).quantize(COLOURS)
    frames = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in strip]
    durations = [FRAME_MS] * (FRAMES - 1) + [LAST_FRAME_MS]
    frames[0].save(EPISODES, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    print(f"{EPISODES.name}: {EPISODES.stat().st_size:,} B")


def draw_report() -> None:
    """The top of a report in Chromium. Without Chromium the old picture stays."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print(f"{REPORT.name}: not drawn, since there is no browser; run: apt-get install -y chromium")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        config, dataset = Path(folder) / "cell.yaml", Path(folder) / "pick_and_place"
        config.write_text(REPORT_CONFIG, encoding="utf-8")
        main(["generate", str(config), "--episodes", str(REPORT_EPISODES), "--out", str(dataset)])
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        width, height = REPORT_SIZE_PX
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto((dataset / "report.html").as_uri())
        page.screenshot(path=REPORT)
        browser.close()
    print(f"{REPORT.name}: {REPORT.stat().st_size:,} B")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="only these rows of the parameter table (default: everything)")
    rows = parser.parse_args().rows
    draw_rows(rows or [row.name for row in TABLE])
    if not rows:
        draw_episodes()
        draw_report()
