"""Comparison of two datasets: differences are detected, and channels that cannot be compared are named."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.curate.quality.recordings import clean_recordings
from twinloop.cli import main
from twinloop.dataset.ingest import ingest, load_mapping, open_source
from twinloop.diagnose.compare import compare_datasets
from twinloop.signals.response import simulate

MAPPING = """\
rate_hz: 50
robot: arm
columns:
  observation.state: {{from: seen, names: [base, shoulder], unit: {unit}}}
  action: {{from: told, names: [base, shoulder], unit: {unit}}}
"""


def made(folder: Path, name: str, *, delay_s: float, unit: str = "rad", shift: float = 0.0) -> Path:
    logs = folder / f"{name}_logs"
    logs.mkdir()
    size = 1.0 if unit == "rad" else 180 / np.pi
    for take in clean_recordings(6, seed=len(name)):
        commanded = take.signals["action"][:, :2] + shift
        seen = np.stack([simulate(column, delay_s, 0.05, rate_hz=50) for column in commanded.T], axis=1)
        noise = np.random.default_rng(take.attempt).normal(0, 0.001, seen.shape)
        np.savez(logs / f"{take.attempt}.npz", told=commanded * size, seen=(seen + noise) * size)
    (folder / f"{name}.yaml").write_text(MAPPING.format(unit=unit))
    mapping = load_mapping(folder / f"{name}.yaml")
    ingest(open_source(logs, mapping), folder / name, name=name, label=name, mapping=mapping)
    return folder / name


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pair")
    return made(folder, "early", delay_s=0.03), made(folder, "latee", delay_s=0.09, unit="deg", shift=0.4)


@pytest.mark.slow
def test_a_delayed_and_shifted_dataset_is_detected(pair: tuple[Path, Path]):
    result = compare_datasets(*pair, seed=0)
    state = {channel.channel: channel for channel in result.channels}["observation.state/base"]
    assert state.caution == "converted from deg to rad"
    assert state.response is not None
    early, late = state.response
    assert late.total_s - early.total_s == pytest.approx(0.06, abs=0.006)
    assert state.distance.wasserstein == pytest.approx(0.4, abs=0.1)
    assert state.noise[1].std == pytest.approx(0.001, rel=0.6)


@pytest.mark.slow
def test_the_command_line_writes_a_page(pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compare", str(pair[0]), str(pair[1]), "--out", str(tmp_path / "both.html"), "--json"]) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {entry["channel"] for entry in output["channels"]} >= {"observation.state/base", "action/shoulder"}
    page = (tmp_path / "both.html").read_text()
    assert "<svg" in page
    assert "latee" in page
    assert "ms later" in page


def test_channels_of_other_quantities_are_not_compared(pair: tuple[Path, Path], tmp_path: Path):
    other = made(tmp_path, "metres", delay_s=0.03, unit="m")
    result = compare_datasets(pair[0], other, seed=0)
    assert result.channels == ()
    assert result.unmatched["observation.state/base"] == "rad cannot be compared with m"
