"""Cell files: read strictly, with file, line and key in every error; cells from a name, a seed, a gap."""

from pathlib import Path

import pytest

from twinloop.deploy.rehearsal.cell_file import SHIPPED, cell_of
from twinloop.deploy.rehearsal.cell_name import parse_cell_name, with_scene
from twinloop.deploy.rehearsal.truth import BY_GAP, TRUTHS
from twinloop.errors import ConfigError, UsageError
from twinloop.randomize.parameter import GAPS


def refused(tmp_path: Path, text: str) -> str:
    path = tmp_path / "cell.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        cell_of(str(path))
    return str(error.value)


def test_every_gap_has_truths_and_every_truth_is_plausible_at_both_ends():
    for gap in GAPS:
        assert BY_GAP[gap]
    for row in TRUTHS:
        lowest, highest = row.plausible
        for low, high in (row.at(0), row.at(0.5), row.at(1)):
            assert lowest <= low <= high <= highest, row.name


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_cells_are_read(name: str):
    assert cell_of(name).name == name


def test_nominal_is_nominal():
    assert dict(cell_of("nominal").truth) == {row.name: row.nominal for row in TRUTHS}


def test_cells_get_worse_from_nominal_to_harsh():
    delays = [cell_of(name).truth["action_delay_ms"][0] for name in SHIPPED]
    grips = [cell_of(name).truth["friction_coefficient"][0] for name in SHIPPED]
    assert delays == sorted(delays)
    assert grips == sorted(grips, reverse=True)
    assert len(set(delays)) == len(set(grips)) == 4


def test_one_gap_opens_alone_and_in_proportion():
    half, whole = cell_of("gap=latency:0.5"), cell_of("gap=latency:1")
    for row in TRUTHS:
        expected = row.at(0.5) if row.gap == "latency" else row.nominal
        assert half.truth[row.name] == expected
    assert whole.truth["action_delay_ms"][0] == 2 * half.truth["action_delay_ms"][0]
    assert cell_of("gap=object:1").pool != half.pool


def test_gaps_effects_robot_task_and_engine_combine_in_a_name():
    cell = cell_of("physx:gap=latency:0.5+contact:1,effect=cable:0.7,robot=xarm7,task=stack,seed=3")
    assert (cell.engine, cell.seed, dict(cell.effects)) == ("physx", 3, {"cable": 0.7})
    assert (cell.scene.robot.name, cell.scene.task.name) == ("xarm7", "stack")
    assert cell.truth["action_delay_ms"] == (60, 60)
    assert cell.truth["friction_coefficient"] == pytest.approx((0.3, 0.3))
    assert cell_of("mild,task=stack").truth == cell_of("mild").truth


def test_a_name_gets_robot_and_task_only_where_it_has_none():
    assert with_scene("mild", robot="franka_panda", task="pick_and_place") == "mild"
    assert with_scene("mild", robot="xarm7", task="stack") == "mild,robot=xarm7,task=stack"
    assert with_scene("physx:mild", robot="xarm7", task="pick_and_place") == "physx:mild,robot=xarm7"
    assert with_scene("mild,task=pour", robot="xarm7", task="stack") == "mild,task=pour"
    assert parse_cell_name("my,cell.yaml,seed=3").cell == "my,cell.yaml"


def test_a_file_names_robot_task_and_effects(tmp_path: Path):
    path = tmp_path / "mine.yaml"
    path.write_text("robot: ur5e_2f85\ntask: open_drawer\neffects: {lean: 0.5}\nown: 0.5\n")
    cell = cell_of(str(path))
    assert (cell.scene.robot.name, cell.scene.task.name, cell.own) == ("ur5e_2f85", "open_drawer", 0.5)
    assert dict(cell.effects) == {"lean": 0.5}


def test_a_config_gives_robot_task_rate_and_cameras(tmp_path: Path):
    path = tmp_path / "run.yaml"
    path.write_text(
        "scene: {robot: xarm7, task: stack}\nrollout: {control_hz: 50}\n"
        "cameras: {front: {position_m: [1, 0, 1], look_at_m: [0.4, 0, 0]}}\n"
    )
    scene = cell_of(f"mild,config={path}").scene
    assert (scene.robot.name, scene.task.name, scene.control_hz) == ("xarm7", "stack", 50)
    assert list(scene.cameras) == ["front"]


def test_a_seed_is_a_cell():
    assert cell_of("seed=17") == cell_of("seed=17")
    assert cell_of("seed=17").truth != cell_of("seed=18").truth


def test_gaps_of_a_file_come_before_its_rows(tmp_path: Path):
    path = tmp_path / "mine.yaml"
    path.write_text("gaps: {latency: 0.5}\nlatency:\n  action_delay_ms: [10, 20]\nobject:\n  pool: [{kind: can}]\n")
    cell = cell_of(str(path))
    assert cell.truth["action_delay_ms"] == (10, 20)
    assert cell.truth["observation_delay_ms"] == (40, 40)
    assert [item.kind for item in cell.pool] == ["can"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("contact:\n  friction: 0.5\n", "cell.yaml:2: contact.friction: is not a key of this section"),
        ("contact:\n  friction_coefficient: 90\n", "it must be from 0.01 to 5"),
        ("contact:\n  friction_coefficient: slippery\n", "a number or [low, high]"),
        ("contact:\n  friction_coefficient: [0.9, 0.1]\n", "must not be larger"),
        ("latency:\n  friction_coefficient: 0.5\n", "latency.friction_coefficient: is not a key"),
        ("object:\n  pool: []\n", "object.pool: is []"),
        ("object:\n  pool: [{kind: cub}]\n", "object.pool[0].kind: is 'cub'; did you mean cube"),
        ("gaps:\n  latency: 3\n", "cell.yaml:2: gaps.latency: is 3; it must be from 0 to 1"),
        ("weather: fine\n", "cell.yaml:1: weather: is not a key"),
        ("fault: {kind: explodes}\n", "fault.kind: is 'explodes'"),
    ],
)
def test_errors_name_file_key_and_valid_values(tmp_path: Path, text: str, message: str):
    assert message in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hars", "did you mean harsh"),
        ("seed=x", "a whole number from 0 on"),
        ("gap=lateny:0.5", "did you mean latency"),
        ("gap=latency:7", "a number from 0 to 1"),
        ("size=3", "'size' is not known here"),
        ("effect=cabel:0.5", "did you mean cable"),
        ("physics:nominal", "no such engine; did you mean physx"),
        ("mild,robot=xarm", "did you mean xarm7"),
        ("mild,task=stacks", "did you mean stack"),
        ("task=lay_cloth", "has a cloth"),
        ("missing.yaml", "missing.yaml: no such file"),
    ],
)
def test_names_of_cells_that_are_none(spec: str, message: str):
    with pytest.raises(UsageError, match=message):
        cell_of(spec)


def test_config_errors_are_config_errors(tmp_path: Path):
    path = tmp_path / "cell.yaml"
    path.write_text("seed: -1\n")
    with pytest.raises(ConfigError):
        cell_of(str(path))
