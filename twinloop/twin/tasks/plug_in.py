"""Plug a plug with two prongs into a socket: its yaw matters."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import socket
from twinloop.twin.language import Language
from twinloop.twin.objects import Frame, Part, SceneObject
from twinloop.twin.phase import Phase
from twinloop.twin.placing import Layout
from twinloop.twin.relations import deep_in, let_go
from twinloop.twin.robot import Robot
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, insert, lift
from twinloop.twin.task import Task
from twinloop.twin.unvaried import MANY_CONTACTS, NARROW_HOLE

PLUG_XY_M, SOCKET_XY_M = (0.45, -0.14), (0.5, 0.1)
PRONG_M, APART_M = (0.003, 0.006, 0.012), 0.024
BODY_M = (0.024, 0.014, 0.022)
HALF_HEIGHT_M = BODY_M[2] + PRONG_M[2]
DEPTH_M = 0.016
METAL = (0.75, 0.76, 0.78, 1.0)
PLUG = SceneObject(
    "plug", "box", (BODY_M[0], BODY_M[1], HALF_HEIGHT_M), np.pi, mass_kg=0.1, rgba=(0.92, 0.92, 0.9, 1.0),
    parts=(
        Part("box", BODY_M, (0.0, 0.0, PRONG_M[2])),
        Part("box", PRONG_M, (-APART_M / 2, 0.0, PRONG_M[2] - HALF_HEIGHT_M), rgba=METAL),
        Part("box", PRONG_M, (APART_M / 2, 0.0, PRONG_M[2] - HALF_HEIGHT_M), rgba=METAL),
    ),
    frames=(Frame("tip", (0.0, 0.0, -HALF_HEIGHT_M)),),
)  # fmt: skip


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("socket", SOCKET_XY_M)
    layout.thing("plug", PLUG_XY_M)
    return layout.done()


@cache
def fitted(robot: Robot) -> Task:
    """The task with a smaller plug and socket, for a small hand."""
    if robot.widest_grip_m is None or robot.widest_grip_m >= 2 * BODY_M[1]:
        return PLUG_IN
    scale = robot.widest_grip_m / (2 * BODY_M[1])
    half_m = (scale * PRONG_M[0], scale * PRONG_M[1])
    entities = (Thing("plug", PLUG.scaled(scale)), socket("socket", half_m=half_m, apart_m=scale * APART_M))
    depth_m = scale * DEPTH_M
    success = (deep_in("plug.tip", "socket.rim", by_m=depth_m, within_m=0.005), let_go("plug"))
    program = _program(scale, stalls_s=2.0)
    return replace(PLUG_IN, entities=entities, program=program, success=success, fitted=None)


def _program(scale: float, stalls_s: float = 0.0) -> tuple[Phase, ...]:
    depth_m = scale * DEPTH_M
    return (
        *grasp("plug", raise_m=0.02 * scale),
        *lift("plug", by_m=0.1),
        *carry("plug", to="socket.rim", height_m=0.05, aligned=True, turns=2, tolerance_m=0.01),
        *insert("plug", "plug.tip", "socket.rim", depth_m=depth_m + 0.006, turns=2, words="plug in the {plug}",
                stalls_s=stalls_s, done=deep_in("plug.tip", "socket.rim", by_m=depth_m + 0.002, within_m=0.005)),
    )  # fmt: skip


PLUG_IN = Task(
    name="plug_in",
    entities=(Thing("plug", PLUG), socket("socket", half_m=PRONG_M[:2], apart_m=APART_M)),
    start=start,
    program=_program(1.0),
    success=(deep_in("plug.tip", "socket.rim", by_m=DEPTH_M, within_m=0.005), let_go("plug")),
    language=Language((
        "plug the {plug} into the {socket}",
        "plug it in",
        "put the {plug} in the {socket}",
        "insert the {plug} into the {socket}",
        "connect the {plug} to the {socket}",
        "push the {plug} into the {socket}",
        "take the {plug} and plug it in",
        "fit the prongs of the {plug} into the {socket}",
        "please plug in the {plug}",
        "stick the {plug} into the {socket}",
        "the {plug} belongs in the {socket}",
        "turn the {plug} the right way and push it into the {socket}",
    )),
    longest_s=30.0,
    unvaried=(*MANY_CONTACTS, *NARROW_HOLE),
    fitted=fitted,
)  # fmt: skip
