"""Every task goes through the pipeline: generate, train, evaluate, report."""

from dataclasses import replace
from pathlib import Path

import pytest

from twinloop.dashboard.evaluation import write_evaluation_report
from twinloop.dashboard.report import write_report
from twinloop.dataset import Dataset
from twinloop.gate import write_evaluation
from twinloop.gate.evaluate import evaluate
from twinloop.learn.candidate import candidate_of
from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig, config_from_text
from twinloop.twin.tasks import tasks

EPISODES, TRIALS = 16, 2


def config_of(task: str) -> RunConfig:
    text = f"scene: {{task: {task}}}\nrandomization: {{environment: {{instruction_choice: [0, 1]}}}}\n"
    config = config_from_text(text, name=f"{task}.yaml", folder=Path())
    return replace(config, dataset=replace(config.dataset, shard_episodes=8))


@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(tasks()))
def test_a_task_goes_from_scene_to_report(task: str, tmp_path: Path):
    pytest.importorskip("torch")
    from twinloop.learn.optimise import TrainConfig
    from twinloop.learn.space import default_inputs
    from twinloop.learn.train import train
    from twinloop.learn.training_job import TrainingJobConfig, prepare

    config, data = config_of(task), tmp_path / "data"
    made = generate(config, data, episodes=EPISODES, workers=1)
    assert made.progress.accepted >= EPISODES // 2
    dataset = Dataset.open(data)
    assert set(dataset.attempts()["task_name"].to_pylist()) == {task}
    assert len(dataset.header.subtasks) >= 1
    assert write_report(data).stat().st_size > 10_000

    job = prepare(
        TrainingJobConfig(datasets=(data,), inputs=default_inputs([data]), train=TrainConfig(steps=50, batch=32))
    )
    train(job, tmp_path / "policy")
    candidate = candidate_of(tmp_path / "policy")
    evaluation = evaluate(candidate, config.with_seed(77), config_name=task, episodes=TRIALS, workers=1)
    assert len(evaluation.outcomes) == TRIALS
    write_evaluation(evaluation, tmp_path / "evaluation")
    assert write_evaluation_report(evaluation, tmp_path / "evaluation").exists()
