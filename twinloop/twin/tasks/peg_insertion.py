"""Insert a square peg into a hole."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import hole
from twinloop.twin.language import Language
from twinloop.twin.objects import Frame, SceneObject
from twinloop.twin.phase import Phase
from twinloop.twin.placing import Layout
from twinloop.twin.relations import deep_in, let_go
from twinloop.twin.robot import Robot
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, insert, lift
from twinloop.twin.task import Task
from twinloop.twin.unvaried import MANY_CONTACTS, NARROW_HOLE

PEG_XY_M, HOLE_XY_M = (0.45, -0.14), (0.5, 0.1)
HALF_M, HALF_LENGTH_M = 0.012, 0.04
DEPTH_M = 0.025
PEG = SceneObject(
    "peg", "box", (HALF_M, HALF_M, HALF_LENGTH_M), np.pi / 2, mass_kg=0.12, rgba=(0.85, 0.55, 0.2, 1.0),
    frames=(Frame("tip", (0.0, 0.0, -HALF_LENGTH_M)),),
)  # fmt: skip


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("hole", HOLE_XY_M)
    layout.thing("peg", PEG_XY_M)
    return layout.done()


@cache
def fitted(robot: Robot) -> Task:
    """The task with a thinner peg and a narrower hole, for a small hand."""
    if robot.widest_grip_m is None or robot.widest_grip_m >= 2 * HALF_M:
        return PEG_INSERTION
    scale = robot.widest_grip_m / (2 * HALF_M)
    entities = (Thing("peg", PEG.scaled(scale)), hole("hole", half_m=scale * HALF_M))
    success = (deep_in("peg.tip", "hole.rim", by_m=scale * DEPTH_M, within_m=0.006), let_go("peg"))
    program = _program(scale, stalls_s=2.0)
    return replace(PEG_INSERTION, entities=entities, program=program, success=success, fitted=None)


def _program(scale: float, stalls_s: float = 0.0) -> tuple[Phase, ...]:
    depth_m = scale * DEPTH_M
    return (
        *grasp("peg", raise_m=0.015 * scale),
        *lift("peg", by_m=0.1),
        *carry("peg", to="hole.rim", height_m=0.05, aligned=True, turns=4, tolerance_m=0.01),
        *insert("peg", "peg.tip", "hole.rim", depth_m=depth_m + 0.006, turns=4, stalls_s=stalls_s,
                done=deep_in("peg.tip", "hole.rim", by_m=depth_m + 0.002, within_m=0.006)),
    )  # fmt: skip


PEG_INSERTION = Task(
    name="peg_insertion",
    entities=(Thing("peg", PEG), hole("hole", half_m=HALF_M)),
    start=start,
    program=_program(1.0),
    success=(deep_in("peg.tip", "hole.rim", by_m=DEPTH_M, within_m=0.006), let_go("peg")),
    language=Language((
        "insert the {peg} into the {hole}",
        "put the {peg} in the {hole}",
        "fit the {peg} into the {hole}",
        "push the {peg} into the {hole}",
        "place the {peg} in the {hole} of the block",
        "stick the {peg} into the {hole}",
        "slide the {peg} down into the {hole}",
        "the {peg} goes into the {hole}",
        "take the {peg} and insert it into the {hole}",
        "pick up the {peg} and put it in the {hole}",
        "plug the {hole} with the {peg}",
        "align the {peg} with the {hole} and push it in",
    )),
    longest_s=30.0,
    unvaried=(*MANY_CONTACTS, *NARROW_HOLE),
    fitted=fitted,
)  # fmt: skip
