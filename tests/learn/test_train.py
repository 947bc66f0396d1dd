"""Training: it learns, resumes bit by bit, and keeps its last checkpoint after an error."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.learn.demonstrated import reaching
from twinloop.errors import TrainingError, UsageError
from twinloop.learn.checkpoint import load, load_runtime
from twinloop.learn.finetune import FinetuneConfig, finetuning
from twinloop.learn.optimise import Optimisation, TrainConfig
from twinloop.learn.tensors import read_tensors
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJob, TrainingJobConfig, parse_settings, prepare

SMALL = {"width": 32, "depth": 1, "horizon": 4, "executed": 2}
SHORT = TrainConfig(steps=60, batch=64, look_every=20, learning_rate=3e-3, held_out=0.2)


def training_job(*datasets: Path, train: TrainConfig = SHORT, seed: int = 0) -> TrainingJob:
    return prepare(TrainingJobConfig(datasets, settings=SMALL, train=train, seed=seed))


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load(folder).policy.state_dict()


@pytest.fixture(scope="module")
def trained(reached, tmp_path_factory):
    return train(training_job(reached, train=replace(SHORT, steps=400)), tmp_path_factory.mktemp("policy"))


def test_a_policy_learns_the_law_of_its_demonstrations(trained):
    runtime = load_runtime(trained.checkpoint.path)
    rng = np.random.default_rng(0)
    state, goal = rng.uniform(-0.8, 0.8, (2, 200, 2)).astype(np.float32)
    turn = np.tile(np.array([0, 1, 0, 0, 0], np.float32), (200, 1))
    chunks = runtime.chunks(
        {"observation.state": state, "observation.environment_state": np.column_stack([goal, turn])},
        instructions=["go"] * 200, real=False, noise=np.zeros((200, 4, 2)),
    )  # fmt: skip
    assert chunks.shape == (200, 4, 2)
    wanted = state + 0.3 * (goal - state)
    assert np.abs(chunks[:, 0] - wanted).mean() < 0.2 * np.abs(wanted - state).mean()


def test_losses_fall_on_held_out_episodes(trained):
    assert trained.curve[-1].held_out_loss < 0.5 * trained.curve[0].held_out_loss
    card = trained.checkpoint.card
    assert card.finished
    assert card.metrics["held_out_loss"] == trained.curve[-1].held_out_loss
    assert card.data[0]["held_out"] > 0
    assert card.instructions == ("go to the goal",)


def test_the_sign_of_a_quaternion_does_not_matter(trained):
    runtime = load_runtime(trained.checkpoint.path)
    state = np.zeros((1, 2), np.float32)
    pose = np.array([[0.3, -0.2, 0, 0.6, 0, 0, 0.8]], np.float32)
    messages = [
        runtime.chunks(
            {"observation.state": state, "observation.environment_state": pose * np.array([1, 1, 1, *[sign] * 4])},
            instructions=[""], real=False, noise=np.zeros((1, 4, 2)),
        )
        for sign in (1, -1)
    ]  # fmt: skip
    np.testing.assert_allclose(messages[0], messages[1], atol=1e-6)


def test_a_killed_training_resumes_to_the_same_weights(reached, tmp_path, monkeypatch):
    whole = train(training_job(reached), tmp_path / "whole")

    class Killed(BaseException):
        pass

    learn = Optimisation._learn

    def until_killed(self, batch, bad_batch):
        if self.step == 47:
            raise Killed
        return learn(self, batch, bad_batch)

    with monkeypatch.context() as patch:
        patch.setattr(Optimisation, "_learn", until_killed)
        with pytest.raises(Killed):
            train(training_job(reached), tmp_path / "killed")
    assert not load(tmp_path / "killed").card.finished
    resumed = train(training_job(reached), tmp_path / "killed")
    assert resumed.resumed_from == 40
    assert resumed.curve == whole.curve
    assert resumed.checkpoint.card.digest == whole.checkpoint.card.digest


def test_a_finished_training_is_not_repeated(trained, reached):
    again = train(training_job(reached, train=replace(SHORT, steps=400)), trained.checkpoint.path)
    assert again.resumed_from == 400
    assert again.checkpoint.card.digest == trained.checkpoint.card.digest


def test_another_training_job_does_not_overwrite(trained, reached):
    before = trained.checkpoint.card.digest
    with pytest.raises(UsageError, match="choose another --out"):
        train(training_job(reached, seed=1, train=replace(SHORT, steps=400)), trained.checkpoint.path)
    assert load(trained.checkpoint.path).card.digest == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": replace(SHORT, steps=300)}, "was started with --steps 400; you gave 300"),
        ({"seed": 3}, "was started with --seed 0; you gave 3"),
        ({"settings": SMALL | {"width": 64}}, "was started with --set width=32; you gave 64"),
        ({"policy": "flow", "settings": {}}, "was started with --policy mlp; you gave flow"),
        ({"rate_hz": 5.0}, "was started without --rate; you gave 5.0"),
    ],
)
def test_a_training_with_other_arguments_names_the_difference(trained, reached, change, message):
    config = TrainingJobConfig((reached,), settings=SMALL, train=replace(SHORT, steps=400))
    with pytest.raises(UsageError, match=message):
        train(prepare(replace(config, **change)), trained.checkpoint.path)


def test_another_seed_gives_other_weights(reached, tmp_path):
    one = train(training_job(reached), tmp_path / "one").checkpoint.card
    other = train(training_job(reached, seed=1), tmp_path / "other").checkpoint.card
    assert one.weights != other.weights


def test_a_loss_that_is_not_a_number_stops_with_a_reproducer(reached, tmp_path, monkeypatch):
    out = tmp_path / "policy"
    once = training_job(reached)
    batch = once.mixture.batch

    def spoilt(size, horizon, *, seed, step, share):
        made = batch(size, horizon, seed=seed, step=step, share=share)
        if step == 33:
            made.actions[0, 0, 0] = math.inf
        return made

    monkeypatch.setattr(once.mixture, "batch", spoilt)
    with pytest.raises(TrainingError, match=r"step 33.*bad_batch"):
        train(once, out)
    kept = load(out)
    assert kept.card.steps == 20
    assert not kept.card.finished
    from safetensors.numpy import load_file

    assert not np.isfinite(load_file(out / "training" / "bad_batch.safetensors")["action"]).all()


def test_fine_tuning_moves_to_the_new_data_and_keeps_the_rest(trained, reached, tmp_path):
    slower = reaching(tmp_path / "real", episodes=40, gain=0.15, source="real", seed=9)
    settings = replace(SHORT, steps=300, learning_rate=2e-3)
    start = trained.checkpoint
    finetuning_job = finetuning(FinetuneConfig(start.path, data=(slower,), keep=(reached,), share=0.5, train=settings))
    tuned = train(finetuning_job, tmp_path / "tuned").checkpoint
    assert tuned.card.parent == start.card.digest
    assert [round(data["weight"], 3) for data in tuned.card.data] == [0.5, 0.5]
    # The policy distinguishes the domains: half steps on real data, full steps on simulated data.
    assert _gain(start.path, real=True) == pytest.approx(0.3, abs=0.06)
    assert _gain(tuned.path, real=True) == pytest.approx(0.15, abs=0.06)
    assert _gain(tuned.path, real=False) == pytest.approx(0.3, abs=0.06)


def test_the_number_of_episodes_limits_the_new_data_only(trained, reached, tmp_path):
    real = reaching(tmp_path / "real", episodes=40, gain=0.15, source="real", seed=9)
    config = FinetuneConfig(trained.checkpoint.path, data=(real,), keep=(reached,), train=SHORT)
    limited = finetuning(replace(config, most=10))
    assert [len(part.lengths) for part in limited.parts] == [10, len(finetuning(config).parts[1].lengths)]
    assert limited.digest != finetuning(config).digest


@pytest.mark.parametrize(("most", "share"), [(10, 0.9), (None, 0.75)])
def test_few_new_episodes_have_a_small_share_of_a_batch(trained, reached, tmp_path, most: int | None, share: float):
    real = reaching(tmp_path / "real", episodes=40, gain=0.15, source="real", seed=9)
    job = finetuning(FinetuneConfig(trained.checkpoint.path, data=(real,), keep=(reached,), most=most, train=SHORT))
    assert job.weights == pytest.approx((1 - share, share))


def _gain(path: Path, *, real: bool) -> float:
    """The share of the way to the goal that the first action goes, by least squares."""
    way = np.random.default_rng(0).uniform(-1, 1, (200, 2)).astype(np.float32)
    pose = np.column_stack([way, np.tile(np.array([0, 1, 0, 0, 0], np.float32), (200, 1))])
    observation = {"observation.state": np.zeros_like(way), "observation.environment_state": pose}
    noise = np.zeros((200, 4, 2))
    step = load_runtime(path).chunks(observation, instructions=[""] * 200, real=real, noise=noise)[:, 0]
    return float((step * way).sum() / (way * way).sum())


def test_frozen_parts_stay(trained, reached, tmp_path):
    config = FinetuneConfig(trained.checkpoint.path, data=(reached,), train=replace(SHORT, frozen=("enter", "blocks")))
    train(finetuning(config), tmp_path / "tuned")
    before, after = weights(trained.checkpoint.path), weights(tmp_path / "tuned")
    for name in before:
        assert torch.equal(before[name], after[name]) == (not name.startswith("leave")), name


def test_fine_tuning_can_change_settings_that_keep_the_shape_of_the_network(trained, reached, tmp_path):
    start = trained.checkpoint
    other = {"executed": start.policy.executed + 1}
    config = FinetuneConfig(start.path, data=(reached,), train=replace(SHORT, steps=1), settings=other)
    tuned = train(finetuning(config), tmp_path / "tuned").checkpoint
    assert load(tmp_path / "tuned").policy.executed == start.policy.executed + 1
    assert tuned.card.parent == start.card.digest
    with pytest.raises(UsageError, match="horizon=8 changes the shape of the network; train a new policy"):
        finetuning(replace(config, settings={"horizon": 8}))


def test_an_unknown_part_to_freeze_is_refused(trained, reached):
    config = FinetuneConfig(trained.checkpoint.path, data=(reached,), train=replace(SHORT, frozen=("blokcs",)))
    with pytest.raises(UsageError, match="blocks"):
        finetuning(config)


def test_settings_are_read_with_their_types():
    valid = {"horizon": 16, "share": 0.5}
    assert parse_settings(["horizon=8", "share=0.1"], valid) == {"horizon": 8, "share": 0.1}
    for wrong in ("horizon=x", "horizont=8", "horizon"):
        with pytest.raises(UsageError, match="--set"):
            parse_settings([wrong], valid)


def test_the_state_file_is_no_pickle(trained):
    tensors, facts = read_tensors(trained.checkpoint.path / "training" / "state.safetensors")
    assert facts["step"] == "400"
    assert any(name.startswith("optimiser.") for name in tensors)
    assert json.loads((trained.checkpoint.path / "card.json").read_text())["format_version"] == 1
