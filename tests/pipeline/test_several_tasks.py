"""One dataset of several tasks: shares, layout of the environment state, sub-tasks, and which task an episode has."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from twinloop.dataset import Dataset, DatasetWriter
from twinloop.errors import ConfigError, UsageError
from twinloop.pipeline.generate import generate, header_of
from twinloop.pipeline.produce import GenerateJob, produce
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.reproduce import reproduce
from twinloop.run.several_tasks import in_task_order, task_by_task, task_of
from twinloop.run.shard_size import with_enough_shards
from twinloop.run.twin import twin_of

TEXT = """
scene:
  tasks: {press_button: 0.5, sort_by_colour: 0.25, pick_and_place: 0.25}
  things: {red_cube: {colour: purple}, mug: {kind: can}}
randomization:
  physics: {object_position_noise_cm: [-1, 1], blue_cube.object_mass_kg: [0.1, 0.2]}
  environment: {instruction_choice: [0, 1]}
dataset: {shard_episodes: 2}
rollout: {parallel_envs: 8, episodes_per_env: 1, seed: 3}
"""


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return config_from_text(TEXT, name="tasks.yaml", folder=Path())


@pytest.fixture(scope="module")
def dataset(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    out = tmp_path_factory.mktemp("several") / "tasks"
    generate(config, out, workers=1, keep_rejected=True)
    return Dataset.open(out)


def test_shards_follow_the_shares(config: RunConfig):
    counts = Counter(config.task_of_shard(shard) for shard in range(100))
    assert counts == {"press_button": 50, "sort_by_colour": 25, "pick_and_place": 25}
    assert [config.task_of_shard(shard) for shard in range(8)] == [config.task_of_shard(shard) for shard in range(8)]


def test_a_short_run_has_every_task_by_its_share():
    text = TEXT.replace("dataset: {shard_episodes: 2}\n", "")
    config = with_enough_shards(config_from_text(text, name="tasks.yaml", folder=Path()), 32)
    size = config.dataset.shard_episodes
    dealt = Counter(config.task_of_shard(first // size) for first in range(32))
    assert dealt == {"press_button": 16, "sort_by_colour": 8, "pick_and_place": 8}
    # A dataset that is continued keeps its shards, and so do long runs.
    assert with_enough_shards(config, 3200, begun_with=size).dataset.shard_episodes == size
    long = config_from_text(text, name="tasks.yaml", folder=Path())
    assert with_enough_shards(long, 32_000) == long


def test_transitions_of_one_task(dataset: Dataset):
    assert dataset.task_names == ("pick_and_place", "press_button", "sort_by_colour")
    frames = dict.fromkeys(dataset.task_names, 0)
    for row in dataset.attempts().to_pylist():
        frames[row["task_name"]] += max(row["length"] - 1, 0)
    for name, expected in frames.items():
        batches = dataset.transitions(16, seed=0, verdict=None, task=name)
        assert sum(len(batch.terminal) for batch in batches) == expected > 0
    with pytest.raises(UsageError, match="did you mean press_button"):
        next(iter(dataset.transitions(16, seed=0, task="press_buton")))


def test_shards_are_simulated_task_by_task(config: RunConfig):
    ranges = [(first, first + 2) for first in range(0, 16, 2)]
    ordered = in_task_order(config, ranges)
    assert sorted(ordered) == ranges
    later = [*ordered[:1], None, *ordered[1:], None]
    groups = [(task, list(shards)) for task, shards in task_by_task(config, iter(later))]
    assert [task for task, _ in groups] == ["press_button", "sort_by_colour", "pick_and_place"]
    # None stands for a shard that comes later, and does not end a task.
    assert [shard for _, shards in groups for shard in shards] == later
    assert all(task_of(config, shard) == task for task, shards in groups for shard in shards if shard is not None)


def test_the_digest_is_the_same_in_any_order_and_width(config: RunConfig, dataset: Dataset, tmp_path: Path):
    header = header_of(config, "tasks", 8, True)
    with DatasetWriter.open(tmp_path / "tasks", header, config.to_yaml()) as writer:
        job = GenerateJob(
            config.to_yaml(), str(tmp_path), True, str(writer.scratch("")), 1, (("sort_by_colour", 2),), header.subtasks
        )
        for _, draft in produce(job, iter(writer.missing()[::-1])):
            writer.commit(draft)
        assert writer.digest() == dataset.digest()


def test_a_scene_is_compiled_once_for_all_shards(config: RunConfig, dataset: Dataset, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twinloop.run.twin._compile", lambda _: pytest.fail("a twin was compiled again"))
    assert header_of(config, "tasks", 8, True).subtasks == dataset.header.subtasks


def test_all_tasks_have_one_layout(config: RunConfig):
    names = {task: twin_of(one).environment_names for task, one in config.by_task.items()}
    assert len(set(names.values())) == 1
    elements = next(iter(names.values()))
    for entity in ("red_button.depth", "blue_bin.x", "goal.x", "mug.qz", "red_cube.x"):
        assert entity in elements


def test_things_of_another_task_are_not_added(config: RunConfig):
    sort, press = (config.by_task[name].scene.world.by_name for name in ("sort_by_colour", "press_button"))
    assert "red_cube" in sort
    assert "mug" in sort
    assert "red_cube" not in press
    assert "mug" in press


def test_the_config_of_a_task_survives_a_round_trip(config: RunConfig):
    one = config.for_task("sort_by_colour")
    again = config_from_text(one.to_yaml(), name="again.yaml", folder=Path())
    assert again.digest == one.digest
    assert twin_of(again).environment_names == twin_of(one).environment_names
    assert "object_mass_kg.blue_cube" in one.randomization
    assert "object_mass_kg.blue_cube" not in config.for_task("press_button").randomization


def test_absent_entities_are_zero_and_present_ones_are_not(dataset: Dataset):
    feature = dataset.header.feature("observation.environment_state")
    column = feature.names.index("red_button.qw")
    for row in dataset.attempts().to_pylist():
        values = np.asarray(dataset.episode(attempt=row["attempt"])["observation.environment_state"])
        assert (values[:, column] != 0).all() == (row["task_name"] == "press_button")


def test_frames_name_their_subtask(dataset: Dataset):
    header = dataset.header
    for row in dataset.attempts().to_pylist():
        frames = dataset.episode(attempt=row["attempt"])
        words = {header.subtasks[number] for number in np.asarray(frames["subtask_index"])}
        phases = {header.phases[number] for number in np.asarray(frames["phase"])}
        assert all(phase.startswith(f"{row['task_name']}: ") for phase in phases)
        if row["task_name"] == "press_button":
            assert words == {f"press the {json.loads(row['slots'])['asked']}"}


def test_an_episode_can_be_made_again(config: RunConfig, dataset: Dataset):
    stored = {row["attempt"]: row for row in dataset.attempts().to_pylist()}
    made = reproduce(config, 5)
    assert made.twin.task.name == stored[5]["task_name"] == config.of_episode(5).scene.task.name
    assert len(made.episodes.tape) == stored[5]["length"]


def test_a_share_of_one_task_is_that_task(tmp_path: Path):
    config = config_from_text("scene: {tasks: {press_button: 3}}", name="one.yaml", folder=Path())
    assert twin_of(config).task.name == "press_button"
    assert generate(config, tmp_path / "one", episodes=2, workers=1).progress.attempted == 2
    assert twin_of(config_from_text(config.to_yaml(), name="again.yaml", folder=Path())) is twin_of(config)


def test_other_tasks_replace_the_one_of_a_config():
    config = config_from_text("scene: {task: stack}", name="stack.yaml", folder=Path())
    several = config.with_tasks(["press_button", "pour"])
    again = config_from_text(several.to_yaml(), name="again.yaml", folder=Path())
    assert list(again.by_task) == ["press_button", "pour"]


def test_a_command_for_one_task_must_name_it(config: RunConfig):
    with pytest.raises(UsageError, match="--task"):
        twin_of(config)
    with pytest.raises(UsageError, match="press_button, sort_by_colour, pick_and_place"):
        config.for_task("stack")


@pytest.mark.parametrize(
    ("scene", "key", "problem"),
    [
        ("tasks: {stak: 1}", "tasks", "stack"),
        ("tasks: {stack: 0}", "tasks", "0"),
        ("tasks: {stack: 1}\n  only: pour", "only", "stack"),
        ("tasks: {stack: 1}\n  object: can", "object", "several tasks"),
        ("task: open_drawer\n  things: {drawer: {kind: can}}", "things", "fixture"),
        ("things: {Mug: {kind: can}}", "Mug", "small letters"),
        ("things: {mug: {kind: mugg}}", "kind", "cube"),
    ],
)
def test_bad_scenes_are_refused(scene: str, key: str, problem: str):
    with pytest.raises(ConfigError) as error:
        config_from_text(f"scene:\n  {scene}\n", name="cell.yaml", folder=Path())
    assert key in str(error.value)
    assert problem in str(error.value)


def test_a_row_of_an_unknown_thing_is_refused():
    text = "scene: {task: stack}\nrandomization: {physics: {red_cub.object_mass_kg: [0.1, 0.2]}}\n"
    with pytest.raises(ConfigError, match="red_cube"):
        config_from_text(text, name="cell.yaml", folder=Path())
