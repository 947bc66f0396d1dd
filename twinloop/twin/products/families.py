"""Families of products: how the primitives of a bottle, a bracket or a toy car follow from a few numbers.

Lengths are in millimetres here. A family returns parts that stand on z = 0. A gripper closes along y at x = 0, where
every family is at most 64 mm wide.
"""

from collections.abc import Callable

import numpy as np

from twinloop.twin.objects import Part, Quaternion
from twinloop.twin.products.parts import (
    ALONG_Y,
    CARDBOARD,
    CERAMIC,
    FOOD,
    METAL,
    PLASTIC,
    RUBBER,
    WOOD,
    Drawn,
    Family,
    box,
    cylinder,
    ellipsoid,
    lying,
    turned,
    yaw,
)

LOWER = 0.2
"""Difference in height of parts that cross each other. Surfaces in one plane flicker in images."""


def _carton(r: Drawn) -> list[Part]:
    return [box(r(40, 110), r(28, 62), r(30, 70))]


def _book(r: Drawn) -> list[Part]:
    return [box(r(80, 130), r(46, 64), r(16, 26))]


def _tall_box(r: Drawn) -> list[Part]:
    return [box(r(34, 52), r(32, 56), r(75, 110))]


def _can(r: Drawn) -> list[Part]:
    return [cylinder(r(21, 32), r(50, 105))]


def _tin(r: Drawn) -> list[Part]:
    return [cylinder(r(24, 32), r(16, 34))]


def _bottle(r: Drawn) -> list[Part]:
    radius, height, neck = r(19, 30), r(62, 85), r(8, 12)
    top = height + r(6, 10)
    end = top + r(10, 18)
    return [
        cylinder(radius, height),
        cylinder(0.7 * radius, top - height, (0, 0, height)),
        cylinder(neck, end - top, (0, 0, top)),
        cylinder(neck + 2, 8, (0, 0, end)),
    ]


def _jar(r: Drawn) -> list[Part]:
    radius, height = r(22, 29), r(40, 80)
    return [cylinder(radius, height), cylinder(radius + r(1, 2.5), r(8, 16), (0, 0, height))]


def _tube(r: Drawn) -> list[Part]:
    radius = r(11, 24)
    return [lying("cylinder", radius, r(60, 125), (0, 0, radius))]


def _sausage(r: Drawn) -> list[Part]:
    radius = r(12, 24)
    return [lying("capsule", radius, r(35, 80), (0, 0, radius))]


def _soap(r: Drawn) -> list[Part]:
    height = r(24, 38)
    return [ellipsoid(r(60, 100), r(38, 60), height, (0, 0, height / 2))]


def _lemon(r: Drawn) -> list[Part]:
    length, width, tip = r(60, 85), r(40, 58), r(14, 22)
    middle = (length / 2 - 3, 0, width / 2)
    return [
        ellipsoid(length, width, width, (0, 0, width / 2)),
        ellipsoid(tip, 0.8 * tip, 0.8 * tip, middle),
        ellipsoid(tip, 0.8 * tip, 0.8 * tip, (-middle[0], 0, width / 2)),
    ]


def _ell(r: Drawn) -> list[Part]:
    length, width, height, thick = r(60, 100), r(24, 56), r(45, 80), r(16, 26)
    return [box(length, width, thick, (length / 2 - thick / 2, 0, 0)), box(thick, width, height - thick, (0, 0, thick))]


def _tee(r: Drawn) -> list[Part]:
    width, thick = r(24, 56), r(12, 22)
    return [box(r(60, 100), width, thick), box(r(14, 28), width, r(35, 60), (0, 0, thick))]


def _channel(r: Drawn) -> list[Part]:
    length, width, height, wall = r(50, 110), r(42, 64), r(30, 50), r(5, 9)
    side = (width - wall) / 2
    return [
        box(length, width, wall),
        box(length, wall, height - wall, (0, side, wall)),
        box(length, wall, height - wall, (0, -side, wall)),
    ]


def _cross(r: Drawn) -> list[Part]:
    arm, height = r(18, 28), r(22, 45)
    return [box(r(64, 100), arm, height), box(arm, r(48, 64), height - LOWER)]


def _steps(r: Drawn) -> list[Part]:
    length, width, rise = r(70, 110), r(28, 60), r(14, 22)
    shares = (1, r(0.55, 0.75), r(0.25, 0.4))
    return [box(share * length, width, rise, (0, 0, level * rise)) for level, share in enumerate(shares)]


