"""A dead worker on Ray is attributed to its current item, not to its waiting items."""

from collections import deque

import pytest

from twinloop.errors import WorkerError
from twinloop.fleet.on_ray import MAX_WORKER_FAILURES, _Tasks


def test_a_death_is_put_down_to_the_item_the_worker_was_at():
    crew = _Tasks(None, None, None, deque([(2, "c")]))
    for _ in range(MAX_WORKER_FAILURES - 1):
        crew.taken["task"] = [(0, "a"), (1, "b")]
        crew.end("task", "killed")
        assert list(crew.waiting) == [(0, "a"), (1, "b"), (2, "c")]  # all of it is done again, in its turn
        crew.waiting = deque([(2, "c")])
    crew.taken["task"] = [(1, "b")]  # after the first item, the failures of the next are counted from 0
    crew.end("task", "killed")
    crew.taken["task"] = [(0, "a"), (1, "b")]
    with pytest.raises(WorkerError, match="10 workers died over a "):
        crew.end("task", "killed")
