"""The versions of everything that decides the numbers in an episode."""

import mujoco
import numpy as np

from twinloop import __version__


def versions() -> dict[str, str]:
    # NumPy too: the expert computes with it, and its vector loops differ between releases.
    return {"twinloop": __version__, "mujoco": mujoco.__version__, "numpy": np.__version__}
