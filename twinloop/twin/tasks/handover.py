"""Hand the object to a person: pick it up, bring it to an open palm and release it. The palm comes, waits and goes."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial

import mujoco
import numpy as np

from twinloop.twin.entity import Draw, Entity, Fixture, Thing
from twinloop.twin.failure import FELL_OFF_TABLE, NEVER_GRASPED, NEVER_REACHED, EpisodeSummary, Failure
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.phase import Phase
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at, at_rest, let_go
from twinloop.twin.robot import Robot
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, hand_over, lift
from twinloop.twin.task import Task
from twinloop.twin.tasks.pick_and_place import OBJECT_XY_M

PALM_AT_M = np.array([0.5, 0.24, 0.16])
PALM_HALF_M = (0.05, 0.045, 0.01)
FOREARM_M = 0.26
FROM_M = np.array([0.0, 0.45, 0.0])  # start of the hand's path, relative to where it waits
ON_PALM_M = 0.05
SKIN = (0.85, 0.66, 0.55, 1.0)


def furnish(_spec: mujoco.MjSpec, hand: mujoco.MjsBody) -> None:
    """Add an open palm and a forearm. They have contacts with object and robot, and follow a given path."""
    touches = {"contype": 0, "conaffinity": 3, "rgba": SKIN}
    # The body's origin is on the palm's surface, so an object at the goal lies on the palm.
    hand.add_geom(name="goal", type=mujoco.mjtGeom.mjGEOM_BOX, size=PALM_HALF_M, pos=[0, 0, -PALM_HALF_M[2]], **touches)
    hand.add_geom(
        name="forearm", type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[0.035, 0, 0],
        fromto=[0, 0.08, -0.03, 0, 0.08 + FOREARM_M, -0.05], **touches,
    )  # fmt: skip


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.thing("object", OBJECT_XY_M)
    palm = entities["goal"]
    assert isinstance(palm, Fixture)
    assert palm.path is not None
    layout.pose("goal", palm.path(draw, np.zeros(count)))
    return layout.done()


def hand_poses(draw: Draw, time_s: np.ndarray, *, palm_m: np.ndarray = PALM_AT_M) -> np.ndarray:
    """(n, 7) pose of the palm: moving in (with a stop half-way), waiting, or moving out.

    Args:
        palm_m: where the palm usually waits.
    """
    way_m = np.linalg.norm(FROM_M)
    travel_s = way_m / draw["hand_speed_m_s"]
    pause_s = draw["hand_hesitation_s"]
    since = time_s - draw["hand_arrival_s"]
    # Moving in, as a share of the path: one half, a pause, the other half.
    arrived = np.clip(since / travel_s, 0, 0.5) + np.clip((since - travel_s / 2 - pause_s) / travel_s, 0, 0.5)
    back_s = np.where(draw["hand_withdrawal_s"] > 0, draw["hand_withdrawal_s"], travel_s)
    left = np.clip((since - travel_s - pause_s - draw["hand_patience_s"]) / back_s, 0, 1)
    away = 1 - arrived + left
    reach = np.column_stack([draw[f"hand_reach_cm.{axis}"] for axis in "xyz"]) / 100
    yaw = np.deg2rad(draw["hand_turn_deg"])
    poses = np.zeros((len(time_s), 7))
    poses[:, :3] = palm_m + reach + away[:, None] * FROM_M
    poses[:, 2] += draw["table_height_cm"] / 100
    poses[:, 3], poses[:, 6] = np.cos(yaw / 2), np.sin(yaw / 2)
    return poses


def arrives_s(draw: Draw) -> np.ndarray:
    """(n,) time at which the hand arrives where it waits."""
    return draw["hand_arrival_s"] + np.linalg.norm(FROM_M) / draw["hand_speed_m_s"] + draw["hand_hesitation_s"]


def leaves_s(draw: Draw) -> np.ndarray:
    """(n,) time at which the hand begins to withdraw."""
    return arrives_s(draw) + draw["hand_patience_s"]


def _too_early(end: EpisodeSummary) -> np.ndarray:
    return end.released & (end.released_s < arrives_s(end.drawn))


FAILURES = (
    FELL_OFF_TABLE,
    NEVER_REACHED,
    NEVER_GRASPED,
    Failure("dropped_before_release", "it was lost on the way", lambda end: ~end.holding & ~end.released),
    Failure("released_too_early", "it was let go before the hand had come to rest", _too_early),
    Failure("no_receiver", "the hand had not come yet", lambda end: end.ended_s < arrives_s(end.drawn)),
    Failure("hand_withdrew", "the hand left before it was served", lambda end: end.ended_s > leaves_s(end.drawn)),
    Failure("slipped_off_palm", "it was let go at the hand and did not stay there", lambda end: end.released),
)


def _program(*, height_m: float, speed_m_s: float) -> tuple[Phase, ...]:
    """The person does not wait for long, so the way over the palm is short and fast."""
    return (
        *grasp("object"),
        *lift("object"),
        *carry("object", to="goal", height_m=height_m, speed_m_s=speed_m_s, longest_s=8.0),
        *hand_over("object", to="goal"),
    )


@cache
def fitted(robot: Robot) -> Task:
    """The task with the palm as near to the arm as other places.

    The palm is within reach of a short arm as it is. That arm moves more slowly, and higher above the palm: its hand
    leans on the way, and a thing in its wedge of jaws slips sooner.
    """
    if robot.area is None:
        return HANDOVER
    if robot.is_short:
        return replace(HANDOVER, program=_program(height_m=0.08, speed_m_s=0.4), fitted=None)
    thing, palm = HANDOVER.entities
    assert isinstance(palm, Fixture)
    x, y, z = PALM_AT_M
    (near_x, near_y), _ = robot.area.place((x, y))
    path = partial(hand_poses, palm_m=np.array([near_x, near_y, z]))
    return replace(HANDOVER, entities=(thing, replace(palm, path=path)), fitted=None)


HANDOVER = Task(
    name="handover",
    entities=(
        Thing("object", OBJECTS["cube"]),
        Fixture("goal", furnish, person=True, path=hand_poses, words="the person"),
    ),
    start=start,
    program=_program(height_m=0.05, speed_m_s=0.5),
    # The surface of a palm is slightly soft.
    success=(
        at("object", "goal", within_m=ON_PALM_M, height_tolerance_m=0.012),
        at_rest("object"),
        let_go("object"),
    ),
    language=Language((
        "hand the {object} to the person",
        "give the {object} to the person",
        "pass the {object} to the open hand",
        "put the {object} into the person's hand",
        "hand over the {object}",
        "give me the {object}",
        "place the {object} on the open palm",
        "deliver the {object} to the waiting hand",
        "let the person have the {object}",
        "pick up the {object} and hand it over",
        "bring the {object} to the hand",
        "pass me the {object}",
    )),
    goal="goal",
    failures=FAILURES,
    fitted=fitted,
)  # fmt: skip
