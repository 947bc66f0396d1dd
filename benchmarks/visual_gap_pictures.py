"""Pictures of `visual_gap.py`: frames to fit ranges to, and the sheet in the docs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from twinloop.dashboard.images import png_bytes
from twinloop.dataset import Dataset

FRAMES = 20
SHOWN_ROW = 12
"""Control period of the pictures in the docs, about half a second after the start."""


def write_frames(runlog: Path, folder: Path, cameras: Sequence[str]) -> None:
    """Write 20 images of each camera, spread over a runlog."""
    dataset = Dataset.open(runlog)
    for camera in cameras:
        (folder / camera).mkdir(parents=True)
        frames_per_episode = -(-FRAMES // dataset.stored)
        for episode in range(dataset.stored):
            rows = len(dataset.episode(episode)["timestamp"])
            # Neighbouring frames in fours, because noise is the difference of frames in which nothing moves.
            begins = np.linspace(0, rows - 5, max(frames_per_episode // 4, 1)).astype(int)
            wanted = [int(begin) + step for begin in begins for step in range(4)]
            pictures = dataset.pictures(episode, f"observation.images.{camera}", rows=wanted)
            for number, picture in enumerate(pictures):
                (folder / camera / f"{episode:03d}-{number:03d}.png").write_bytes(png_bytes(picture))


def write_picture(datasets: Sequence[Path], cameras: Sequence[str], file: Path) -> None:
    """Write three scenes of each dataset as one picture, a row for each: all cameras side by side."""
    rows = []
    for folder in datasets:
        dataset = Dataset.open(folder)
        features = [f"observation.images.{camera}" for camera in cameras]
        images = [dataset.pictures(scene, name, rows=[SHOWN_ROW])[0] for scene in range(3) for name in features]
        rows.append(np.concatenate(images, axis=1))
    sheet = Image.fromarray(np.concatenate(rows))
    sheet.resize((2 * sheet.width, 2 * sheet.height), Image.Resampling.NEAREST).quantize(128).save(file, optimize=True)
