"""Instructions as vectors: the same words give the same vector, other words another."""

from collections.abc import Iterator

import numpy as np
import pytest

from twinloop.observe.instruction import SIZE, instruction_feature, instruction_vectors
from twinloop.twin.language import filled
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks


def _words_of_roles(task: Task) -> Iterator[dict[str, str]]:
    """Slot -> words, for every choice of the entities that play the roles."""
    words = {thing.name: thing.words for thing in task.things}
    words |= {fixture.name: fixture.words or fixture.name.replace("_", " ") for fixture in task.fixtures}
    for choice in range(len(task.roles[0].candidates)):
        yield words | {
            role.name: (role.words[choice] if role.words else "") or words[role.candidates[choice]]
            for role in task.roles
        }


def test_case_and_punctuation_do_not_matter():
    first, second = instruction_vectors(["Put the red cube away.", "put the RED cube away"])
    np.testing.assert_array_equal(first, second)


def test_every_word_counts():
    red, blue = instruction_vectors(["press the red button", "press the blue button"])
    assert (red != blue).any()


def test_the_order_of_words_counts():
    first, second = instruction_vectors(
        ["put the red cube into the blue bin", "put the blue cube into the red bin"]
    )  # fmt: skip
    assert (first != second).any()


@pytest.mark.parametrize("name", [name for name, task in tasks().items() if task.roles])
def test_instructions_for_different_roles_differ(name: str):
    """In every wording, the vector says which entity plays which role."""
    task = tasks()[name]
    for template in task.language.templates:
        texts = {filled(template, words) for words in _words_of_roles(task)}
        assert len({vector.tobytes() for vector in instruction_vectors(sorted(texts))}) == len(texts)


def test_shared_words_make_instructions_similar():
    red, again, other = instruction_vectors(
        ["put the red cube in the drawer", "put the red cube away in the drawer", "hand over a bottle"]
    )
    assert red @ again > abs(red @ other)


def test_the_feature_names_every_element():
    feature = instruction_feature()
    assert feature.shape == (SIZE,) == (len(feature.names),)
    assert instruction_vectors([""]).shape == (1, SIZE)
    assert not instruction_vectors([""]).any()
