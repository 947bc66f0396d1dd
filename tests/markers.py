"""The markers of tests, set from what a test module or a test uses. `pytest --quick` runs tests without any of them."""

import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

SOURCES = {
    "processes": r"\bsubprocess\b|\bPopen\b|\bPolicyProcess\b|\bRehearsalRobot\b|\brehearsal:|\bworkers=[2-9]"
    r"|\bdeploy\(|\bcollect\(|\brun_local\b|\brun_loop\b|\bprepare_drawing\b",
    "ray": r"\bimport ray\b|\bRayExecutor\b|importorskip\(\"ray\"",
    "browser": r"\bplaywright\b|\bchromium\b",
}
"""Marker -> what the source of a test module contains that needs it."""

FIXTURES = {"object_store": "store"}
"""Fixture -> marker of the tests that use it."""

MARKERS = (*SOURCES, *FIXTURES.values(), "slow")

SLOW_FOLDERS = ("stories", "faults", "outside")

SLOW_MODULES = (
    "calibrate/footage/test_footage.py", "calibrate/test_check.py", "calibrate/test_delay_lag.py",
    "calibrate/test_effort.py", "calibrate/test_fit.py", "calibrate/test_population.py", "calibrate/test_profile.py",
    "calibrate/test_top_speed.py", "calibrate/visual/test_anchoring.py", "cli/test_calibrate.py",
    "cli/test_gallery.py", "cli/test_view.py", "curate/discriminator/test_curator.py",
    "curate/discriminator/test_real_recordings.py", "curate/quality/test_checks.py", "curate/test_failure.py",
    "dashboard/test_report.py", "dataset/ingest/test_ingest.py", "dataset/ingest/test_logs.py",
    "dataset/remote/test_full_store.py", "dataset/test_curator_verdicts.py", "dataset/test_merge_videos.py",
    "dataset/test_verify.py", "dataset/test_worth.py", "deploy/test_effects.py", "deploy/test_imperfection.py",
    "diagnose/test_compare.py", "diagnose/test_diagnosis.py", "diagnose/test_emulator.py",
    "diagnose/test_findings.py", "diagnose/test_pictures.py", "gate/test_evaluate.py", "gate/test_monitor.py",
    "gate/test_rules_of_the_robot.py", "laws/test_dataset_laws.py", "laws/test_digest_laws.py",
    "laws/test_draws_laws.py", "laws/test_drive_laws.py", "laws/test_every_row_does_something.py",
    "laws/test_gate_laws.py", "laws/test_matter_laws.py", "laws/test_one_digest.py", "laws/test_people_laws.py",
    "laws/test_pictures_laws.py", "laws/test_safety_laws.py", "laws/test_simulation_laws.py",
    "laws/test_watching_laws.py", "learn/test_actor.py", "learn/test_checkpoint.py", "learn/test_keypoints.py",
    "learn/test_mix_curve.py", "learn/test_onnx.py", "learn/test_policies.py", "learn/test_train.py",
    "observe/test_matter_pictures.py", "observe/test_occluders.py", "observe/test_renderer.py",
    "observe/test_sweeps.py", "run/test_mesh_things.py", "scene_export/test_folder.py", "scene_export/test_mjcf.py",
    "scene_export/test_usd.py", "simulate/test_drive.py", "simulate/test_expert.py", "simulate/test_phase_tracker.py",
    "simulate/test_reach.py", "simulate/test_warp_engine.py", "twin/test_bin_picking.py", "twin/test_bystander.py",
    "twin/test_handover.py", "twin/test_inspect_robot.py", "twin/test_mesh.py", "twin/test_mjcf_robot.py",
    "twin/test_products.py", "twin/test_soft.py", "twin/test_tasks_b.py",
)  # fmt: skip
"""Modules that took more than 3 s of CPU time when this list was made."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="run only tests without a marker, and import only their modules"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--quick`, leave out modules in which every test has a marker, so that they are not imported."""
    if config.getoption("--quick") and collection_path.name.startswith("test_") and module_markers(collection_path):
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for marker in item_markers(item):
            item.add_marker(marker)
    # The longest tests come first, so that no process waits for the last of them.
    items.sort(key=lambda item: not _is_long(item.path))
    if config.getoption("--quick"):
        marked = [item for item in items if any(item.get_closest_marker(name) for name in MARKERS)]
        config.hook.pytest_deselected(items=marked)
        items[:] = [item for item in items if item not in set(marked)]


def _is_long(path: Path) -> bool:
    return path.parent.name == "stories" or path.name == "test_public_api.py"


def item_markers(item: pytest.Item) -> set[str]:
    """The markers of one test."""
    fixtures = getattr(item, "fixturenames", ())
    return module_markers(item.path) | {FIXTURES[fixture] for fixture in fixtures if fixture in FIXTURES}


@cache
def module_markers(path: Path) -> set[str]:
    """The markers of all tests of a module."""
    source = path.read_text(encoding="utf-8")
    markers = {marker for marker, pattern in SOURCES.items() if re.search(pattern, source)}
    place = path.relative_to(TESTS) if path.is_relative_to(TESTS) else path
    is_slow = place.parts[0] in SLOW_FOLDERS or place.as_posix() in SLOW_MODULES
    return markers | ({"slow"} if is_slow else set())
