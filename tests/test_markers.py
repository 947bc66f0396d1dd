"""Markers: what they are derived from exists, and tests that start something are found."""

import pytest

from tests.markers import SLOW_FOLDERS, SLOW_MODULES, TESTS


@pytest.mark.parametrize("path", [*SLOW_FOLDERS, *SLOW_MODULES])
def test_every_folder_and_module_that_is_called_slow_exists(path: str):
    assert (TESTS / path).exists(), f"{path} is gone: remove it from tests/markers.py"


def test_tests_that_start_processes_ray_or_a_store_carry_the_marker(pytester: pytest.Pytester):
    pytester.makeconftest(
        "import pytest\nimport tests.markers\n"
        "def pytest_collection_modifyitems(items):\n    [tests.markers.add_markers(item) for item in items]\n"
        "@pytest.fixture\ndef object_store(): ...\n"
    )
    pytester.makepyfile(
        test_plain="def test_plain(): ...\ndef test_stored(object_store): ...\n",
        test_process="import subprocess\ndef test_started(): ...\n",
        test_cluster="def test_cluster():\n    import ray\n",
    )
    pytester.makeini("[pytest]\nmarkers =\n    processes\n    ray\n    store\n    browser\n    slow\n")
    for marker, names in {
        "processes": ["test_started"], "ray": ["test_cluster"], "store": ["test_stored"],
        "not processes and not ray and not store and not browser and not slow": ["test_plain"],
    }.items():  # fmt: skip
        result = pytester.runpytest("--collect-only", "-q", "-m", marker, "-p", "no:cacheprovider")
        found = [line.rpartition("::")[2] for line in result.outlines if "::" in line]
        assert found == names
