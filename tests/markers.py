"""The markers of tests, set from what a test module or a test uses. `make quick` runs tests without any of them."""

import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

SOURCES = {
    "processes": r"\bsubprocess\b|\bPopen\b|\bPolicyProcess\b|\bRehearsalRobot\b|\brehearsal:|\bworkers=[2-9]"
    r"|\bdeploy\(|\bcollect\(|\brun_local\b|\brun_loop\b",
    "ray": r"\bimport ray\b|\bRayExecutor\b|importorskip\(\"ray\"",
    "browser": r"\bplaywright\b|\bchromium\b",
}
"""Marker -> what the source of a test module contains that needs it."""

FIXTURES = {"object_store": "store"}
"""Fixture -> marker of the tests that use it."""

SLOW_FOLDERS = ("stories", "faults", "outside")

SLOW_MODULES = (
    "calibrate/test_fit.py", "calibrate/test_population.py", "calibrate/test_profile.py",
    "calibrate/visual/test_anchoring.py", "cli/test_calibrate.py", "cli/test_gallery.py", "cli/test_view.py",
    "curate/quality/test_checks.py", "curate/test_failure.py", "diagnose/test_findings.py",
    "laws/test_dataset_laws.py", "laws/test_every_row_does_something.py", "laws/test_gate_laws.py",
    "laws/test_matter_laws.py", "laws/test_one_digest.py", "laws/test_people_laws.py", "laws/test_pictures_laws.py",
    "laws/test_safety_laws.py", "laws/test_simulation_laws.py", "laws/test_watching_laws.py", "learn/test_actor.py",
    "learn/test_checkpoint.py", "learn/test_onnx.py", "learn/test_policies.py", "learn/test_train.py",
    "observe/test_matter_pictures.py", "observe/test_occluders.py", "observe/test_renderer.py",
    "observe/test_sweeps.py", "gate/test_evaluate.py", "simulate/test_expert.py",
    "simulate/test_phase_tracker.py", "simulate/test_warp_engine.py", "twin/test_bystander.py", "twin/test_soft.py",
    "twin/test_tasks_b.py",
)  # fmt: skip
"""Modules that took more than 4 s of CPU time when this list was made."""


def add_markers(item: pytest.Item) -> None:
    """Set the markers of one test."""
    for marker, pattern in SOURCES.items():
        if re.search(pattern, _source(item.path)):
            item.add_marker(marker)
    for fixture in getattr(item, "fixturenames", ()):
        if fixture in FIXTURES:
            item.add_marker(FIXTURES[fixture])
    path = item.path.relative_to(TESTS) if item.path.is_relative_to(TESTS) else item.path
    if path.parts[0] in SLOW_FOLDERS or path.as_posix() in SLOW_MODULES:
        item.add_marker("slow")


@cache
def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8")
