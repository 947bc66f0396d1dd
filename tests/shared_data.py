"""Real logs beside the repository, if there are any. They are not part of it; tests that use them skip without."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1] / "../shared/data"


def shared_data(name: str) -> Path:
    for place in (SHARED, Path(__file__).resolve().parents[2] / "../shared/data"):
        if (place / name).exists():
            return (place / name).resolve()
    pytest.skip(f"no real data here: shared/data/{name} is not beside the repository")
