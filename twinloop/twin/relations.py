"""Relations between entities that can be tested in any frame.

Success, sub-goals, rewards and names of failures are made of them. Each function returns a Relation; names of things
may be roles.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from twinloop.twin.rotation import dot, inverse_rotated, length, rotated
from twinloop.twin.scene import Scene

AT_REST_M_S = 0.05
LET_GO_N = 0.1
HOLDING_N = 1.0
HELD_M = 0.06
COVERED_M = 0.003
REWARD_M = 0.1
"""Distance at which the progress towards a place has fallen to a half."""


@dataclass(frozen=True)
class Relation:
    """A condition on a scene.

    Attributes:
        name: what holds, e.g. `red_cube_on_plate`. A failure is called `not_` and this name.
        holds: Scene -> (n,) bool.
        progress: Scene -> (n,) from 0 to 1, and 1 where it holds.
        about: the entities, roles and frames that it names.
        aside_m: Scene -> (n,) distance of a tip from the axis of its hole; None for relations without a hole.
    """

    name: str
    holds: Callable[[Scene], np.ndarray]
    progress: Callable[[Scene], np.ndarray]
    about: tuple[str, ...] = ()
    aside_m: Callable[[Scene], np.ndarray] | None = None


def _near(distance_m: np.ndarray) -> np.ndarray:
    return 1 / (1 + distance_m / REWARD_M)


def _relation(
    name: str,
    about: tuple[str, ...],
    holds: Callable[[Scene], np.ndarray],
    progress: Callable[[Scene], np.ndarray] | None = None,
) -> Relation:
    def towards(scene: Scene) -> np.ndarray:
        done = holds(scene)
        return done.astype(float) if progress is None else np.where(done, 1.0, np.minimum(progress(scene), 0.99))

    return Relation(name.replace(".", "_"), holds, towards, about)


def at(thing: str, place: str, *, within_m: float, height_tolerance_m: float = 0.01, above_m: float = 0.0) -> Relation:
    """The thing stands on the place (half its height above it), inside a radius."""

    def offset(scene: Scene) -> np.ndarray:
        out = scene.position(thing) - scene.position(place)
        out[:, 2] -= scene.half_extents_m(thing)[:, 2] + above_m
        return out

    def holds(scene: Scene) -> np.ndarray:
        off = offset(scene)
        sideways = _sideways_m(off)
        return (sideways < within_m) & (np.abs(off[:, 2]) < height_tolerance_m)

    return _relation(f"{thing}_at_{place}", (thing, place), holds, lambda scene: _near(length(offset(scene))))


def on(thing: str, other: str, *, within_m: float = 0.02, height_tolerance_m: float = 0.01) -> Relation:
    """The thing lies on another thing, its centre within a radius of the other's."""

    def offset(scene: Scene) -> np.ndarray:
        out = scene.position(thing) - scene.position(other)
        out[:, 2] -= _half_height_m(scene, thing) + _half_height_m(scene, other)
        return out

    def holds(scene: Scene) -> np.ndarray:
        off = offset(scene)
        sideways = _sideways_m(off)
        return (sideways < within_m) & (np.abs(off[:, 2]) < height_tolerance_m)

    return _relation(f"{thing}_on_{other}", (thing, other), holds, lambda scene: _near(length(offset(scene))))


def inside(thing: str, frame: str, half_extents_m: tuple[float, float, float]) -> Relation:
    """The centre of the thing is in a box about a frame, along the axes of that frame."""
    half = np.array(half_extents_m)

    def outside(scene: Scene) -> np.ndarray:
        local = inverse_rotated(scene.axes(frame), scene.position(thing) - scene.position(frame))
        return np.maximum(np.abs(local) - half, 0)

    return _relation(
        f"{thing}_in_{frame}",
        (thing, frame),
        lambda scene: (outside(scene) == 0).all(axis=1),
        lambda scene: _near(length(outside(scene))),
    )


def deep_in(tip: str, rim: str, *, by_m: float, within_m: float) -> Relation:
    """The tip of a thing is this deep below the rim of a hole, and near its axis."""

    def local(scene: Scene) -> np.ndarray:
        return inverse_rotated(scene.axes(rim), scene.position(tip) - scene.position(rim))

    def holds(scene: Scene) -> np.ndarray:
        off = local(scene)
        return (off[:, 2] <= -by_m) & (_sideways_m(off) < within_m)

    relation = _relation(
        f"{tip}_in_{rim}", (tip, rim), holds, lambda scene: _near(length(local(scene) + np.array([0.0, 0.0, by_m])))
    )
    return replace(relation, aside_m=lambda scene: _sideways_m(local(scene)))


def opened(fixture: str, by: float, *, less: bool = False) -> Relation:
    """The joint of a fixture is at least (`less`: at most) at this coordinate."""

    def holds(scene: Scene) -> np.ndarray:
        value = scene.value(fixture)
        return value <= by if less else value >= by

    def progress(scene: Scene) -> np.ndarray:
        value = scene.value(fixture)
        return 1 / (1 + 5 * np.abs(value - by)) if less or by == 0 else np.clip(value / by, 0, 1)

    return _relation(f"{fixture}_{'closed' if less else 'open'}", (fixture,), holds, progress)


def turned(fixture: str, by_rad: float) -> Relation:
    """The knob has been turned at least this far."""
    relation = opened(fixture, by_rad)
    return Relation(f"{fixture}_turned", relation.holds, relation.progress, relation.about)


