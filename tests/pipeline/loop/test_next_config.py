"""The config of the next round: which demonstrations it uses, and when the fitted twin of a round is kept."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.test_robot_twin import robot_twin
from tests.pipeline.loop.test_steps import a_round, ranged
from twinloop.calibrate.by_traits import FittedTwin
from twinloop.calibrate.fitted_twin import FITTED, with_fitted, write_fitted
from twinloop.calibrate.robot_twin import FITTED_WITH_DEMONSTRATIONS
from twinloop.curate.rates import Rate
from twinloop.deploy.collect import Sees
from twinloop.deploy.questions import People
from twinloop.gate.evaluation import rate_json
from twinloop.pipeline.generate import generate
from twinloop.pipeline.loop.record import write_json
from twinloop.pipeline.loop.rounds import next_config
from twinloop.pipeline.loop.settings import LoopConfig
from twinloop.pipeline.loop.steps import Steps
from twinloop.randomize.distribution import Constant
from twinloop.run.config import load_config

ROW = "encoder_offset_mrad.joint2"


@pytest.fixture(scope="module")
def finished_round(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loop after round 0, with demonstrations on a robot whose encoder reads too high."""
    out = tmp_path_factory.mktemp("loop")
    folder = out / "round-0"
    folder.mkdir()
    (folder / "config.yaml").write_text(ranged(1.0).to_yaml())
    generate(ranged(1.0), folder / "runlog", episodes=1, workers=1)
    write_json(folder / "round.json", vars(replace(a_round(9), gate={"runlog": "round-0/runlog"})))
    fitted = FittedTwin({"tracker_bias_mm.x": np.linspace(-1.0, 1.0, 32)}, Rate(60, 64), Rate(10, 20), ("log",))
    robot_twin(folder, folder / "runlog", fitted)
    wrong = replace(ranged(1.0), randomization={**ranged(1.0).randomization, ROW: Constant(8.0)})
    generate(wrong, out / "collected" / "after-0", episodes=8, workers=1)
    return out


@pytest.mark.parametrize(
    ("sees", "simulated", "used"), [("scene", True, True), ("readings", True, False), ("readings", False, True)]
)
def test_the_next_config_has_the_offsets_that_demonstrations_show(
    finished_round: Path, sees: Sees, simulated: bool, used: bool
):
    """On hardware people demonstrate, who see the scene."""
    settings = LoopConfig(robot="twin", demonstrator_sees=sees, simulated=simulated)
    steps = Steps(finished_round, settings, 0, lambda _: None)
    people = People(finished_round, simulated=simulated, ask=lambda _: None)
    ranges = next_config(ranged(1.0), steps, people).randomization
    assert (ROW in ranges) is used
    if used:
        assert ranges[ROW].support()[0] == pytest.approx(8.0, abs=1.0)


@pytest.mark.parametrize(("successes", "is_kept"), [(17, True), (5, False)])
def test_the_fitted_twin_of_a_round_is_kept_if_it_predicted_the_success_on_the_robot(
    finished_round: Path, tmp_path: Path, successes: int, is_kept: bool
):
    out = tmp_path / "loop"
    shutil.copytree(finished_round, out)
    first, folder = out / "round-0", out / "round-1"
    fitted = FittedTwin({"tracker_bias_mm.x": np.linspace(2.0, 3.0, 32)}, Rate(0, 64), Rate(17, 20), ("log",))
    folder.mkdir()
    (folder / "config.yaml").write_text(with_fitted(ranged(1.0), fitted).to_yaml())
    for name in (FITTED, FITTED_WITH_DEMONSTRATIONS):  # the new fits, which are too severe
        write_fitted(fitted, folder / name)
    shutil.copytree(first / "runlog", folder / "runlog")
    trials = {"twin": rate_json(Rate(18, 20)), "robot": rate_json(Rate(successes, 20))}
    write_json(folder / "round.json", vars(replace(a_round(9), number=1, gate={"runlog": "round-1/runlog"}, **trials)))
    steps = Steps(out, LoopConfig(robot="twin"), 1, lambda _: None)
    config = next_config(ranged(1.0), steps, People(out, simulated=True, ask=lambda _: None))
    assert (config == load_config(folder / "config.yaml")) is is_kept
