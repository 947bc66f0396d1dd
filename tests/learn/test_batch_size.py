"""The default batch size depends on policy and inputs, and the digest of a job on the batch size alone."""

from pathlib import Path

import pytest

from tests.learn.demonstrated import reaching
from tests.learn.fork_and_spot import CAMERA, spotted
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.training_job import TrainingJobConfig, prepare


@pytest.mark.parametrize(("policy", "batch"), [("act", 64), ("flow", 128)])
def test_batches_of_images_are_smaller(tmp_path: Path, policy: str, batch: int):
    pytest.importorskip("av", reason="needs twinloop[video]")
    path = tmp_path / "spots"
    spotted(path, episodes=8)
    inputs = ("observation.state", CAMERA)
    job = prepare(TrainingJobConfig((path,), policy=policy, inputs=inputs, cache=tmp_path / "cache"))
    assert job.config.train.batch == batch


@pytest.mark.parametrize("policy", ["mlp", "act", "flow"])
def test_batches_of_vectors_are_large(tmp_path: Path, policy: str):
    job = prepare(TrainingJobConfig((reaching(tmp_path / "data"),), policy=policy))
    assert job.config.train.batch == 512


def test_the_default_is_the_same_job_as_its_number(tmp_path: Path):
    data = reaching(tmp_path / "data")
    digests = [prepare(TrainingJobConfig((data,), train=TrainConfig(batch=batch))).digest for batch in (None, 512, 256)]
    assert digests[0] == digests[1] != digests[2]
