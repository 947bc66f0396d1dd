"""The mapping of tasks: names are known without an import, and a task has the name of its file."""

import subprocess
import sys

import pytest

from twinloop.twin.tasks import tasks

READ_CONFIG = """
import sys
from twinloop.run.default import embedded_config
embedded_config()
print([name.rpartition(".")[2] for name in sys.modules if name.startswith("twinloop.twin.tasks.")])
"""


def test_every_task_has_the_name_under_which_it_is_found():
    known = tasks()
    assert len(known) == len(list(known)) >= 25
    assert all(known[name].name == name for name in known)


def test_an_unknown_task_is_a_key_error():
    assert "no_such_task" not in tasks()
    with pytest.raises(KeyError):
        tasks()["no_such_task"]


def test_a_config_imports_only_the_task_that_it_names():
    result = subprocess.run([sys.executable, "-c", READ_CONFIG], capture_output=True, text=True, check=True)
    assert "bin_picking" not in result.stdout
    assert "pick_and_place" in result.stdout