def _prism(sides: int) -> Callable[[Drawn], list[Part]]:
    """A prism with an even number of sides: a box between each pair of opposite sides."""

    def parts(r: Drawn) -> list[Part]:
        width, height = r(36, 62), r(22, 80)
        side = width * np.tan(np.pi / sides)
        return [
            box(side, width, height - LOWER * number, quat=yaw(2 * np.pi * number / sides))
            for number in range(sides // 2)
        ]

    return parts


def _dumbbell(r: Drawn) -> list[Part]:
    end, width, height, bar = r(18, 32), r(36, 60), r(34, 52), r(14, 22)
    length = r(40, 60)
    place = (length + end) / 2
    return [
        Part("box", (length / 2, bar / 2, bar / 2), (0, 0, height / 2)),
        box(end, width, height, (place, 0, 0)),
        box(end, width, height, (-place, 0, 0)),
    ]


def _hammer(r: Drawn) -> list[Part]:
    height, handle, head, width = r(20, 30), r(60, 85), r(20, 28), r(46, 64)
    return [
        box(handle, r(15, 24), height, (-0.1 * handle, 0, 0)),
        box(head, width, height, (0.4 * handle + head / 2, 0, 0)),
    ]


def _wrench(r: Drawn) -> list[Part]:
    height, length, radius = r(16, 26), r(60, 90), r(16, 28)
    return [
        box(length, r(14, 22), height),
        cylinder(radius, height, (length / 2, 0, 0)),
        cylinder(0.85 * radius, height, (-length / 2, 0, 0)),
    ]


def _ring(first: int, count: int, *, of: int = 10) -> Callable[[Drawn], list[Part]]:
    """A ring of capsules, or a part of one."""

    def parts(r: Drawn) -> list[Part]:
        thick = r(7, 11)
        radius = r(19, 31.5 - thick)
        side = 2 * radius * np.tan(np.pi / of)
        turns = [2 * np.pi * (number + 0.5) / of for number in range(first, first + count)]
        return [
            Part(
                "capsule",
                (thick, side / 2, 0),
                (radius * float(np.cos(turn)), radius * float(np.sin(turn)), thick),
                turned(yaw(turn), ALONG_Y),
            )
            for turn in turns
        ]

    return parts


def _cup(r: Drawn) -> list[Part]:
    radius, height, wall = r(25, 31), r(40, 85), r(4, 6)
    side = 2 * radius * np.tan(np.pi / 8)
    inner = radius - wall / 2
    walls = [
        box(wall, side, height - wall, (inner * float(np.cos(turn)), inner * float(np.sin(turn)), wall), yaw(turn))
        for turn in np.arange(8) * np.pi / 4
    ]
    return [cylinder(radius, wall), *walls]


def _mug(r: Drawn) -> list[Part]:
    parts = _cup(r)
    radius, height = parts[0].size[0], 2 * parts[1].size[2]
    reach, thick, rod = r(16, 24), r(7, 10), r(7, 10)
    place, low, high = radius + reach / 2 - 2, 0.2 * height, 0.75 * height
    return [
        *parts,
        box(reach, rod, thick, (place, 0, low)),
        box(reach, rod, thick, (place, 0, high)),
        box(thick, rod, high - low + thick, (radius + reach - 2, 0, low)),
    ]


def _spool(r: Drawn) -> list[Part]:
    radius, core, flange, height = r(22, 31), r(9, 15), r(5, 9), r(40, 75)
    return [
        cylinder(radius, flange),
        cylinder(core, height, (0, 0, flange)),
        cylinder(radius, flange, (0, 0, flange + height)),
    ]


def _pawn(r: Drawn) -> list[Part]:
    base, waist, head = r(22, 30), r(10, 15), r(26, 36)
    foot, height = r(9, 14), r(35, 60)
    return [
        cylinder(base, foot),
        cylinder(waist, height, (0, 0, foot)),
        ellipsoid(head, head, head, (0, 0, foot + height + 0.35 * head)),
    ]


def _house(r: Drawn) -> list[Part]:
    length, width, height = r(40, 80), r(40, 60), r(30, 50)
    edge = width / np.sqrt(2)
    turn: Quaternion = (float(np.cos(np.pi / 8)), float(np.sin(np.pi / 8)), 0.0, 0.0)
    return [box(length, width, height), Part("box", (length / 2, edge / 2, edge / 2), (0, 0, height), turn)]


def _car(r: Drawn) -> list[Part]:
    length, width, wheel, tread = r(75, 115), r(34, 48), r(9, 13), r(5, 7)
    body, cabin, roof = r(16, 22), r(0.4, 0.6), r(14, 20)
    place = (0.32 * length, (width + tread) / 2, wheel)
    return [
        box(length, width, body, (0, 0, 0.6 * wheel)),
        box(cabin * length, 0.9 * width, roof, (-0.05 * length, 0, 0.6 * wheel + body)),
        *(
            lying("cylinder", wheel, tread, (x * place[0], y * place[1], wheel), ALONG_Y)
            for x in (-1, 1)
            for y in (-1, 1)
        ),
    ]


def _tower(r: Drawn) -> list[Part]:
    radius, rise = r(25, 32), r(14, 26)
    shares = (1, r(0.62, 0.8), r(0.3, 0.5))
    return [cylinder(share * radius, rise, (0, 0, level * rise)) for level, share in enumerate(shares)]


def _pack(r: Drawn) -> list[Part]:
    radius, height = r(13, 21), r(40, 75)
    return [cylinder(radius, height, (x * radius, 0, 0)) for x in (-2, 0, 2)]


def _brush(r: Drawn) -> list[Part]:
    length, width, hair = r(70, 120), r(26, 50), r(12, 22)
    return [box(0.55 * length, 0.85 * width, hair), box(length, width, r(16, 24), (0, 0, hair))]


def _plug(r: Drawn) -> list[Part]:
    length, width, height, pin = r(36, 60), r(34, 60), r(24, 40), r(3, 5)
    prong = r(16, 26)
    return [
        box(length, width, height),
        *(lying("cylinder", pin, prong, ((length + prong) / 2, side * width / 4, height / 2)) for side in (-1, 1)),
    ]


def _padlock(r: Drawn) -> list[Part]:
    length, width, height, rod = r(44, 70), r(24, 44), r(40, 60), r(4, 6)
    span, rise = 0.6 * length, r(12, 20)
    return [
        box(length, width, height),
        *(cylinder(rod, rise, (side * span / 2, 0, height)) for side in (-1, 1)),
        lying("capsule", rod, span, (0, 0, height + rise)),
    ]


def _gear(r: Drawn) -> list[Part]:
    radius, height, tooth = r(20, 26), r(16, 34), r(7, 11)
    reach = r(4, 6)
    teeth = [
        box(2 * (radius + reach), tooth, height - LOWER * (number + 1), quat=yaw(number * np.pi / 4))
        for number in range(4)
    ]
    return [cylinder(radius, height), *teeth]


def _star(r: Drawn) -> list[Part]:
    arm, height, length = r(13, 20), r(20, 44), r(50, 64)
    return [box(arm, length, height - LOWER * number, quat=yaw(number * np.pi / 3)) for number in range(3)]


def _candy(r: Drawn) -> list[Part]:
    radius, length, fan = r(14, 22), r(26, 44), r(16, 24)
    return [
        lying("capsule", radius, length, (0, 0, radius)),
        *(box(fan, 1.9 * radius, 2 * radius, (side * (length / 2 + radius + fan / 2 - 2), 0, 0)) for side in (-1, 1)),
    ]


def _tray(r: Drawn) -> list[Part]:
    length, width, height, wall = r(70, 120), r(48, 64), r(20, 34), r(4, 6)
    x, y, rise = (length - wall) / 2, (width - wall) / 2, height - wall
    return [
        box(length, width, wall),
        *(box(length, wall, rise, (0, side * y, wall)) for side in (-1, 1)),
        *(box(wall, width, rise, (side * x, 0, wall)) for side in (-1, 1)),
    ]


QUARTER = np.pi / 2

FAMILIES = (
    Family("carton", _carton, CARDBOARD),
    Family("bottle", _bottle, FOOD, 0.0, round=True),
    Family("bracket", _ell, METAL / 2, 2 * np.pi),
    Family("ring", _ring(0, 10), RUBBER, np.pi / 5, round=True),
    Family("can", _can, FOOD, 0.0, round=True),
    Family("toy_car", _car, WOOD, 2 * np.pi),
    Family("hexagon", _prism(6), WOOD, np.pi / 3),
    Family("soap", _soap, FOOD, round=True),
    Family("mug", _mug, CERAMIC, 2 * np.pi),
    Family("book", _book, WOOD),
    Family("dumbbell", _dumbbell, RUBBER),
    Family("jar", _jar, FOOD, 0.0, round=True),
    Family("channel", _channel, METAL / 2),
    Family("tube", _tube, CARDBOARD, round=True),
    Family("tee", _tee, PLASTIC),
    Family("gear", _gear, PLASTIC, np.pi / 4, round=True),
    Family("house", _house, WOOD),
    Family("cup", _cup, CERAMIC, np.pi / 4, round=True),
    Family("hammer", _hammer, WOOD, 2 * np.pi),
    Family("tin", _tin, FOOD, 0.0, round=True),
    Family("open_ring", _ring(1, 8), RUBBER, 2 * np.pi, round=True),
    Family("tall_box", _tall_box, CARDBOARD),
    Family("pawn", _pawn, WOOD, 0.0, round=True),
    Family("cross", _cross, PLASTIC),
    Family("sausage", _sausage, FOOD, round=True),
    Family("padlock", _padlock, METAL / 2),
    Family("tray", _tray, PLASTIC),
    Family("spool", _spool, PLASTIC, 0.0, round=True),
    Family("wrench", _wrench, METAL / 2, 2 * np.pi),
    Family("octagon", _prism(8), WOOD, np.pi / 4),
    Family("steps", _steps, WOOD),
    Family("pack", _pack, FOOD, round=True),
    Family("star", _star, PLASTIC, np.pi / 3),
    Family("brush", _brush, PLASTIC),
    Family("lemon", _lemon, FOOD, round=True),
    Family("plug", _plug, PLASTIC, 2 * np.pi),
    Family("tower", _tower, WOOD, 0.0, round=True),
    Family("candy", _candy, FOOD),
)
