"""The commands of the page about scale run locally, on Ray and with a real object store."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.object_store import Store
from twinloop.dataset import Dataset, verify

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(object_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where they have been run, in the order of the page, under a hash seed of its own."""
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'twinloop[ray]'")
    folder = tmp_path_factory.mktemp("scale")
    shutil.copytree(ROOT / "examples", folder / "examples")
    page = (ROOT / "docs" / "scale.md").read_text()
    commands = "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    script = commands.replace("twinloop ", f"{sys.executable} -m twinloop ")
    script = script.replace("s3://bucket/run", object_store.address("run")).replace("--episodes 64", "--episodes 16")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"PYTHONHASHSEED": "4242"}
    subprocess.run(["bash", "-euc", script], cwd=folder, check=True, capture_output=True, env=environment)
    return folder


def test_the_dataset_is_identical_on_every_executor_and_store(folder: Path):
    digests = {name: Dataset.open(folder / "datasets" / name).digest() for name in ("here", "on_ray", "run")}
    assert len(set(digests.values())) == 1


def test_fetched_and_merged_datasets_verify(folder: Path):
    for name in ("run", "both"):
        assert verify(folder / "datasets" / name).require().exported
    assert Dataset.open(folder / "datasets" / "both").stored == 2 * Dataset.open(folder / "datasets" / "run").stored
