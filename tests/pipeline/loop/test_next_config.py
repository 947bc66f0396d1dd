"""The config of the next round uses demonstrations of whoever sees the scene, and of nobody else."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.test_robot_twin import robot_twin
from tests.pipeline.loop.test_steps import a_round, ranged
from twinloop.calibrate.by_traits import FittedTwin
from twinloop.curate.rates import Rate
from twinloop.deploy.collect import Sees
from twinloop.deploy.questions import People
from twinloop.pipeline.generate import generate
from twinloop.pipeline.loop.record import write_json
from twinloop.pipeline.loop.rounds import next_config
from twinloop.pipeline.loop.settings import LoopConfig
from twinloop.pipeline.loop.steps import Steps
from twinloop.randomize.distribution import Constant

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
