import pytest

from twinloop.cli.training import KINDS

pytest.importorskip("torch")


def test_the_kinds_of_policies_are_those_there_are():
    """Named in the command line, since importing them takes seconds."""
    from twinloop.learn.policies import POLICIES

    assert tuple(POLICIES) == KINDS
