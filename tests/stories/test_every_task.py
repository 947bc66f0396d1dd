"""Every task goes through the pipeline: generate, train, evaluate, report, the twin as a robot, traits of diagnosis."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import twinloop as tl
from tests.forked_servers import forked_servers
from tests.short_episodes import short_episodes
from twinloop.dashboard.evaluation import write_evaluation_report
from twinloop.dashboard.report import write_report
from twinloop.dataset import Dataset
from twinloop.deploy.robot_model import usual_robot
from twinloop.deploy.twin_robot import TwinRobot
from twinloop.diagnose.traits import TRAITS, Arm, EpisodeTrace, measure_traits
from twinloop.gate import write_evaluation
from twinloop.gate.evaluate import evaluate
from twinloop.learn.candidate import candidate_of
from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.twin.tasks import tasks

EPISODES, TRIALS = 16, 2


def config_of(task: str) -> RunConfig:
    text = f"""scene: {{task: {task}, robot: {usual_robot(tasks()[task])}}}
randomization: {{environment: {{instruction_choice: [0, 1]}}}}
"""
    config = config_from_text(text, name=f"{task}.yaml", folder=Path())
    return replace(config, dataset=replace(config.dataset, shard_episodes=8))


def train_policy(data: Path, out: Path) -> None:
    pytest.importorskip("torch")
    from twinloop.learn.optimise import TrainConfig
    from twinloop.learn.space import default_inputs
    from twinloop.learn.train import train
    from twinloop.learn.training_job import TrainingJobConfig, prepare

    config = TrainingJobConfig(
        datasets=(data,), inputs=default_inputs([data]), settings={"width": 32, "depth": 1},
        train=TrainConfig(steps=50, batch=32),
    )  # fmt: skip
    train(prepare(config), out)


def traits_of(dataset: Dataset, config: RunConfig) -> dict[str, np.ndarray]:
    """Trait -> its values in the first accepted episodes."""
    arm, rows = Arm(twin_of(config)), dataset.attempts().to_pylist()
    accepted = [row for row in rows if row["verdict"] == "accepted"][:TRIALS]
    traces = [EpisodeTrace(dataset.episode(attempt=row["attempt"]), bool(row["success"]), arm) for row in accepted]
    return dict(zip((trait.name for trait in TRAITS), measure_traits(traces).T, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(tasks()))
def test_a_task_goes_from_scene_to_report(task: str, tmp_path: Path):
    config, data = config_of(task), tmp_path / "data"
    made = generate(config, data, episodes=EPISODES, workers=1)
    assert made.progress.accepted >= EPISODES // 2
    dataset = Dataset.open(data)
    assert set(dataset.attempts()["task_name"].to_pylist()) == {task}
    assert len(dataset.header.subtasks) >= 1
    assert write_report(data).stat().st_size > 10_000

    train_policy(data, tmp_path / "policy")
    candidate = candidate_of(tmp_path / "policy")
    with short_episodes(task, 2.0):
        evaluation = evaluate(candidate, config.with_seed(77), config_name=task, episodes=TRIALS, workers=1)
    assert len(evaluation.outcomes) == TRIALS
    write_evaluation(evaluation, tmp_path / "evaluation")
    assert write_evaluation_report(evaluation, tmp_path / "evaluation").exists()

    traits = traits_of(dataset, config)
    assert len(traits["success"]) == TRIALS
    for name in ("success", "duration", "following", "place_x"):
        assert np.isfinite(traits[name]).all(), name
    assert (traits["success"] == 1).all()

    file = tmp_path / "cell.yaml"
    file.write_text(config.to_yaml())
    with TwinRobot(str(file)) as robot:
        assert robot.begin(0).instruction in set(dataset.attempts()["task"].to_pylist())
        reading = robot.observe()
        robot.act(reading.features["observation.state"])
        assert robot.observe().sequence == reading.sequence + 1
        assert not robot.end().success


@pytest.mark.slow
def test_a_policy_of_another_task_is_deployed_on_its_twin(tmp_path: Path):
    config, data, file = config_of("put_in_drawer"), tmp_path / "data", tmp_path / "cell.yaml"
    file.write_text(config.to_yaml())
    generate(config, data, episodes=EPISODES, workers=1)
    train_policy(data, tmp_path / "policy")
    with forked_servers():
        deployed = tl.deploy(
            tmp_path / "policy", f"twin:{file}", tmp_path / "log", episodes=2, task="put_in_drawer",
            episode_timeout_s=1.0, stop_file=tmp_path / "stop",
        )  # fmt: skip
    log = Dataset.open(deployed.path)
    assert log.attempts()["task"].to_pylist() == Dataset.open(data).attempts()["task"].to_pylist()[:2]
    assert log.header.feature("observation.environment_state").names == (
        Dataset.open(data).header.feature("observation.environment_state").names
    )
    arm = Arm(twin_of(config))
    traits = measure_traits([EpisodeTrace(log.episode(attempt=number), False, arm) for number in range(2)])
    assert np.isfinite(traits[:, [trait.name in ("success", "place_x") for trait in TRAITS]]).all()
