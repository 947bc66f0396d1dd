"""Shared fixture: a folder for model files."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for model files. Their convex parts and trials are kept in a cache of its own."""
    monkeypatch.setenv("TWINLOOP_CACHE", str(tmp_path / "cache"))
    return tmp_path
