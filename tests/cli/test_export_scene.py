"""`twinloop export-scene`: summary, episodes and refusals."""

import json
import sys
from pathlib import Path

import mujoco
import pytest

from twinloop.cli import main

CELL = """\
randomization:
  physics: {object_mass_kg: [0.05, 0.4], object_position_noise_cm: [-4, 4]}
"""


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    path = tmp_path / "cell.yaml"
    path.write_text(CELL)
    return path


def summary(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_a_cell_is_written_and_described(cell: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "scene"
    assert main(["export-scene", str(cell), "--out", str(out), "--mjcf", "--json"]) == 0
    result = summary(capsys)
    assert result["format"] == "mjcf"
    assert result["largest_state_difference"] == 0
    assert sorted(result["files"]) == sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    assert mujoco.MjModel.from_xml_path(result["main"]).nbody == result["bodies"] + 1


def test_seed_and_episode_choose_the_values(cell: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    masses = {}
    for seed, episode in (("3", "0"), ("3", "1"), ("4", "0")):
        out = tmp_path / f"{seed}-{episode}"
        command = [
            "export-scene",
            str(cell),
            "--out",
            str(out),
            "--urdf",
            "--episode",
            episode,
            "--seed",
            seed,
            "--json",
        ]
        assert main(command) == 0
        drawn = json.loads((out / "scene.json").read_text())["drawn"]
        assert main(["episode", str(cell), "--attempt", episode, "--seed", seed, "--json"]) == 0
        assert summary(capsys)["drawn"] == drawn
        masses[seed, episode] = drawn["object_mass_kg"]
    assert len(set(masses.values())) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mjcf", "--seed", "3"], "add --episode N or drop --seed"),
        ([], "one of the arguments --mjcf --usd --urdf is required"),
        (["--mjcf", "--urdf"], "not allowed with"),
        (["--mjcf", "--episode", "-1"], "a whole number from 0"),
    ],
)
def test_wrong_arguments(
    cell: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
):
    out = tmp_path / "scene"
    try:
        code = main(["export-scene", str(cell), "--out", str(out), *words])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_usd_without_its_package(
    cell: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pxr", None)
    assert main(["export-scene", str(cell), "--out", str(tmp_path / "scene"), "--usd"]) == 2
    assert "pip install 'twinloop[usd]'" in capsys.readouterr().err
    assert not (tmp_path / "scene").exists()
