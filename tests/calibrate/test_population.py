"""A tossed cube: hidden contact parameters are recovered; the whole calibration on files."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.tosses import EXAMPLE, bench, logs_of, tossed
from twinloop.calibrate.by_population import fit_by_population
from twinloop.calibrate.check import check
from twinloop.calibrate.population import EvaluatedSets, loss, posterior
from twinloop.cli import main

TRUTH = {"friction": 0.22, "contact_damping_ratio": 1.3}
REAL = Path(__file__).parents[2] / "../shared/data/cube_tosses"


def test_channel_weights_do_not_depend_on_units():
    rng = np.random.default_rng(0)
    tried = EvaluatedSets(rng.random((30, 2)), rng.uniform(1, 2, (30, 5, 2)))
    scaled = EvaluatedSets(tried.places, tried.errors * [1000.0, 1.0])
    np.testing.assert_allclose(loss(tried), loss(scaled))


def test_the_posterior_is_narrow_where_recordings_agree():
    rng = np.random.default_rng(1)
    places = rng.random((400, 2))
    agree = np.abs(places[:, :1] - 0.4) + 0.02 * rng.standard_normal((400, 12)) ** 2
    result = posterior(EvaluatedSets(places, 1 + agree[..., None]), rng=rng)
    assert abs(result[:, 0].mean() - 0.4) < 0.03
    assert result[:, 0].std() < 0.1 * result[:, 1].std() + 0.02


def test_hidden_friction_is_found_again():
    rng = np.random.default_rng(2)
    logs = logs_of(tossed(TRUTH, count=8, frames=80, rng=rng))
    fit = fit_by_population(bench(), check(bench(), logs), ["friction", "contact_damping_ratio"], seed=0, generations=6)
    result = fit.patch.fitted["friction"]
    assert result.value == pytest.approx(TRUTH["friction"], rel=0.05) or result.low <= TRUTH["friction"] <= result.high
    assert fit.patch.provenance.residual["place"]["mae"] < 0.1
    low, high = fit.patch.ranges["friction_coefficient"]
    assert 0.15 < low <= high < 0.32


def test_files_of_tosses_to_a_patch_to_a_replay(tmp_path, capsys):
    rng = np.random.default_rng(3)
    arrays = tossed(TRUTH, count=8, frames=80, rng=rng)
    names = list(arrays)
    for folder, some in (("fit", names[:5]), ("unseen", names[5:])):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / "tosses.npz", allow_pickle=False, **{name: arrays[name] for name in some})
    patch = str(tmp_path / "patch.yaml")
    words = ["calibrate", str(EXAMPLE), "--logs", str(tmp_path / "fit"), "--fit", "friction", "--out", patch, "--json"]
    assert main(words) == 0
    capsys.readouterr()
    mae = {}
    for given in ([], ["--patch", patch]):
        assert main(["replay", str(EXAMPLE), "--logs", str(tmp_path / "unseen"), *given, "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        mae[bool(given)] = printed["channels"]["place"]["mae"]
    assert mae[True] < 0.7 * mae[False]


def test_the_example_holds_real_tosses_to_their_start():
    """Before any fit: the flight is right, what comes after the first touch is not."""
    if not REAL.is_dir():
        pytest.skip("no real tosses here")
    from twinloop.calibrate.logs import read_logs
    from twinloop.calibrate.replay import replay

    logs = read_logs(REAL, format="npz", files="*.npz", rows="", time="", rate_hz=148)[:6]
    result = replay(bench(), logs)
    assert result.over_time["place"][0] < 0.05
    assert result.over_time["place"][-1] > 0.3
