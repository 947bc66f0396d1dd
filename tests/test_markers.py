"""Markers: their sources exist, and tests that start processes are marked."""

import pytest

from tests.markers import MARKERS, SLOW_FOLDERS
from tests.module_times import TESTS, module_times


@pytest.mark.parametrize("path", [*SLOW_FOLDERS, *module_times()])
def test_every_folder_and_module_that_is_called_slow_exists(path: str):
    assert (TESTS / path).exists(), f"{path} is gone: run `make times`, or remove it from tests/module_times.json"


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A small suite with our markers."""
    pytester.makeconftest(
        "import pytest\n"
        "from tests.markers import pytest_addoption, pytest_collection_modifyitems, pytest_ignore_collect\n"
        "@pytest.fixture\ndef object_store(): ...\n"
    )
    pytester.makepyfile(
        test_plain="def test_plain(): ...\ndef test_stored(object_store): ...\n",
        test_process="import subprocess\ndef test_started(): ...\n",
        test_cluster="def test_cluster():\n    import ray\n",
    )
    pytester.makeini("[pytest]\nmarkers =\n    processes\n    ray\n    store\n    browser\n    slow\n")
    return pytester


def collected(suite: pytest.Pytester, *arguments: str) -> list[str]:
    result = suite.runpytest("--collect-only", "-q", *arguments, "-p", "no:cacheprovider")
    return [line.rpartition("::")[2] for line in result.outlines if "::" in line]


@pytest.mark.parametrize(
    ("marker", "name"), [("processes", "test_started"), ("ray", "test_cluster"), ("store", "test_stored")]
)
def test_tests_that_start_processes_ray_or_a_store_carry_the_marker(suite: pytest.Pytester, marker: str, name: str):
    assert collected(suite, "-m", marker) == [name]


def test_quick_runs_the_tests_without_a_marker(suite: pytest.Pytester):
    unmarked = " and ".join(f"not {marker}" for marker in MARKERS)
    assert collected(suite, "--quick") == collected(suite, "-m", unmarked) == ["test_plain"]


def test_quick_does_not_import_the_other_modules(suite: pytest.Pytester):
    suite.makepyfile(test_heavy="import subprocess\nraise RuntimeError('imported')\n")
    assert suite.runpytest("--quick", "-p", "no:cacheprovider").ret == pytest.ExitCode.OK
    assert suite.runpytest("-p", "no:cacheprovider").ret == pytest.ExitCode.INTERRUPTED