def upright(thing: str, *, within_rad: float = 0.25) -> Relation:
    """The z axis of the thing points up."""

    def cosine(scene: Scene) -> np.ndarray:
        return scene.axes(thing)[:, 2, 2]

    return _relation(
        f"{thing}_upright",
        (thing,),
        lambda scene: cosine(scene) > np.cos(within_rad),
        lambda scene: (1 + cosine(scene)) / 2,
    )


def held(thing: str) -> Relation:
    """Both fingers press and the thing is at the tool."""

    def holds(scene: Scene) -> np.ndarray:
        near = length(scene.position(thing) - scene.tool_position) < HELD_M
        return near & (np.minimum.reduce(scene.finger_force_n.T) > HOLDING_N)

    return _relation(
        f"{thing}_held", (thing,), holds, lambda scene: _near(length(scene.position(thing) - scene.tool_position))
    )


def by_arm(arm: str, relation: Relation) -> Relation:
    """A relation about the tool and the fingers of one of several arms, e.g. `by_arm("left", held("cup"))`."""

    def holds(scene: Scene) -> np.ndarray:
        return relation.holds(scene.of_arm(arm))

    def progress(scene: Scene) -> np.ndarray:
        return relation.progress(scene.of_arm(arm))

    return Relation(f"{relation.name}_by_{arm}", holds, progress, relation.about)


def let_go(thing: str = "thing") -> Relation:
    """No finger presses on anything."""
    return _relation(f"{thing}_released", (), lambda scene: np.maximum.reduce(scene.finger_force_n.T) < LET_GO_N)


def at_rest(thing: str) -> Relation:
    return _relation(f"{thing}_at_rest", (thing,), lambda scene: scene.speed_m_s(thing) < AT_REST_M_S)


def lifted(thing: str, by_m: float) -> Relation:
    """The centre of the thing is this far above where it would be on the table."""

    def height(scene: Scene) -> np.ndarray:
        return scene.position(thing)[:, 2] - scene.table_height_m - _half_height_m(scene, thing)

    return _relation(
        f"{thing}_lifted",
        (thing,),
        lambda scene: height(scene) >= by_m,
        lambda scene: np.clip(height(scene) / by_m, 0, 1),
    )


def touching(thing: str, other: str, *, within_m: float) -> Relation:
    """The distance of the two centres is at most `within_m`."""

    def apart(scene: Scene) -> np.ndarray:
        return length(scene.position(thing) - scene.position(other))

    return _relation(
        f"{thing}_touching_{other}",
        (thing, other),
        lambda scene: apart(scene) < within_m,
        lambda scene: _near(apart(scene)),
    )


def tool_clear(of: str, by_m: float) -> Relation:
    """The tool has moved away from a thing."""

    def apart(scene: Scene) -> np.ndarray:
        return length(scene.position(of) - scene.tool_position)

    return _relation(f"clear_of_{of}", (of,), lambda scene: apart(scene) > by_m)


def share_inside(things: tuple[str, ...], frame: str, half_extents_m: tuple[float, float, float], share: float):
    """At least this share of the things is in the box: grains in a bowl."""
    relations = [inside(thing, frame, half_extents_m) for thing in things]

    def fraction(scene: Scene) -> np.ndarray:
        return np.mean([relation.holds(scene) for relation in relations], axis=0)

    return _relation(f"poured_in_{frame}", (*things, frame), lambda scene: fraction(scene) >= share, fraction)


def either_inside(things: tuple[str, ...], frame: str, half_extents_m: tuple[float, float, float]) -> Relation:
    """The centre of at least one of the things is in a box about a frame."""
    relations = [inside(thing, frame, half_extents_m) for thing in things]
    return _relation(
        f"product_in_{frame}",
        (*things, frame),
        lambda scene: np.logical_or.reduce([relation.holds(scene) for relation in relations]),
        lambda scene: np.max([relation.progress(scene) for relation in relations], axis=0),
    )


def lies_flat(thing: str, place: str, *, within_m: float, height_m: float = 0.03) -> Relation:
    """The centre of a cloth is near a place and so low that the cloth cannot stand."""

    def offset(scene: Scene) -> np.ndarray:
        return scene.position(thing) - scene.position(place)

    def holds(scene: Scene) -> np.ndarray:
        off = offset(scene)
        return (_sideways_m(off) < within_m) & (off[:, 2] < height_m)

    return _relation(f"{thing}_flat_at_{place}", (thing, place), holds, lambda scene: _near(length(offset(scene))))


def covered(cells: tuple[str, ...], *, share: float, by_m: float = COVERED_M) -> Relation:
    """At least this share of the cells of a path has been pressed down."""

    def fraction(scene: Scene) -> np.ndarray:
        return np.mean([scene.value(cell) >= by_m for cell in cells], axis=0)

    return _relation("path_covered", cells, lambda scene: fraction(scene) >= share, fraction)


def _sideways_m(offset: np.ndarray) -> np.ndarray:
    """(n,) horizontal lengths of (n, 3) offsets."""
    return np.sqrt(offset[:, 0] * offset[:, 0] + offset[:, 1] * offset[:, 1])


def _half_height_m(scene: Scene, name: str) -> np.ndarray:
    """(n,) half of the vertical extent of a thing in its present orientation."""
    return dot(np.abs(scene.axes(name)[:, 2, :]), scene.half_extents_m(name))


def point_of(scene: Scene, name: str, offset_m: tuple[float, float, float]) -> np.ndarray:
    """(n, 3) a point that is fixed in the frame of an entity."""
    return scene.position(name) + rotated(scene.axes(name), np.array(offset_m))
