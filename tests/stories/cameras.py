"""Configs with cameras. Tests that need one are skipped where no images can be drawn or written."""

from pathlib import Path

import pytest

from twinloop.observe.gl import context
from twinloop.run.config import RunConfig, config_from_text


def camera_config(text: str) -> RunConfig:
    pytest.importorskip("av", reason="needs twinloop[video]")
    try:
        context()
    except Exception as error:
        pytest.skip(f"no OpenGL on this machine: {error}")
    return config_from_text(text, name="cell.yaml", folder=Path())
