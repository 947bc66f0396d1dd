"""Versions of all software that affects the bytes of an episode."""

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
    """Return name -> version.

    Args:
        features: the features of the dataset. Image features add the encoder's version.
        films: whether images are rendered. OpenGL is queried only then.
        engine: the physics engine. Warp adds its versions and device. The versions identify the dataset, so a run
            cannot be continued with another engine.
    """
    # NumPy computes the expert's commands, and results may differ between releases. PyArrow encodes the files.
    packages = {
        "twinloop": __version__,
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "pyarrow": pyarrow.__version__,
    }
    if engine.backend == "warp":
        from twinloop.simulate.warp_support import warp_versions

        packages |= warp_versions(engine.device)
    if any(feature.is_picture for feature in features):
        packages["av"] = encoder_version()
    if films:
        # Another driver, or another vector width of it, renders other pixels.
        packages["opengl"] = driver()
    return packages
