"""A dataset is made with MuJoCo Warp on its CPU device."""

import json
import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from twinloop.cli import main
from twinloop.dataset import Dataset, verify
from twinloop.errors import DatasetError
from twinloop.pipeline.generate import generate
from twinloop.run.default import embedded_config
from twinloop.simulate.engine import EngineConfig

# Not imported here: the import takes seconds in every test process.
if find_spec("mujoco_warp") is None:
    pytest.skip("MuJoCo Warp is not installed: pip install 'twinloop[warp]'", allow_module_level=True)

ROOT = Path(__file__).parents[2]


def test_a_dataset_is_made_with_warp(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    made, ordinary = tmp_path / "warp", tmp_path / "cpu"
    words = ["generate", "--episodes", "3", "--out", str(made), "--backend", "warp", "--device", "cpu", "--json"]
    assert main(words) == 0
    # Nothing but the result on standard output.
    output = json.loads(capfd.readouterr().out)
    assert output["accepted"] == 3
    assert output["workers"] == 1
    assert not verify(made).problems

    # The engine is in the header and in every episode; the config digest does not depend on it.
    config, warp = embedded_config(), EngineConfig("warp", "cpu")
    generate(config, ordinary, episodes=3, workers=1)
    by_warp, by_cpu = Dataset.open(made), Dataset.open(ordinary)
    assert by_warp.header.versions["warp_device"] == "cpu"
    assert set(by_warp.header.versions) - set(by_cpu.header.versions) == {"mujoco_warp", "warp", "warp_device"}
    assert by_warp.attempts()["version/warp_device"].to_pylist() == ["cpu"] * 3
    assert by_warp.header.config_digest == by_cpu.header.config_digest

    # Neither engine continues a dataset of the other, and no file is changed.
    digest = by_warp.digest()
    assert digest != by_cpu.digest()
    with pytest.raises(DatasetError, match="mujoco_warp"):
        generate(config, made, episodes=5, workers=1)
    with pytest.raises(DatasetError, match="mujoco_warp"):
        generate(config, ordinary, episodes=5, workers=1, engine=warp)
    assert Dataset.open(made).digest() == digest


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    (commands,) = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "gpu.md").read_text(), re.DOTALL)
    for command in commands.splitlines():
        program, *words = shlex.split(command)
        assert program == "twinloop"
        assert main(words) == 0
    assert len(Dataset.open(tmp_path / "datasets" / "by-warp").attempts()) == 4
