"""The versions of everything that decides the bytes of an episode."""

import mujoco
import numpy as np
import pyarrow

from twinloop import __version__


def versions() -> dict[str, str]:
    # NumPy computes the expert's commands and its vector loops differ between releases; PyArrow encodes.
    return {
        "twinloop": __version__,
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "pyarrow": pyarrow.__version__,
    }
