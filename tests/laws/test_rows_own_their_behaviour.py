"""A row of the parameter table owns its behaviour: other rooms do not know its name.

`ALLOWED` is a ratchet. A file may name at most so many rows; the numbers may only become smaller.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

from twinloop.randomize.imaging import ImageSettings
from twinloop.randomize.table import BUILTIN, BY_NAME
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.twin.compose import features_of

PACKAGE = Path(__file__).parents[2] / "twinloop"
NAMES = {row.name for row in BUILTIN} - {"reflectance"}  # also an attribute of MuJoCo's materials

CELLS = "a rehearsal cell has its own physics, which reads truths by their keys in cell files"
LAYOUT = "lays out scenes: places that keep clear of each other need the drawn offsets of all entities at once"
SHAPE = "extents of a thing, which placing, grasping and rendering need before and besides the physics"
TABLE_TOP = "height and tilt of the table's surface, which poses are relative to"
ROLES = "which entities play the roles of a task, and in which words it is asked for"
FIT = "an estimator of exactly these quantities from recordings"

ALLOWED: dict[str, tuple[int, str]] = {
    "calibrate/sensors/static.py": (13, FIT),
    "calibrate/visual/anchor.py": (3, FIT),
    "calibrate/wheels.py": (8, FIT),
    "calibrate/visual/match.py": (6, FIT),
    "diagnose/layout.py": (1, "the height of the table is read from logged poses"),
    "cli/robots.py": (1, "a column of the list of robots has the name of the row: what an arm may carry"),
    "dashboard/effects/walking.py": (3, "pictures of effects choose the rows beside the one that they show"),
    "diagnose/picture_rows.py": (1, "an argument of the camera model has the name of the row"),
    "dashboard/effects/driving.py": (6, "pictures of effects choose the rows beside the one that they show"),
    "simulate/room_draw.py": (4, LAYOUT),
    "simulate/wheel_cell.py": (2, "people who walk in a room react to the robot in each control period"),
    "simulate/walk_cell.py": (1, "the terrain that a draw begins on"),
    "gate/repeat.py": (4, "rebuilds a logged scene from its poses"),
    "gate/repeats.py": (1, "rebuilds a logged scene from its poses"),
    "deploy/rehearsal/": (33, CELLS),
    "deploy/twin_robot.py": (1, ROLES),
    "twin/twin.py": (4, f"{ROLES}; the name of a drawn product"),
    "simulate/reach.py": (2, f"{ROLES}; an object that somebody moves is not where it was drawn"),
    "simulate/cell.py": (6, f"{ROLES}; {TABLE_TOP}; an object that somebody moves during an episode"),
    "observe/appearance.py": (4, f"{SHAPE}; {TABLE_TOP}"),
    "observe/occluders.py": (1, SHAPE),
    "twin/shapes.py": (3, SHAPE),
    "twin/placing.py": (9, LAYOUT),
    "twin/table.py": (2, TABLE_TOP),
    "curate/checks.py": (1, TABLE_TOP),
    "curate/failure.py": (1, TABLE_TOP),
    "twin/robot_files/mjcf.py": (1, "a key of a robot file has the name of the row: the stiffness of each servo"),
    "twin/fixtures/hole.py": (1, "the fixture names the row that it brings"),
    "twin/tasks/bin_picking.py": (4, LAYOUT),
    "twin/tasks/handover.py": (8, "the person of this task"),
    "twin/tasks/prepare_tea.py": (2, LAYOUT),
    "twin/unvaried.py": (6, "names for tasks the rows that cannot vary in them"),
}
"""File or folder -> the number of rows it may name, and why."""


def named_rows(path: Path) -> set[str]:
    """Rows whose names, or names of columns, are strings in a module, besides a task's `unvaried` and `ranges`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    keywords = [node for node in ast.walk(tree) if isinstance(node, ast.keyword)]
    values = [keyword.value for keyword in keywords if keyword.arg in ("unvaried", "ranges")]
    declared = {part for value in values for part in ast.walk(value)}
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in declared
    ]
    return {string.partition(".")[0] for string in strings} & NAMES


@cache
def rows_named_by_entry() -> dict[str, set[str]]:
    """Entry of `ALLOWED`, or file outside of it -> the rows that it names."""
    rows: dict[str, set[str]] = {entry: set() for entry in ALLOWED}
    for path in sorted(PACKAGE.rglob("*.py")):
        file = str(path.relative_to(PACKAGE))
        if not file.startswith("randomize/"):
            entry = next((entry for entry in ALLOWED if file.startswith(entry)), file)
            rows.setdefault(entry, set()).update(named_rows(path))
    return rows


def test_no_other_package_names_more_rows():
    excess = [
        f"{entry} names {', '.join(sorted(rows))}: {len(rows)} rows, {ALLOWED.get(entry, (0,))[0]} are allowed"
        for entry, rows in rows_named_by_entry().items()
        if len(rows) > ALLOWED.get(entry, (0,))[0]
    ]
    assert not excess, "\n".join(excess) + "\nLet the row act by a hook of randomize/parameter.py instead."


def test_the_list_of_exceptions_has_no_entry_that_is_not_needed():
    named = rows_named_by_entry()
    for entry, (most, why) in ALLOWED.items():
        assert most > 0
        assert why
        assert named[entry], f"{entry} names no row any more; remove its entry"


def test_every_row_acts_or_is_read_by_a_listed_exception():
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")))
    for row in BUILTIN:
        # A row that only other rows or functions read is named a second time somewhere.
        # Rows of a joint are quantities of the servo law (`simulate/drives`), which takes them all by their prefix.
        assert row.functions or row.of_joint or text.count(row.name) > 1, row.name


@pytest.mark.parametrize("row", [row for row in BUILTIN if row.builds], ids=lambda row: row.name)
def test_a_twin_has_the_parts_that_a_row_needs(row):
    features = features_of(row.builds, wrist_sensors=False, touch=False, longest_delay_s=0.0)
    assert features != features_of((), wrist_sensors=False, touch=False, longest_delay_s=0.0)


def test_rows_refer_to_rows_and_columns_that_exist():
    for row in BUILTIN:
        assert not row.needs or row.needs in BY_NAME
        assert all(column.partition(".")[0] in BY_NAME for column in row.beside)
        assert row.picture is None or all(name in BY_NAME for name in row.picture.given)


def test_delay_lines_are_as_long_as_the_rows_need():
    text = "randomization: {latency: {action_delay_ms: [0, 60], action_jitter_ms: 5}}"
    assert twin_of(config_from_text(text, name="delays", folder=Path())).longest_delay_s == pytest.approx(0.08)


def test_settings_of_images_are_off_by_default():
    assert not ImageSettings().changes_light
    assert not ImageSettings().moves
