"""Clips: videos of some episodes of an evaluation, which are simulated again."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from twinloop.dataset.video import VideoWriter
from twinloop.gate.rollouts import acted
from twinloop.learn.candidate import Candidate
from twinloop.learn.chunks import ActingConfig
from twinloop.observe.camera import default_cameras
from twinloop.observe.recording import Feature
from twinloop.observe.renderer import Renderer
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.engine import EngineConfig
from twinloop.simulate.episodes import Episodes

PIXELS = 192
EVERY = 2  # control periods between two images
FOLDER = "clips"


def film(
    candidate: Candidate,
    config: RunConfig,
    attempts: Sequence[int],
    out: Path,
    *,
    acting: ActingConfig,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
) -> dict[int, Path]:
    """Simulate these attempts again and write an MP4 of each to `out`/clips.

    Returns:
        Attempt -> path of its video.

    Raises:
        RenderError: this machine has no OpenGL.
    """
    if not attempts:
        return {}
    twin = twin_of(config)
    cameras = default_cameras(rate_hz=twin.control_hz, width=PIXELS, height=PIXELS)
    renderer = Renderer(twin, cameras)  # first, so that a machine without OpenGL raises before the simulation
    sampler = config.sampler()
    blocks = (sampler.draw(attempt, attempt + 1) for attempt in attempts)
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    films = {}
    for episodes in acted(config, twin, candidate.load(), acting, blocks, width=len(attempts), engine=engine):
        attempt = int(episodes.draws.attempts[0])
        if episodes.lengths[0]:
            films[attempt] = _write(
                episodes, renderer, folder / f"attempt-{attempt:06d}.mp4", fps=twin.control_hz / EVERY
            )
    return {attempt: films[attempt] for attempt in attempts if attempt in films}


def _write(episodes: Episodes, renderer: Renderer, path: Path, *, fps: float) -> Path:
    ticks = np.arange(0, episodes.lengths[0], EVERY)
    views = [clip.rgb for clip in renderer.film(episodes, 0, ticks=ticks).values()]
    pictures = np.concatenate(views, axis=2)
    feature = Feature("clip", "video", pictures.shape[1:])
    with VideoWriter(path, feature, fps) as writer:
        writer.write(pictures)
        writer.finish(len(pictures))
    return path
