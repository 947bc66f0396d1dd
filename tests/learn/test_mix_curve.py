"""The share of simulated data: a good twin earns one, a wrong twin does not, and bad input is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.learn.demonstrated import reaching
from twinloop.curate.rates import Rate
from twinloop.dashboard.mix import render_mix
from twinloop.errors import DatasetError, UsageError
from twinloop.learn.candidate import Candidate
from twinloop.learn.mix_curve import MixConfig, MixPoint, mix_curve, proposed
from twinloop.learn.optimise import TrainConfig

QUICK = MixConfig(
    shares=(0.0, 0.5, 1.0), folds=2, settings={"width": 32, "depth": 1, "horizon": 4, "executed": 2},
    train=TrainConfig(steps=100, batch=64, look_every=100, learning_rate=3e-3),
)  # fmt: skip


@pytest.fixture(scope="module")
def real(tmp_path_factory) -> Path:
    return reaching(tmp_path_factory.mktemp("mix") / "real", episodes=8, seed=50, source="real")


def test_a_good_twin_earns_a_share_and_a_stopped_run_continues(real: Path, tmp_path: Path):
    sim = reaching(tmp_path / "sim", episodes=48, seed=1)
    curve = mix_curve([sim], [real], tmp_path / "out", config=QUICK)
    alone, mixed, _ = curve.points
    assert mixed.loss < alone.loss
    assert curve.share > 0
    assert curve.by == "loss"
    assert curve.mix == f"sim={curve.share:g},real={1 - curve.share:g}"
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.safetensors")}
    assert mix_curve([sim], [real], tmp_path / "out", config=QUICK) == curve
    assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.safetensors")}
    assert "Loss on held-out real episodes" in render_mix(curve)


def test_a_wrong_twin_alone_is_worse_than_real_data(real: Path, tmp_path: Path):
    sim = reaching(tmp_path / "sim", episodes=24, seed=1, offset=1.0)
    evaluated: list[str] = []

    def success_at(candidate: Candidate) -> Rate:
        evaluated.append(candidate.name)
        return Rate(0 if candidate.name.startswith("share-1-") else 9, 10)

    curve = mix_curve([sim], [real], tmp_path / "out", config=QUICK, success_at=success_at)
    assert curve.points[2].worse_low > 0
    assert not curve.points[2].as_good
    assert curve.share < 1
    assert len(evaluated) == 6
    assert curve.points[0].success == Rate(18, 20)


def test_success_decides_where_it_contradicts_the_loss():
    point = MixPoint(0.0, 1.0, 0.9, 1.1, 0.0, 0.0, 0.0, Rate(1, 40))
    better = MixPoint(0.5, 1.2, 1.1, 1.3, 0.2, 0.1, 0.3, Rate(30, 40))
    alike = replace(better, success=Rate(2, 40))
    assert proposed([point, better]) == (0.5, "success")
    assert proposed([point, alike]) == (0.0, "loss")


def test_bad_input_is_refused(real: Path, tmp_path: Path):
    sim = reaching(tmp_path / "sim", episodes=8, seed=1)
    few = reaching(tmp_path / "few", episodes=3, seed=2, source="real")
    with pytest.raises(UsageError, match="the real data has 3 accepted episodes; 6 or more are needed for 2 folds"):
        mix_curve([sim], [few], tmp_path / "out", config=QUICK)
    with pytest.raises(DatasetError, match="sim: is simulated data; give a runlog"):
        mix_curve([sim], [sim], tmp_path / "out", config=QUICK)
    with pytest.raises(DatasetError, match="real: is real data; give a dataset of `generate` as SIM"):
        mix_curve([real], [real], tmp_path / "out", config=QUICK)
    with pytest.raises(UsageError, match=r"shares: 0\.5 was given; two or more"):
        mix_curve([sim], [real], tmp_path / "out", config=replace(QUICK, shares=(0.5,)))
