"""Rows of the environment gap except clutter: distractors, occluders, unexpected item, daylight, tilt, reflections.

`twin/surroundings.py` reads the rows of things on the table.
"""

import numpy as np

from twinloop.randomize.hooks import Rows
from twinloop.randomize.imaging import sets
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.uses import Picture
from twinloop.twin.distractors import USUAL_XY_M
from twinloop.twin.table import origin_shift_m, tilt_quats


def _table_tilt(rows: Rows, ids: np.ndarray, tilt_deg: np.ndarray) -> None:
    # Applied after the height, which sets the position of the level table.
    quats = tilt_quats(tilt_deg)
    rows["body_quat"][ids, rows.twin.table_body] = quats
    rows["body_pos"][ids, rows.twin.table_body] += origin_shift_m(quats)


SURROUNDINGS = (
    Parameter("distractor_count", "environment", "environment", "things",
              "how many things of the object's shape, in other colours, stand on the table",
              0.0, (0.0, 4.0), "engineering estimate: more would not find room beside the work",
              (0.0, float(len(USUAL_XY_M))), builds=("distractors",), only_with=("cameras",)),
    Parameter("distractor_place_cm", "environment", "environment", "cm",
              "how far each distractor is from its usual place; one without room is left out",
              0.0, (-6.0, 6.0), "engineering estimate: half the distance between usual places", (-30.0, 30.0),
              tuple(f"{name}_{axis}" for name in USUAL_XY_M for axis in "xy"), needs="distractor_count",
              only_with=("cameras",)),
    Parameter("occluder_share", "environment", "environment", "1",
              "share of the object, where it starts, that a thing before each fixed camera hides",
              0.0, (0.0, 0.6), "engineering estimate: beyond it people move the thing or the camera", (0.0, 1.0),
              builds=("occluders",), only_with=("cameras",), on_image=sets("hidden_share")),
    Parameter("occluder_side_deg", "environment", "environment", "°",
              "side of the picture the occluder comes from: 0 right, 90 below, 180 left, -90 above",
              0.0, (-180.0, 180.0), "all sides: shelf, lamp, box or cable", (-180.0, 180.0), needs="occluder_share",
              only_with=("cameras",), on_image=sets("hidden_from_deg")),
    Parameter("occluder_width_cm", "environment", "environment", "cm", "width of the occluder",
              6.0, (4.0, 12.0),
              "YCB objects: 5 cm (sugar box) over 7 cm (soup can) to 10 cm (coffee can)",
              (2.0, 40.0), needs="occluder_share",
              only_with=("cameras",), on_image=sets("occluder_width_m", 100)),
    Parameter("occluder_distance_share", "environment", "environment", "1",
              "how far from the camera towards the object it stands, at most: never in the arm's room",
              0.35, (0.2, 0.5), "engineering estimate: on the camera's half of the way", (0.1, 0.6),
              needs="occluder_share", only_with=("cameras",), on_image=sets("occluder_at_share")),
    Parameter("unexpected_item_probability", "environment", "environment", "1",
              "how often something stands on the table, in the way perhaps; an episode draws 0 or 1",
              0.0, (0.0, 1.0), "engineering estimate: often enough to be learnt from", (0.0, 1.0), chance=0.05,
              builds=("item",)),
    Parameter("unexpected_item_place_cm", "environment", "environment", "cm",
              "where the item stands, off the middle between start and goal; beside object and goal, never in them",
              0.0, (-12.0, 12.0), "the reach of the transfer, by construction of the cell", (-30.0, 30.0), ("x", "y"),
              needs="unexpected_item_probability"),
    Parameter("unexpected_item_height_cm", "environment", "environment", "cm", "how tall the item is",
              12.0, (5.0, 20.0),
              "YCB objects: 8 cm (mug), 10 cm (soup can), 19 cm (mustard bottle); a flat box less (estimate)",
              (1.0, 25.0),
              needs="unexpected_item_probability"),
    Parameter("time_of_day_h", "environment", "environment", "h",
              "local solar time: the sun's direction, strength and colour; 0 is night, lamps alone",
              0.0, (7.0, 17.0), "working hours; sun of an equinox at 48° north, by formula", (0.0, 24.0),
              only_with=("cameras",), on_image=sets("sun_hour")),
    Parameter("daylight_intensity", "environment", "environment", "×",
              "strength of daylight against a clear sky through a window",
              1.0, (0.1, 1.2), "overcast light is about a tenth of clear: 10 against 100 klx outdoors", (0.0, 5.0),
              needs="time_of_day_h", only_with=("cameras",), on_image=sets("sun_strength")),
    Parameter("room_heading_deg", "environment", "environment", "°",
              "how the room is turned: where south is, counted from the robot's front to its left",
              0.0, (-180.0, 180.0), "all directions: rooms face anywhere", (-180.0, 180.0), needs="time_of_day_h",
              only_with=("cameras",), on_image=sets("sun_heading_deg")),
    Parameter("table_tilt_deg", "environment", "environment", "°",
              "tilt of the table against the robot's base, about its x and its y axis",
              0.0, (-1.0, 1.0),
              "DIN 18202, table 3: floors deviate by 4 mm on 1 m, 0.23°; feet screwed out unevenly add more "
              "(estimate)",
              (-5.0, 5.0),
              ("x", "y"), apply=_table_tilt),
    Parameter("object_gloss", "environment", "environment", "1", "how much more than plain plastic the object shines",
              0.0, (0.0, 0.8), "matt to glossy coatings: gloss of 8 to 90 at 60° by ISO 2813 (classes of Lankwitzer)",
              (0.0, 0.8),
              only_with=("cameras",), picture=Picture("pixels"), on_image=sets("gloss")),
    Parameter("floor_reflectance", "environment", "environment", "1", "how much the floor mirrors",
              0.0, (0.0, 0.2),
              "Fresnel, n = 1.5: a polished floor mirrors 0.04 straight on, 0.09 at 60° and 0.2 at 73°",
              (0.0, 0.9), only_with=("cameras",),
              on_image=sets("floor_mirror")),
)  # fmt: skip
