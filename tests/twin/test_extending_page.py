"""The snippets of docs/extending.md on skills, relations and fixtures run as they stand."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.twin.assemble import assemble
from twinloop.twin.placing import Layout
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.scene import Start
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE, start

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")


def snippet(title: str) -> dict[str, Any]:
    """The names that the first Python block under a heading defines."""
    (code,) = re.findall(rf"#### {title}\n.*?```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def with_post(draw, count, entities) -> Start:
    layout = Layout(draw, count, entities)
    base = start(draw, count, {name: entity for name, entity in entities.items() if name != "post"})
    for name, poses in base.poses.items():
        layout.pose(name, poses)
    layout.fixture("post", (0.4, 0.3))
    return layout.done()


def test_they_make_a_fixture_a_relation_and_a_skill_that_work_together():
    post, above, press = snippet("A fixture")["POST"], snippet("A relation")["above"], snippet("A skill")["press"]
    lower = above("post.top", "object")
    task = replace(
        PICK_AND_PLACE, entities=(*PICK_AND_PLACE.entities, post), start=with_post, success=(lower,),
        program=press("post.top", depth_m=0.01, done=lower),
    )  # fmt: skip
    twin = assemble(FRANKA_PANDA, task)
    assert "post.x" in twin.environment_names
    cell = Cell(twin, width=2)
    cell.admit(np.arange(2), Sampler({}, seed=0).draw(0, 2), np.arange(2))
    np.testing.assert_allclose(cell.position("post.top"), [[0.4, 0.3, 0.1]] * 2)
    assert task.succeeded(cell).all()
    cell.position("object")[0, 2] = 0.2
    assert task.succeeded(cell).tolist() == [False, True]
    assert 0 < task.progress(cell)[0] < 1
    (phase,) = task.program
    assert phase.words == "press the {post}"
