"""Distillation: a student with fewer inputs approaches its teacher."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.environments.cells import config_of
from tests.learn.reinforce.conftest import CELL
from twinloop.errors import CheckpointError, UsageError
from twinloop.learn.checkpoint import load
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.start import reinforce

SMALL = ReinforceConfig(num_envs=4, steps=8, iterations=1, width=32, depth=1, epochs=2, mini_batches=1)
TEACHER = "{time_limit_s: 2, observations: [observation.state, clean.observation.environment_state]}"
STUDENT = "{time_limit_s: 2, observations: [observation.state], privileged: [clean.observation.environment_state]}"


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("policies") / "teacher"
    reinforce(config_of(TEACHER, CELL), out, SMALL, threads=1)
    return out


def test_a_student_comes_nearer_to_its_teacher(teacher: Path, tmp_path: Path):
    config = replace(SMALL, algorithm="distill", iterations=12, learning_rate=3e-3)
    result = reinforce(config_of(STUDENT, CELL), tmp_path / "student", config, parent=load(teacher), threads=1)
    losses = [record.figures["loss/behavior"] for record in result.curve]
    assert losses[-1] < 0.5 * losses[0]
    card = result.checkpoint.card
    assert [feature.name for feature in card.space.inputs] == ["observation.state"]
    assert card.parent == load(teacher).card.digest


def test_a_teacher_with_inputs_that_the_environment_lacks_is_refused(teacher: Path, tmp_path: Path):
    config = replace(SMALL, algorithm="distill")
    blind = config_of("{observations: [observation.state], privileged: [phase]}", CELL)
    with pytest.raises(CheckpointError, match=r"the teacher reads clean\.observation\.environment_state"):
        reinforce(blind, tmp_path / "x", config, parent=load(teacher), threads=1)
    with pytest.raises(UsageError, match="name it with --from"):
        reinforce(blind, tmp_path / "y", config)
