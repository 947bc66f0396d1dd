"""Instructions as vectors: the same words give the same vector, other words another."""

import numpy as np

from twinloop.observe.instruction import SIZE, instruction_feature, instruction_vectors


def test_case_and_punctuation_do_not_matter():
    first, second = instruction_vectors(["Put the red cube away.", "put the RED cube away"])
    np.testing.assert_array_equal(first, second)


def test_every_word_counts():
    red, blue = instruction_vectors(["press the red button", "press the blue button"])
    assert (red != blue).any()


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
