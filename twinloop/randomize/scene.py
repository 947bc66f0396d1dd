"""Rows of the scene: what is asked for, in which words, and where fixtures stand."""

import numpy as np

from twinloop.randomize.hooks import Rows
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.uses import Picture
from twinloop.twin.fixtures.hole import CLEARANCE_ROW, USUAL_CLEARANCE_MM, walls_of


def _clearance(rows: Rows, ids: np.ndarray, clearance_mm: np.ndarray) -> None:
    """Move the walls of all holes."""
    walls, outwards = walls_of(rows.twin.model)
    shift_m = (clearance_mm - USUAL_CLEARANCE_MM) / 2000
    rows["geom_pos"][np.ix_(ids, walls, np.arange(2))] += shift_m[:, None, None] * outwards


DRAWER = Picture("start", scene="task: open_drawer", why="The drawer of task open_drawer.")

SCENE = (
    Parameter("task_choice", "environment", "environment", "1",
              "which entities play the roles of the task, e.g. which cube is asked for",
              0.0, (0.0, 1.0), "all of them, equally often", (0.0, 1.0), realistic=False, lays_out=True,
              picture=Picture("cell", scene="task: sort_by_colour", why="The cube that task sort_by_colour asks for."),
              always_with="roles", reach=0.0),
    Parameter("instruction_choice", "environment", "human", "1",
              "which paraphrase the instruction is: 0 to 1 for those of training, 1 to 2 for unseen ones",
              0.0, (0.0, 1.0), "all paraphrases of training, equally often", (0.0, 2.0), realistic=False,
              lays_out=True,
              picture=Picture("instruction", scene="task: pick_and_place"), reach=0.0),
    Parameter("fixture_position_noise_cm", "environment", "environment", "cm", "where fixtures stand on the table",
              0.0, (-1.5, 1.5),
              "Isaac Lab's Factory tasks place the fixed part within ±5 cm; furniture against a mark is nearer "
              "(estimate)",
              (-15.0, 15.0), ("x", "y"),
              lays_out=True,
              picture=DRAWER),
    Parameter("fixture_yaw_deg", "environment", "environment", "°", "how fixtures are turned about the vertical",
              0.0, (-5.0, 5.0),
              "Isaac Lab's Factory tasks turn the fixed part within 15° for gears and 30° for bolts, from one end "
              "to the other; furniture against an edge less (estimate)",
              (-45.0, 45.0),
              lays_out=True, picture=DRAWER),
    Parameter(CLEARANCE_ROW, "environment", "contact", "mm", "difference of the widths of a hole and its peg",
              USUAL_CLEARANCE_MM, (0.5, 3.0),
              "0.11 mm of Isaac Lab's Factory peg in its hole is industry's; 0.5 to 0.7 mm between printed parts "
              "that move (3D Orchard, 'Part tolerance'); up to 3 mm for rough fixtures (estimate)",
              (0.1, 10.0), apply=_clearance, only_with=("hole",),
              picture=Picture("hardest", scene="task: peg_insertion", why="The hole of task peg_insertion.")),
)  # fmt: skip
