"""A film of a simulated episode whose dataset has no cameras: it is simulated again and rendered."""

from dataclasses import replace

import numpy as np

from twinloop.dataset.reader import Dataset
from twinloop.errors import TwinloopError, UsageError
from twinloop.observe.renderer import Renderer
from twinloop.run.config import config_from_text
from twinloop.run.reproduce import reproduce

SIDE_PX = 192
EVERY = 2
"""One image of so many control periods."""


def simulated_film(dataset: Dataset, attempt: int) -> np.ndarray:
    """(images, height, width, 3) uint8 of the first camera of the config, or of the default camera.

    The film shows the simulation. A fault that was recorded, and not simulated, is not in it.

    Raises:
        UsageError: the dataset is not simulated, or cannot be simulated again with this version.
    """
    if dataset.header.source != "sim":
        raise UsageError(f"{dataset.path}: has no cameras, and its episodes are not simulated, so there are no films")
    try:
        config = config_from_text(dataset.config_text(), name="config.yaml", folder=dataset.path)
        config = config.with_seed(dataset.header.run_seed)
        made = reproduce(config, attempt)
        name, camera = next(iter(config.of_episode(attempt).cameras_or_default.items()))
        renderer = Renderer(made.twin, {name: replace(camera, width=SIDE_PX, height=SIDE_PX)})
    except (TwinloopError, ValueError) as error:
        raise UsageError(f"{dataset.path}: attempt {attempt} cannot be filmed: {error}") from None
    ticks = np.arange(0, int(made.episodes.lengths[0]), EVERY)
    return renderer.film(made.episodes, 0, ticks=ticks)[name].rgb
