"""The order in which test processes take modules: the longest first, and each module in one process.

Tests of a module share its fixtures, so a module is not divided unless it has none and takes long.
"""

import re
from functools import cache
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.module_times import TESTS, place_of, seconds_of

DIVIDED_FROM_S = 10.0
"""Modules without shared fixtures that take longer are divided into their tests."""
SHARED = r"scope=\"(module|session|package)\""
OBJECT_STORE = "object store"
STORE = r"\bobject_store: "


class ModuleSchedule(LoadScopeScheduling):
    """Gives the next module, or the next test of a divided module, to a process that has nothing left to do."""

    def __init__(self, config: pytest.Config, log: Any):
        super().__init__(config, log)
        config.option.loadscopereorder = False  # the tests are in order already

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return nodeid if is_divided(module) else unit_of(module)


def longest_first(item: pytest.Item) -> float:
    """Key that sorts tests by the time of what they run together with, the longest first."""
    return -_unit_s(item.nodeid.partition("::")[0])


@cache
def _source(module: str) -> str:
    file = TESTS.parent / module
    return file.read_text(encoding="utf-8") if file.is_file() else ""


@cache
def is_divided(module: str) -> bool:
    """Whether the tests of a module may run in several processes."""
    place = place_of(TESTS.parent / module)
    return seconds_of(place) > DIVIDED_FROM_S and not re.search(f"{SHARED}|{STORE}", _source(module))


@cache
def unit_of(module: str) -> str:
    """The group in which a module runs. All modules that use an object store share one server."""
    return OBJECT_STORE if re.search(STORE, _source(module)) else module


@cache
def _unit_s(module: str) -> float:
    # The servers of object stores and of Ray take time that is not measured.
    return float("inf") if unit_of(module) == OBJECT_STORE else seconds_of(place_of(TESTS.parent / module))
