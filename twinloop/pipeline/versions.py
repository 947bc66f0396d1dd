"""The versions of everything that decides the bytes of an episode."""

from collections.abc import Iterable

import mujoco
import numpy as np
import pyarrow

from twinloop import __version__
from twinloop.dataset import encoder_version
from twinloop.observe.gl import driver
from twinloop.observe.recording import Feature


def versions(features: Iterable[Feature], *, films: bool) -> dict[str, str]:
    """`films`: whether anything is drawn, and so OpenGL asked; nothing else may need it."""
    # NumPy computes the expert's commands and its vector loops differ between releases; PyArrow encodes.
    found = {
        "twinloop": __version__,
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "pyarrow": pyarrow.__version__,
    }
    if any(feature.is_picture for feature in features):
        found["av"] = encoder_version()
    if films:
        # Another driver, or another width of its vectors, draws other pixels.
        found["opengl"] = driver()
    return found
