"""The versions of everything that decides the bytes of an episode."""

from collections.abc import Iterable

import mujoco
import numpy as np
import pyarrow

from twinloop import __version__
from twinloop.dataset import encoder_version
from twinloop.observe.gl import driver
from twinloop.observe.recording import Feature
from twinloop.simulate.engine import EngineConfig


def versions(
    features: Iterable[Feature],
    *,
    films: bool,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
) -> dict[str, str]:
    """`films`: whether anything is drawn, and so OpenGL asked; nothing else may need it.

    `engine`: another one adds its own versions and device. They are part of what a dataset is, so that no run
    continues with one engine what another has begun.
    """
    # NumPy computes the expert's commands and its vector loops differ between releases; PyArrow encodes.
    found = {
        "twinloop": __version__,
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "pyarrow": pyarrow.__version__,
    }
    if engine.backend == "warp":
        from twinloop.simulate.warp_support import warp_versions

        found |= warp_versions(engine.device)
    if any(feature.is_picture for feature in features):
        found["av"] = encoder_version()
    if films:
        # Another driver, or another width of its vectors, draws other pixels.
        found["opengl"] = driver()
    return found
