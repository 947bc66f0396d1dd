"""The markers of tests, set from what a test module or a test uses. `make quick` runs tests without any of them."""

import re
from functools import cache
from pathlib import Path

import pytest

SOURCES = {
    "processes": r"\bsubprocess\b|\bPopen\b|\bPolicyProcess\b|\bRehearsalRobot\b|\brehearsal:|\bworkers=[2-9]"
    r"|\bdeploy\(|\bcollect\(|\brun_local\b|\brun_loop\b",
    "ray": r"\bimport ray\b|\bRayExecutor\b|importorskip\(\"ray\"",
    "browser": r"\bplaywright\b|\bchromium\b",
}
"""Marker -> what the source of a test module contains that needs it."""

FIXTURES = {"object_store": "store"}
"""Fixture -> marker of the tests that use it."""

SLOW_FOLDERS = ("stories", "faults", "outside")


def add_markers(item: pytest.Item) -> None:
    """Set the markers of one test."""
    for marker, pattern in SOURCES.items():
        if re.search(pattern, _source(item.path)):
            item.add_marker(marker)
    for fixture in getattr(item, "fixturenames", ()):
        if fixture in FIXTURES:
            item.add_marker(FIXTURES[fixture])
    if item.path.relative_to(Path(__file__).parent).parts[0] in SLOW_FOLDERS:
        item.add_marker("slow")


@cache
def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8")
