"""Laws of the drive: generation simulates the values that calibration fits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.runlogs import made_logs
from twinloop.calibrate.apply_patch import patched
from twinloop.calibrate.check import Checked
from twinloop.calibrate.fit import Fit, calibrate
from twinloop.calibrate.patch import load_patch
from twinloop.calibrate.twin_replay import replay_in_twin
from twinloop.dataset import Dataset
from twinloop.errors import UsageError
from twinloop.pipeline.generate import generate
from twinloop.randomize.draw import Draws
from twinloop.randomize.servo import SERVO
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.drives import DRIVES
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.robot_drive import KINDS

HIDDEN = {"elbow_flex.stiffness_nm_rad": 9.0, "elbow_flex.delay_ms": 31.0, "wrist_flex.coulomb_nm": 0.15}


def config_of(robot: str, more: str = "") -> RunConfig:
    return config_from_text(f"scene: {{robot: {robot}}}\n{more}", name="cell.yaml", folder=Path())


@pytest.fixture(scope="module")
def fitted() -> tuple[RunConfig, Fit, list, object]:
    config = config_of("so101")
    bench, logs = made_logs(config, HIDDEN)
    fit = calibrate(bench, Checked(tuple(logs), ()), list(HIDDEN), seed=0)
    return config, fit, logs, bench


def test_a_replay_in_the_generation_twin_gives_the_error_that_calibration_reported(fitted, tmp_path: Path):
    config, fit, logs, bench = fitted
    fit.patch.write(tmp_path / "patch.yaml")
    patch = load_patch(tmp_path / "patch.yaml")
    with_patch = replay_in_twin(patched(config, patch), bench, logs)
    without = replay_in_twin(config, bench, logs)
    for channel, residual in patch.provenance.residual.items():
        assert with_patch.errors[channel].rmse == pytest.approx(residual["rmse"], abs=1e-6)
        assert with_patch.errors[channel].mae == pytest.approx(residual["mae"], abs=1e-6)
    assert without.errors["elbow_flex"].rmse > 5 * with_patch.errors["elbow_flex"].rmse


@pytest.mark.parametrize(
    ("robot", "hidden"),
    [
        ("ur5e_2f85", {"elbow.delay_ms": 22.0, "wrist_1.lag_ms": 55.0}),
        ("xarm7", {"joint4.delay_ms": 22.0, "joint2.lag_ms": 55.0}),
    ],
)
def test_a_replay_of_another_robot_gives_the_reported_error_too(robot: str, hidden: dict[str, float]):
    config = config_of(robot)
    bench, logs = made_logs(config, hidden, seconds=2.0)
    patch = calibrate(bench, Checked(tuple(logs), ()), list(hidden), seed=0).patch
    assert set(patch.fitted) == set(hidden)
    replayed = replay_in_twin(patched(config, patch), bench, logs)
    for channel, residual in patch.provenance.residual.items():
        assert replayed.errors[channel].rmse == pytest.approx(residual["rmse"], abs=1e-6)
    delayed = next(name.rpartition(".")[0] for name in hidden if name.endswith("delay_ms"))
    unpatched = replay_in_twin(config, bench, logs)
    assert unpatched.errors[delayed].rmse > 3 * replayed.errors[delayed].rmse


def test_the_fit_finds_the_hidden_values(fitted):
    _, fit, _, _ = fitted
    for name, value in HIDDEN.items():
        assert fit.patch.fitted[name].value == pytest.approx(value, rel=0.1), name


def test_a_patch_sets_nominal_values_and_ranges_of_each_joint(fitted):
    config, fit, _, _ = fitted
    config = replace(config, randomization=config_of("so101", "randomization: realistic").randomization)
    run = patched(config, fit.patch)
    assert run.drive is not None
    assert run.patch == fit.patch.digest
    drive = twin_of(run).drive
    assert drive is not None
    for name, estimate in fit.patch.fitted.items():
        joint, _, quantity = name.rpartition(".")
        assert drive.joints[joint][quantity] == estimate.value
        low, high = run.randomization[f"servo_{quantity}.{joint}"].support()
        assert (low, high) == (estimate.low, estimate.high)
    # Fitted for two joints only, so the rows of all joints stay.
    assert "joint_friction_nm" in run.randomization
    again = config_from_text(run.to_yaml(), name="again", folder=Path())
    assert again.digest == run.digest != config.digest


def test_a_patch_of_another_robot_or_of_a_changed_model_is_refused(fitted):
    config, fit, _, _ = fitted
    files = {"name": "patch.yaml", "config_name": "cell.yaml"}
    other = r"patch.yaml: drive.robot: the patch is of robot so101, and cell.yaml has scene.robot: xarm7; give a patch"
    with pytest.raises(UsageError, match=other):
        patched(config_of("xarm7"), fit.patch, **files)
    heavier = replace(config.scene.robot, model_digest="another")
    changed = r"patch.yaml: drive.robot_digest: .* another model of robot so101 .*; run `twinloop calibrate cell.yaml"
    with pytest.raises(UsageError, match=changed):
        patched(replace(config, scene=replace(config.scene, robot=heavier)), fit.patch, **files)


def test_a_patch_for_a_robot_without_arm_is_refused(fitted):
    _, fit, _, _ = fitted
    with pytest.raises(UsageError, match=r"cell.yaml: scene.robot: quadruped is not an arm.*`twinloop robots`"):
        patched(config_of("quadruped"), fit.patch, config_name="cell.yaml")


def simulated(config: RunConfig, *, width: int, draws: Draws | None = None) -> Episodes:
    twin = twin_of(config)
    draws = config.sampler().draw(0, 4) if draws is None else draws
    actor = Expert(twin, config.expert, width=width, seed=0)
    (episodes,) = rollout(Cell(twin, width=width), iter([draws]), actor, seed=0)
    return episodes


def test_a_servo_with_the_values_of_the_actuators_moves_like_them():
    drives = ("", "drive: {kind: position_servo}")
    own, servo = (simulated(config_of("franka_panda", drive), width=4) for drive in drives)
    first = slice(0, int(own.lengths[0]))
    assert np.abs(own["position"][first] - servo["position"][first]).max() < 1e-5
    assert np.abs(own["effort"][first] - servo["effort"][first]).max() < 1e-2


def test_episodes_with_servos_do_not_depend_on_their_neighbours():
    rows = "randomization: {actuation: {servo_lag_ms: [0, 30], elbow_flex.servo_backlash_rad: [0, 0.02], "
    config = config_of("so101", rows + "motor_strength_scale: [0.8, 1], servo_delay_ms: [0, 40]}}")
    together, alone = simulated(config, width=4), simulated(config, width=1)
    assert together.success.any()
    assert np.array_equal(together.lengths, alone.lengths)
    assert np.array_equal(together.tape, alone.tape)


def test_every_quantity_of_a_drive_that_a_twin_can_have_is_a_row():
    rows = {row.name for row in SERVO}
    for kind in KINDS:
        names = {f"servo_{variable.name}" for variable in DRIVES[kind].variables}
        assert names - rows == {"servo_held_rad"}  # the twin needs an object for the gripper of the log to close on
    assert all(row.of_joint and row.plausible[0] <= row.sensible[0] < row.sensible[1] for row in SERVO)


def test_every_episode_made_with_a_patch_names_it(fitted, tmp_path: Path):
    config, fit, _, _ = fitted
    run = patched(config, fit.patch)
    made = generate(run, tmp_path / "data", episodes=2, workers=1, keep_rejected=True)
    attempts = Dataset.open(tmp_path / "data").attempts()
    assert attempts["patch"].to_pylist() == [fit.patch.digest] * 2
    assert set(attempts["config_digest"].to_pylist()) == {run.digest}
    assert made.digest != generate(config, tmp_path / "plain", episodes=2, workers=1, keep_rejected=True).digest
    assert "patch" not in Dataset.open(tmp_path / "plain").attempts().column_names


def test_a_drive_with_joints_that_the_robot_does_not_have_is_refused():
    config = config_of("so101", "drive: {joints: {elbow_flex: {delay_ms: 20}}}")
    with pytest.raises(UsageError, match="robot xarm7 has no drive at joint 'elbow_flex'"):
        twin_of(config.with_robot("xarm7"))
    with pytest.raises(UsageError, match="position_servo has no quantity 'sag'"):
        config_of("so101", "drive: {joints: {elbow_flex: {sag: 0.2}}}")
