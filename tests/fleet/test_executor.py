"""Executors by name, and the message for an unknown or missing one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.work import double
from twinloop.errors import UsageError
from twinloop.fleet.executor import LOCAL, executor_of


def test_local_runs_all_items_and_reports_its_cores():
    executor = executor_of("local")
    assert executor is LOCAL
    assert executor.capacity() >= 1
    assert sorted(executor.run(double, None, range(5), workers=1)) == [(item, 2 * item) for item in range(5)]


def test_an_address_needs_ray():
    with pytest.raises(UsageError, match="--executor ray"):
        executor_of("local", "auto")


def test_without_ray_the_error_names_the_package_to_install(tmp_path: Path):
    """In a process that cannot import it, whether it is installed or not."""
    code = "import sys; sys.modules['ray'] = None; from twinloop.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "generate", "--episodes", "1", "--executor", "ray", "--out"]
    done = subprocess.run([*command, str(tmp_path / "data")], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'twinloop[ray]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()
