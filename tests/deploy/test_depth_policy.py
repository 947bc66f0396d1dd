"""A policy that reads depth acts on the twin and in a rehearsal cell; one that reads masks is refused there."""

from pathlib import Path

import pytest

from tests.deploy.conftest import need_drake
from twinloop.dataset import Dataset
from twinloop.deploy.episode_runner import DeployConfig
from twinloop.deploy.session import deploy
from twinloop.errors import CheckpointError
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJobConfig, prepare
from twinloop.pipeline.generate import generate
from twinloop.run.config import load_config

FRONT = "observation.images.front"
CONFIG = """
cameras:
  front: {position_m: [1.0, -0.2, 0.6], look_at_m: [0.42, -0.03, 0.1], width: 64, height: 64, rate_hz: 5, depth: true,
          labels: [instances]}
"""


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("depth")
    (folder / "cell.yaml").write_text(CONFIG)
    generate(load_config(folder / "cell.yaml"), folder / "data", episodes=4, workers=1)
    return folder / "cell.yaml"


def trained(cell: Path, picture: str) -> Path:
    out = cell.parent / picture
    job = TrainingJobConfig(
        datasets=(cell.parent / "data",), policy="act", inputs=("observation.state", picture),
        train=TrainConfig(steps=1, batch=4), seed=0,
    )  # fmt: skip
    train(prepare(job), out)
    return out


def acted(policy: Path, robot: str, out: Path) -> Dataset:
    done = deploy(
        {"candidate": policy}, robot, out, episodes=1, config=DeployConfig(seed=1, episode_timeout_s=0.4),
        stop_file=out.parent / "stop",
    )  # fmt: skip
    assert not done.stopped
    return Dataset.open(out)


def test_a_policy_that_reads_depth_acts_on_twin_and_cell(cell: Path):
    need_drake()
    policy = trained(cell, f"{FRONT}_depth")
    for robot in (f"twin:{cell}", f"rehearsal:nominal,config={cell}"):
        log = acted(policy, robot, cell.parent / robot.partition(":")[0])
        depth_m = log.pictures(0, f"{FRONT}_depth")
        assert len(depth_m) == len(log.episode(0)["timestamp"]) > 5
        near_m = depth_m[depth_m > 0.05].min()  # the video stores pixels without a value as 0.01 m
        assert 0.3 < near_m < 1.5  # the arm or the table


def test_a_policy_that_reads_masks_is_refused(cell: Path):
    policy = trained(cell, f"{FRONT}_instances")
    with pytest.raises(CheckpointError, match=r"reads observation.images.front_instances .*masks.*, which twin"):
        acted(policy, f"twin:{cell}", cell.parent / "masks")
