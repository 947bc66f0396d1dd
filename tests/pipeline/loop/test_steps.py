from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from twinloop.curate.rates import Rate
from twinloop.dataset import Dataset
from twinloop.errors import UsageError
from twinloop.fleet.executor import LocalExecutor, Work
from twinloop.gate.evaluation import rate_json
from twinloop.pipeline.loop.record import NOT_DEPLOYED, Round, read_round, write_json
from twinloop.pipeline.loop.settings import LoopConfig, refuse_another
from twinloop.pipeline.loop.steps import LATER_SEED, LONGER_TUNING, Steps, tuning_steps
from twinloop.randomize.distribution import Uniform
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.default import embedded_config


def ranged(cm: float) -> RunConfig:
    return replace(embedded_config(), randomization={"object_position_noise_cm": Uniform(-cm, cm)})


def a_round(successes: int) -> Round:
    return Round(
        number=0, config_digest="", demonstrations=0, steps=1, parent="", twin=rate_json(Rate(successes, 10)),
        robot=NOT_DEPLOYED, gate={}, verdict="", open_gaps=("latency",), requests=({"episodes": 2, "conditions": {}},),
        collected=2, prepared=True,
    )  # fmt: skip


def test_a_policy_that_fails_in_the_twin_too_is_trained_longer():
    settings = LoopConfig(robot="twin", finetune_steps=100, target=0.9)
    assert tuning_steps(settings, a_round(9)) == 100
    assert tuning_steps(settings, a_round(8)) == 100 * LONGER_TUNING
    assert tuning_steps(replace(settings, longer_tuning=False), a_round(8)) == 100


def test_a_round_round_trips(tmp_path: Path):
    write_json(tmp_path / "round.json", vars(a_round(9)))
    assert read_round(tmp_path / "round.json") == a_round(9)


@pytest.mark.parametrize("task", ["peg_insertion", "open_drawer"])
def test_a_loop_generates_data_of_tasks_with_things_of_their_own(task: str, tmp_path: Path):
    config = config_from_text(f"scene: {{task: {task}}}", name="cell.yaml", folder=tmp_path)
    (folder,) = Steps(tmp_path, LoopConfig(robot="twin", episodes=1, workers=1), 0, lambda _: None).generate(config)
    assert Dataset.open(folder).header.phases == config.scene.task.phase_names


def test_every_fine_tuning_has_the_episodes_of_the_first_round_and_as_many_new_ones(tmp_path: Path):
    settings = LoopConfig(robot="twin", objects=("cube", "tower"), episodes=3, workers=1)
    made = {}
    for number, config in enumerate((ranged(0.1), ranged(0.1), ranged(0.2), ranged(0.1))):
        (tmp_path / f"round-{number}").mkdir()
        (tmp_path / f"round-{number}" / "config.yaml").write_text(config.to_yaml())
        made[number] = Steps(tmp_path, settings, number, lambda _: None).generate(config)
    attempts = [Dataset.open(folder).attempts().num_rows for folder in made[0]]
    assert attempts == [2, 1]
    assert [len(datasets) for datasets in made.values()] == [2, 4, 4, 4]
    assert all(datasets[2:] == made[0] for number, datasets in made.items() if number)
    # The same ranges give new episodes in a later round, once.
    assert {Dataset.open(folder).header.run_seed for folder in made[1][:2]} == {settings.seed + LATER_SEED}
    assert made[3] == made[1] != made[2]


def test_a_loop_with_a_short_schedule_continues(tmp_path: Path):
    settings = LoopConfig(robot="twin", rounds=1, schedule=(10,))
    refuse_another(tmp_path, ranged(0.1), settings)
    refuse_another(tmp_path, ranged(0.1), settings)
    with pytest.raises(UsageError, match="other settings"):
        refuse_another(tmp_path, ranged(0.1), replace(settings, schedule=(12,)))


@dataclass(frozen=True)
class Counting(LocalExecutor):
    """Runs work in this process and counts the items."""

    given: list[str] = field(default_factory=list)

    def run(self, work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:
        self.given.append(work.__name__)
        return super().run(work, job, items, workers=workers)


def test_a_round_simulates_on_the_given_executor(tmp_path: Path):
    executor = Counting()
    settings = LoopConfig(robot="twin", episodes=1, workers=1)
    Steps(tmp_path, settings, 0, lambda _: None, executor).generate(ranged(0.1))
    assert executor.given == ["produce"]


@pytest.mark.parametrize(
    ("objects", "message"), [(("cub",), "did you mean cube"), (("can", "can"), "names an object twice")]
)
def test_kinds_that_are_none_are_refused(objects: tuple[str, ...], message: str):
    with pytest.raises(UsageError, match=message):
        LoopConfig(robot="twin", objects=objects)
