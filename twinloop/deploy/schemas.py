"""JSON Schemas of the files that deploying reads."""

from typing import Any

from twinloop.config.record import json_schema
from twinloop.deploy.lerobot.config_file import LerobotConfig
from twinloop.deploy.rehearsal.cell_file import CellFile


def cell_schema() -> dict[str, Any]:
    """JSON Schema of a cell file."""
    return json_schema(CellFile, title="Twinloop rehearsal cell")


def robot_schema() -> dict[str, Any]:
    """JSON Schema of a lerobot robot file."""
    return json_schema(LerobotConfig, title="Twinloop lerobot robot")
