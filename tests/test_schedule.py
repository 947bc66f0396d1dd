"""Order of test modules: longest first, modules with shared fixtures in one process, times of modules that exist."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import module_times, schedule
from tests.module_times import UNKNOWN_S, write_table


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of tests with a table of times."""
    tests = tmp_path / "tests"
    tests.mkdir()
    sources = {
        "test_alone": "def test_a(): ...\n",
        "test_shared": '@pytest.fixture(scope="module")\ndef made(): ...\n',
        "test_stored": "def test_a(object_store: Store): ...\n",
        "test_also_stored": "def test_b(object_store: Store): ...\n",
        "test_short": "def test_a(): ...\n",
    }
    for name, source in sources.items():
        (tests / f"{name}.py").write_text(source)
    table = tests / "module_times.json"
    table.write_text(json.dumps({"test_alone.py": 40.0, "test_shared.py": 60.0, "test_short.py": 2.0}))
    for module in (module_times, schedule):
        monkeypatch.setattr(module, "TESTS", tests)
    monkeypatch.setattr(module_times, "TABLE", table)
    functions: tuple[Any, ...] = (
        module_times.module_times, schedule._source, schedule.is_divided, schedule.unit_of, schedule._unit_s,
    )  # fmt: skip
    for function in functions:
        function.cache_clear()
    yield tests
    for function in functions:
        function.cache_clear()


def test_only_long_modules_without_shared_fixtures_are_divided(tree: Path):
    divided = {path.name for path in tree.glob("test_*.py") if schedule.is_divided(f"tests/{path.name}")}
    assert divided == {"test_alone.py"}


def test_modules_with_an_object_store_run_together_and_first(tree: Path):
    units = {path.name: schedule.unit_of(f"tests/{path.name}") for path in tree.glob("test_*.py")}
    assert units["test_stored.py"] == units["test_also_stored.py"]
    assert len(set(units.values())) == len(units) - 1
    items: list[Any] = [SimpleNamespace(nodeid=f"tests/{name}::test") for name in units]
    order = [item.nodeid.partition("::")[0] for item in sorted(items, key=schedule.longest_first)]
    assert {*order[:2]} == {"tests/test_stored.py", "tests/test_also_stored.py"}
    assert order[2:] == ["tests/test_shared.py", "tests/test_alone.py", "tests/test_short.py"]


@pytest.mark.usefixtures("tree")
def test_the_table_forgets_modules_that_are_gone_and_keeps_those_that_were_not_measured():
    table = module_times.TABLE
    write_table({"test_alone.py": 7.04, "test_gone.py": 9.0, "test_short.py": 0.1}, table)
    assert json.loads(table.read_text()) == {"test_alone.py": 7.0, "test_shared.py": 60.0}
    module_times.module_times.cache_clear()
    assert module_times.seconds_of("test_short.py") == UNKNOWN_S
