"""List the robots that a config can name, with the figures that decide what they can do."""

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.twin.robot_summary import RobotSummary, summary_of
from twinloop.twin.robots import robots

EXAMPLES = """\
examples:
  twinloop robots
  twinloop robots --json
Then in a config:  scene: {robot: ur5e_2f85}
Your own robot, as MJCF or URDF:  twinloop inspect-robot my_arm.urdf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are no options of its own."""


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    del args
    summaries = [summary_of(robot) for robot in robots().values()]
    table = Table()
    for heading in ("robot", "axes", "reach", "payload", "opening", "source"):
        table.add_column(heading, no_wrap=heading != "source")
    for summary in summaries:
        payload = "–" if summary.payload_kg is None else f"{summary.payload_kg:g} kg"
        table.add_row(
            summary.name, str(summary.axes), f"{summary.reach_m:g} m", payload, f"{1000 * summary.opening_m:.0f} mm",
            summary.source,
        )  # fmt: skip
    console.print(table)
    return {"robots": [_row(summary) for summary in summaries]}


def _row(summary: RobotSummary) -> dict[str, Any]:
    return {
        "name": summary.name,
        "axes": summary.axes,
        "reach_m": summary.reach_m,
        "payload_kg": summary.payload_kg,
        "gripper_opening_m": round(summary.opening_m, 4),
        "gripper_unit": summary.gripper_unit,
        "source": summary.source,
    }
