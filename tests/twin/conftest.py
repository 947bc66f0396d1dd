"""Shared fixtures of tests with model files."""

from collections.abc import Mapping
from pathlib import Path

import mujoco
import pytest

from twinloop.errors import ModelError
from twinloop.twin.robot_files import model_source
from twinloop.twin.robot_files.missing_assets import leave_out
from twinloop.twin.robot_files.urdf_spec import spec_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for model files. Their convex parts and trials are kept in a cache of its own."""
    monkeypatch.setenv("TWINLOOP_CACHE", str(tmp_path / "cache"))
    return tmp_path


def compile_here(
    path: Path, text: str = "", assets: Mapping[str, bytes] | None = None, *, missing: tuple[str, ...] = ()
) -> None:
    """`try_out` in this process. The models of these tests are small, and a process takes a third of a second."""
    try:
        spec = spec_of(text, dict(assets or {})) if text else mujoco.MjSpec.from_file(str(path))
        leave_out(spec, missing)
        spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"{path}: MuJoCo cannot compile it: {error}") from None


@pytest.fixture
def no_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are not compiled in a process of their own first. `tests/faults/test_hostile_files.py` tests that."""
    monkeypatch.setattr(model_source, "try_out", compile_here)
