"""The versions of everything that decides the bytes of an episode."""

from collections.abc import Iterable

import mujoco
import numpy as np
import pyarrow

from twinloop import __version__
from twinloop.dataset import encoder_version
from twinloop.observe.recording import Feature


def versions(features: Iterable[Feature]) -> dict[str, str]:
    # NumPy computes the expert's commands and its vector loops differ between releases; PyArrow encodes.
    found = {
        "twinloop": __version__,
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "pyarrow": pyarrow.__version__,
    }
    if any(feature.is_picture for feature in features):
        found["av"] = encoder_version()
    return found
