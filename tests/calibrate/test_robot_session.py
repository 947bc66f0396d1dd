"""A robot that is moved and fitted without a person's help: the patch brings the twin nearer to the robot."""

from pathlib import Path

import pytest

from twinloop.calibrate.robot_session import (
    PATCH,
    SKIPPED,
    SessionConfig,
    calibrate_robot,
    calibrated_config,
    is_calibrated,
    try_calibration,
)
from twinloop.run.config import RunConfig, config_from_text

SESSION = SessionConfig(motions=1, seconds=4, candidates=2, fit=("elbow_flex.stiffness_nm_rad",))


def cell(text: str) -> RunConfig:
    return config_from_text(text, name="cell.yaml", folder=Path())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibration")
    # The robot has an elbow that is softer than the twin believes.
    (folder / "robot.yaml").write_text(
        "scene: {robot: so101}\ndrive: {joints: {elbow_flex: {stiffness_nm_rad: 9.0}}}\n"
    )
    calibrate_robot(cell("scene: {robot: so101}"), f"twin:{folder / 'robot.yaml'}", folder, seed=0, session=SESSION)
    return folder


def test_the_patch_has_the_stiffness_of_the_robot(folder: Path):
    config, rows = calibrated_config(cell("scene: {robot: so101}"), folder)
    assert config.patch is not None
    assert any("stiffness" in row for row in rows)
    assert config.drive is not None
    fitted = config.drive.joints["elbow_flex"]["stiffness_nm_rad"]
    assert fitted == pytest.approx(9.0, rel=0.2)


def test_a_second_call_moves_nothing(folder: Path):
    before = (folder / PATCH).stat().st_mtime_ns
    calibrate_robot(cell("scene: {robot: so101}"), "twin:missing.yaml", folder, seed=0, session=SESSION)
    assert (folder / PATCH).stat().st_mtime_ns == before


def test_a_robot_of_another_model_is_skipped_with_the_reason(tmp_path: Path):
    (tmp_path / "robot.yaml").write_text("scene: {robot: xarm7}\n")
    steps: list[str] = []
    config = cell("scene: {robot: so101}")
    try_calibration(
        config, f"twin:{tmp_path / 'robot.yaml'}", tmp_path / "calibration", seed=0, on_activity=steps.append
    )
    assert "xarm7" in (tmp_path / "calibration" / SKIPPED).read_text()
    assert "skipped" in steps[-1]
    assert not is_calibrated(tmp_path / "calibration")
    assert calibrated_config(config, tmp_path / "calibration") == (config, frozenset())
