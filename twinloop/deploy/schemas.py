"""JSON Schemas of the files that deploying reads."""

from typing import Any

from twinloop.config.record import DIALECT, json_schema
from twinloop.deploy.lerobot.config_file import LerobotConfig
from twinloop.deploy.plan_file import PLAN
from twinloop.deploy.rehearsal.cell_file import CellFile
from twinloop.deploy.safety.bounds import LimitsFile


def cell_schema() -> dict[str, Any]:
    """JSON Schema of a cell file."""
    return json_schema(CellFile, title="Twinloop rehearsal cell")


def robot_schema() -> dict[str, Any]:
    """JSON Schema of a lerobot robot file."""
    return json_schema(LerobotConfig, title="Twinloop lerobot robot")


def limits_schema() -> dict[str, Any]:
    """JSON Schema of a limits file."""
    return json_schema(LimitsFile, title="Twinloop limits of a robot")


def plan_schema() -> dict[str, Any]:
    """JSON Schema of a plan."""
    return {"$schema": DIALECT, "title": "Twinloop plan of demonstrations", **PLAN.schema()}
