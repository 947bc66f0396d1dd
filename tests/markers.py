"""The markers of tests, set from what a test module or a test uses. `pytest --quick` runs tests without any of them."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.module_times import place_of, seconds_of
from tests.schedule import longest_first

SOURCES = {
    "processes": r"\bsubprocess\b|\bPopen\b|\bPolicyProcess\b|\bRehearsalRobot\b|\brehearsal:|\bworkers=[2-9]"
    r"|\bdeploy\(|\bcollect\(|\brun_local\b|\brun_loop\b|\bprepare_drawing\b|\bEarlyReport\b",
    "ray": r"\bimport ray\b|\bRayExecutor\b|importorskip\(\"ray\"",
    "browser": r"\bplaywright\b|\bchromium\b",
}
"""Marker -> what the source of a test module contains that needs it."""

FIXTURES = {"object_store": "store"}
"""Fixture -> marker of the tests that use it."""

MARKERS = (*SOURCES, *FIXTURES.values(), "slow")

SLOW_FOLDERS = ("stories/", "faults/", "outside/")

SLOW_FROM_S = 1.2
"""Modules that take more CPU time than this are slow. `module_times.json` has the times; `make times` measures them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="run only tests without a marker, and import only their modules"
    )
    parser.addoption("--record-times", action="store_true", help="write CPU times into module_times.json")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--quick`, leave out modules in which every test has a marker, so that they are not imported."""
    if config.getoption("--quick") and collection_path.name.startswith("test_") and module_markers(collection_path):
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for marker in item_markers(item):
            item.add_marker(marker)
    if hasattr(config, "workerinput"):
        items.sort(key=longest_first)
    if config.getoption("--quick"):
        is_marked = [any(item.get_closest_marker(name) for name in MARKERS) for item in items]
        config.hook.pytest_deselected(items=[item for item, marked in zip(items, is_marked, strict=True) if marked])
        items[:] = [item for item, marked in zip(items, is_marked, strict=True) if not marked]


def item_markers(item: pytest.Item) -> set[str]:
    """The markers of one test."""
    fixtures = getattr(item, "fixturenames", ())
    return module_markers(item.path) | {FIXTURES[fixture] for fixture in fixtures if fixture in FIXTURES}


@cache
def module_markers(path: Path) -> set[str]:
    """The markers of all tests of a module."""
    source = path.read_text(encoding="utf-8")
    markers = {marker for marker, pattern in SOURCES.items() if re.search(pattern, source)}
    place = place_of(path)
    is_slow = place.startswith(SLOW_FOLDERS) or seconds_of(place) > SLOW_FROM_S
    return markers | ({"slow"} if is_slow else set())
