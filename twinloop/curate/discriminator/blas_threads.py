"""Linear algebra on one thread, while blocks of episodes are spread over threads.

The matrices of a curator are small. BLAS threads would wait for each other most of the time, and take more than twice
the CPU time.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.util import find_spec
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context with one BLAS thread per call. Does nothing without threadpoolctl, which scikit-learn brings along."""
    controller = _controller()
    return nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    if find_spec("threadpoolctl") is None:
        return None
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
