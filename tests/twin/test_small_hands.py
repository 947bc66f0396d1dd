"""Tasks fit a small hand on a short arm: sizes, masses, poses of the hand, and skills."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.cli import main
from twinloop.curate.judge import judge
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.arm_expert import MOST_AHEAD_RAD
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.kinematics import solve_poses
from twinloop.twin.robots import robots
from twinloop.twin.rotation import pointing_down
from twinloop.twin.task_checks import unfit, unfit_arms
from twinloop.twin.tasks import tasks

pytestmark = pytest.mark.usefixtures("no_trials")

SO101 = robots()["so101"]
EPISODES = 8
RANGES = """
randomization:
  physics: {object_position_noise_cm: [-2, 2], object_yaw_deg: [-45, 45], friction_coefficient: [0.4, 1.0]}
"""


def solve(task: str) -> int:
    """Accepted episodes of the scripted expert."""
    config = config_from_text(f"scene: {{robot: so101, task: {task}}}\n{RANGES}", name="cell.yaml", folder=Path())
    twin = twin_of(config)
    cell, expert = Cell(twin, width=EPISODES), Expert(twin, config.expert, width=EPISODES, seed=0)
    (episodes,) = rollout(cell, iter([config.sampler().draw(0, EPISODES)]), expert, seed=0)
    return int(judge(episodes, twin, config.curate).accepted.sum())


def test_the_hand_points_down_all_over_its_area():
    model, area = SO101.build().compile(), SO101.area
    assert area is not None
    joints = np.array([model.joint(name).id for name in SO101.arm_joints])
    radii, heights = np.linspace(area.nearest_m, area.farthest_m, 4), np.array([0.01, 0.08, 0.16])
    forward, up = np.meshgrid(radii + area.centre_m[0] - SO101.mount_m[0], heights - SO101.mount_m[2])
    points = np.column_stack([forward.ravel(), np.zeros(forward.size), up.ravel()])
    solutions = solve_poses(
        model, joints, model.site(SO101.tool_site).id, points, pointing_down(np.zeros(len(points))),
        np.array(SO101.home_rad), free_roll=True, avoid_self_collision=False, position_tolerance_m=0.003,
        rotation_tolerance_rad=0.15, converged=1.0, restarts=3,
    )  # fmt: skip
    assert solutions.reachable.all(), points[~solutions.reachable]


def test_the_area_is_around_the_joint_that_the_hand_faces():
    twin = twin_of(config_from_text("scene: {robot: so101}\n", name="cell.yaml", folder=Path()))
    assert SO101.area is not None
    np.testing.assert_allclose(twin.shoulders_m[0][:2], SO101.area.centre_m, atol=0.001)


@pytest.mark.parametrize("name", ["bin_picking", "peg_insertion", "plug_in"])
def test_things_of_parts_become_as_narrow_as_the_hand_needs(name: str):
    large, small = tasks()[name], tasks()[name].for_robot(SO101)
    assert small.name == large.name
    assert SO101.widest_grip_m is not None
    for before, after in zip(large.things, small.things, strict=True):
        kinds = zip(before.object.pool or (before.object,), after.object.pool or (after.object,), strict=True)
        for old, new in kinds:
            scale = new.half_extents_m[0] / old.half_extents_m[0]
            np.testing.assert_allclose(new.half_extents_m, scale * np.array(old.half_extents_m))
            assert new.mass_kg == pytest.approx(scale**3 * old.mass_kg)
            assert 2 * new.half_extents_m[1] <= SO101.widest_grip_m + 1e-6


@pytest.mark.parametrize(
    "name", ["bin_picking", "hang_on_hook", "lay_cloth", "peg_insertion", "place_upright", "plug_in"]
)
def test_a_large_hand_does_the_task_as_it_is(name: str):
    assert tasks()[name].for_robot(robots()["xarm7"]) is tasks()[name]


def test_masses_of_presets_follow_the_volume_of_the_things():
    row = BY_NAME["object_mass_kg"]
    low, high = row.sensible_for(SO101)
    assert SO101.widest_grip_m is not None
    assert high / SO101.widest_grip_m**3 < 8_000  # nothing denser than steel
    assert low / high == pytest.approx(row.sensible[0] / row.sensible[1])
    assert row.sensible_for(robots()["franka_panda"]) == row.sensible


def test_a_task_may_have_a_range_of_its_own_in_presets():
    def masses(text: str) -> tuple[float, float]:
        config = config_from_text(text, name="cell.yaml", folder=Path())
        return config.for_task("lay_cloth").randomization["object_mass_kg"].support()

    own = tasks()["lay_cloth"].own_ranges["object_mass_kg"]
    assert masses("scene: {task: lay_cloth}\nrandomization: realistic\n") == own
    assert masses("scene: {tasks: {lay_cloth: 1, stack: 1}}\nrandomization: realistic\n") == own
    given = "scene: {task: lay_cloth}\nrandomization: {physics: {object_mass_kg: [0.05, 0.3]}}\n"
    assert masses(given) == (0.05, 0.3)


@pytest.mark.parametrize("task", ["hang_on_hook", "put_on_shelf"])
def test_the_expert_works_high_above_the_table(task: str):
    assert solve(task) >= EPISODES - 2


def test_a_task_that_leans_the_hand_too_far_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "data"
    assert main(["generate", "--task", "pour", "--robot", "so101", "--episodes", "1", "--out", str(out)]) != 0
    reason = unfit(tasks()["pour"], SO101)
    assert "123° past the vertical" in reason
    message = " ".join(capsys.readouterr().err.split())
    assert reason in message
    assert not out.exists()
    assert not any(
        unfit(task, SO101) for name, task in tasks().items() if not unfit_arms(task, SO101) and name != "pour"
    )


def test_a_slow_robot_has_more_time():
    task, panda = tasks()["pick_and_place"], robots()["franka_panda"]
    slow = task.for_robot(replace(panda, velocity_limits_rad_s=(2.0, 0.5, *panda.velocity_limits_rad_s[2:])))
    assert slow.longest_s == pytest.approx(3 * task.longest_s)
    assert [phase.longest_s for phase in slow.program] == pytest.approx([3 * phase.longest_s for phase in task.program])
    assert [phase.stalls_s for phase in slow.program] == pytest.approx([3 * phase.stalls_s for phase in task.program])
    assert task.for_robot(panda) is task
    base = robots()["mobile_panda"]  # its base drives, and does not turn a joint
    assert tasks()["fetch"].for_robot(base) is tasks()["fetch"]


def test_a_bar_is_not_passed_on_with_five_axes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Two of these arms lift a tray, but cannot turn a bar to each other: no episode in twelve went well."""
    file = tmp_path / "cell.yaml"
    file.write_text("scene: {robots: {left: so101, right: so101}, task: hand_to_hand}\n")
    assert main(["generate", str(file), "--episodes", "2", "--out", str(tmp_path / "data")]) == 2
    said = capsys.readouterr().err
    assert "hand_to_hand needs 6 axes or more" in said
    assert "the arm 'left' of" in said
    assert not (tmp_path / "data").exists()
    pair = config_from_text(file.read_text().replace("hand_to_hand", "lift_tray"), name="cell.yaml", folder=tmp_path)
    assert unfit(pair.scene.task, pair.scene.robot) == ""
    assert unfit(tasks()["hand_to_hand"], robots()["dual_panda"]) == ""


def test_commands_do_not_run_away_from_a_joint_that_is_stuck():
    # In this draw the pad sticks to the table: it is pressed with all that the servos have, and friction is 1.
    config = config_from_text(
        "scene: {robot: so101, task: wipe}\nrollout: {seed: 6}\nrandomization: realistic\n",
        name="c.yaml",
        folder=Path(),
    )
    twin = twin_of(config)
    cell, expert = Cell(twin, width=1), Expert(twin, config.expert, width=1, seed=6)
    (episodes,) = rollout(cell, iter([config.sampler().draw(12, 13)]), expert, seed=6)
    ahead = np.abs(episodes["command"] - episodes["position"])[:, : twin.joints]
    assert ahead.max() < MOST_AHEAD_RAD + 0.2, ahead.max(axis=0)


@pytest.mark.parametrize("task", ["peg_insertion", "plug_in"])
def test_a_margin_of_contacts_does_not_make_a_hole_smaller_than_its_peg(task: str):
    text = f"scene: {{robot: so101, task: {task}}}\nrandomization: realistic\n"
    varied = config_from_text(text, name="c.yaml", folder=Path()).randomization
    assert "hole_clearance_mm" in varied
    assert not any("contact_margin_mm" in name for name in varied)
