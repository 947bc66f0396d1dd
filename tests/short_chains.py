"""A sampler of diagnosis with shorter chains, for logs whose cause is clear or does not matter."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from twinloop.diagnose import sampler


@contextmanager
def short_chains() -> Iterator[None]:
    """Diagnoses of this process draw 400 explanations in place of 700, after a shorter warm-up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampler, "WARM_UP", 30)
        patch.setattr(sampler, "SWEEPS", 40)
        yield
