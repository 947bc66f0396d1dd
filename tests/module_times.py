"""CPU time of every test module: measured by `pytest --record-times`, and kept in `module_times.json`.

The table decides which modules `pytest --quick` leaves out and in which order modules run. `make times` writes it anew.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
TABLE = TESTS / "module_times.json"
UNKNOWN_S = 1.0
"""Assumed of a module that the table does not have."""
LEAST_S = 0.5
"""Modules that take less are not listed."""
PROPERTY = "cpu_s"


@cache
def module_times() -> dict[str, float]:
    """Module, relative to the folder of tests -> CPU seconds of its tests, with the processes that they started."""
    return json.loads(TABLE.read_text(encoding="utf-8"))


def seconds_of(module: str) -> float:
    return module_times().get(module, UNKNOWN_S)


def place_of(path: Path) -> str:
    """The module of a path, as the table names it."""
    return (path.relative_to(TESTS) if path.is_relative_to(TESTS) else path).as_posix()


def cpu_s() -> float:
    """CPU time of this process and of the processes that it has started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class TimeRecorder:
    """A plugin that measures every test, and writes the table when the run ends."""

    def __init__(self, config: pytest.Config):
        self._is_worker = hasattr(config, "workerinput")
        self._measured: dict[str, float] = defaultdict(float)
        self._start_s = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self._start_s = cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo) -> Iterator[None]:
        report: Any = yield
        if call.when == "teardown":
            report.user_properties.append((PROPERTY, cpu_s() - self._start_s))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        taken_s = sum(float(str(value)) for name, value in report.user_properties if name == PROPERTY)
        module = place_of(TESTS.parent / report.nodeid.partition("::")[0])
        if report.when == "teardown":
            self._measured[module] += taken_s

    def pytest_sessionfinish(self) -> None:
        if not self._is_worker:
            write_table(self._measured)


def write_table(measured: dict[str, float], table: Path = TABLE) -> None:
    """Write the measured modules into the table. Modules that were not measured keep their times, if they exist."""
    before = json.loads(table.read_text(encoding="utf-8")) if table.exists() else {}
    times = {module: seconds for module, seconds in {**before, **measured}.items() if (TESTS / module).exists()}
    listed = {module: round(seconds, 1) for module, seconds in sorted(times.items()) if seconds >= LEAST_S}
    table.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
