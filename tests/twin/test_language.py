"""Instructions: paraphrases split into seen and unseen, slots filled, roles drawn equally often."""

from collections import Counter
from dataclasses import replace
from string import Formatter

import numpy as np
import pytest

from tests.conftest import Simulate
from twinloop.randomize.distribution import Constant, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.twin.assemble import assemble
from twinloop.twin.entity import Thing
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at, at_rest, let_go, lifted
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.skills import carry, grasp, lift, place
from twinloop.twin.task import Role, Task
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

COLOURS = ("red", "green", "blue")
CHOICES = {"task_choice": Uniform(0.0, 1.0), "instruction_choice": Uniform(0.0, 1.0)}


def start(draw, count, entities):
    layout = Layout(draw, count, entities)
    for number, colour in enumerate(COLOURS):
        layout.thing(f"{colour}_cube", (0.4, -0.2 + 0.1 * number))
    layout.zone("goal", (0.52, 0.25))
    return layout.done()


ASKED = replace(
    PICK_AND_PLACE,
    name="asked",
    program=(*grasp("asked"), *lift("asked")),
    success=(lifted("asked", 0.05),),
    entities=(
        *(Thing(f"{colour}_cube", OBJECTS["cube"], colour) for colour in COLOURS),
        PICK_AND_PLACE.entities[1],
    ),
    start=start,
    roles=(Role("asked", tuple(f"{colour}_cube" for colour in COLOURS)), Role("beside", ("goal", "goal", "red_cube"))),
    language=Language(("fetch the {asked} beside {beside}", "bring the {asked}", "get {asked}", "take the {asked}")),
)


@pytest.fixture(scope="module")
def asking() -> Twin:
    return assemble(FRANKA_PANDA, ASKED)


@pytest.mark.parametrize("task", tasks().values(), ids=tasks())
def test_a_shipped_task_has_paraphrases_of_both_kinds_whose_slots_are_its_entities(task: Task):
    language = task.language
    assert len(set(language.templates)) == len(language.templates) >= 12
    assert set(language.seen) | set(language.unseen) == set(language.templates)
    assert not set(language.seen) & set(language.unseen)
    assert language.canonical in language.seen
    assert len(language.unseen) >= 3
    known = {*task.by_name, *(role.name for role in task.roles)}
    for text in (*language.templates, *(phase.words for phase in task.program)):
        assert {slot for _, slot, _, _ in Formatter().parse(text) if slot is not None} <= known, text


def test_the_split_does_not_change_when_paraphrases_are_added():
    few, more = Language(tuple("abcdef")), Language(tuple("abcdefghi"))
    assert set(few.seen) <= set(more.seen)
    assert set(few.unseen) <= set(more.unseen)


def test_every_paraphrase_is_chosen_equally_often_and_unseen_ones_only_when_asked_for(asking: Twin):
    seen = asking.task.language.seen
    chosen = Counter(asking.task.language.choose(chance) for chance in np.linspace(0, 1, 3000, endpoint=False))
    assert set(chosen) == set(seen)
    assert max(chosen.values()) - min(chosen.values()) <= 1
    unseen = {asking.task.language.choose(chance) for chance in np.linspace(1, 2, 300)}
    assert unseen == set(asking.task.language.unseen)


def test_an_instruction_names_what_is_asked_for(asking: Twin):
    values = Sampler(CHOICES, seed=2).draw(0, 300).values
    chosen = asking.task.choices(values["task_choice"])
    counts = Counter(chosen["asked"].tolist())
    assert set(counts) == {0, 1, 2}
    assert max(counts.values()) - min(counts.values()) <= 5
    for row, (instruction, words) in enumerate(asking.spoken(values)):
        colour = COLOURS[chosen["asked"][row]]
        assert words["asked"] == f"{colour} cube"
        assert words["beside"] == ("red cube" if colour == "blue" else "the target zone")
        assert f"{colour} cube" in instruction
        assert not any(other in instruction.replace("beside red", "") for other in COLOURS if other != colour)


def test_without_a_draw_the_canonical_instruction_is_spoken(asking: Twin):
    ((instruction, _),) = asking.spoken(Sampler({}, seed=0).draw(0, 1).values)
    assert instruction == asking.instruction == "fetch the red cube beside the target zone"


def test_the_expert_brings_what_is_asked_for(simulate: Simulate):
    program = (*grasp("asked"), *lift("asked"), *carry("asked", to="goal"), *place("asked", on="goal"))
    success = (at("asked", "goal", within_m=0.05), at_rest("asked"), let_go("asked"))
    twin = assemble(FRANKA_PANDA, replace(ASKED, program=program, success=success))
    episodes = simulate(12, of=twin, ranges={"task_choice": Uniform(0.0, 1.0)})
    assert episodes.success.mean() > 0.9
    ends = episodes["environment"][episodes.starts + episodes.lengths - 1]
    chosen = twin.task.choices(episodes.draws.values["task_choice"])["asked"]
    goal = ends[:, twin.pose_columns("goal")][:, :2]
    for number, colour in enumerate(COLOURS):
        away = np.linalg.norm(ends[:, twin.pose_columns(f"{colour}_cube")][:, :2] - goal, axis=1)
        np.testing.assert_array_equal((away < 0.05)[episodes.success], (chosen == number)[episodes.success])


def test_a_role_stands_for_its_entity_in_every_slot(asking: Twin):
    cell = Cell(asking, width=3)
    for number, colour in enumerate(COLOURS):
        draws = Sampler({"task_choice": Constant((number + 0.5) / 3)}, seed=0).draw(0, 3)
        cell.admit(np.arange(3), draws, np.arange(3))
        name = f"{colour}_cube"
        for quantity in (cell.position, cell.axes, cell.half_extents_m, cell.speed_m_s, cell.rest_height_m):
            np.testing.assert_array_equal(quantity("asked"), quantity(name))
        assert cell.played_by("asked", name).all()
        assert set(cell.entity_of("asked")) == {f"{other}_cube" for other in COLOURS}
