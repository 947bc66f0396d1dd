"""The input that says whether data is real: simulated data can stand for the robot."""

from pathlib import Path

import numpy as np
import pytest

from tests.learn.demonstrated import reaching
from twinloop.errors import UsageError
from twinloop.learn.candidate import candidate_of
from twinloop.learn.card import read_card
from twinloop.learn.checkpoint import load_runtime
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJobConfig, prepare

SMALL = {"width": 16, "depth": 1, "horizon": 4, "executed": 2}


def job(*datasets: Path, as_real: tuple[str, ...] = ()):
    quick = TrainConfig(steps=60, batch=64, look_every=60, learning_rate=1e-2)
    return prepare(TrainingJobConfig(datasets=datasets, settings=SMALL, train=quick, as_real=as_real))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Demonstrations in a twin, and in one that is fitted to a robot whose goals are elsewhere."""
    folder = tmp_path_factory.mktemp("as-real")
    fitted = reaching(folder / "fitted", episodes=24, seed=2, offset=1.0)
    return reaching(folder / "sim", episodes=24, seed=1), fitted


def test_data_of_a_fitted_twin_gets_the_input_of_real_data(data: tuple[Path, Path]):
    sim, fitted = data
    flags = [part.real for part in job(sim, fitted, as_real=("fitted",)).mixture.parts]
    assert flags == [False, True]
    assert [part.real for part in job(sim, fitted).mixture.parts] == [False, False]
    assert job(sim, fitted).digest != job(sim, fitted, as_real=("fitted",)).digest
    with pytest.raises(UsageError, match="did you mean fitted"):
        job(sim, fitted, as_real=("fited",))


def test_a_policy_acts_in_a_twin_as_on_the_robot(data: tuple[Path, Path], tmp_path: Path):
    train(job(*data, as_real=("fitted",)), tmp_path / "policy")
    card = read_card(tmp_path / "policy")
    assert card.knows_real
    assert [source.get("as_real", False) for source in card.data] == [False, True]
    policy, evaluated = load_runtime(tmp_path / "policy"), candidate_of(tmp_path / "policy").load()
    rng = np.random.default_rng(0)
    observation = {
        feature.name: rng.standard_normal((8, *feature.shape)).astype(np.float32) for feature in card.space.inputs
    }
    noise = np.zeros((8, policy.horizon, *card.space.action.shape), np.float32)
    chunks = [
        runtime.chunks(observation, instructions=["reach"] * 8, real=real, noise=noise)
        for runtime, real in ((policy, False), (policy, True), (evaluated, False))
    ]
    np.testing.assert_array_equal(chunks[1], chunks[2])
    assert not np.array_equal(chunks[0], chunks[1])


def test_a_policy_without_real_data_has_one_way_to_act(data: tuple[Path, Path], tmp_path: Path):
    train(job(data[0]), tmp_path / "policy")
    assert not candidate_of(tmp_path / "policy").knows_real
