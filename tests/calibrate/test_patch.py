"""Patches: written with six digits, read back, and refused by key if they are not valid."""

from pathlib import Path

import pytest

from tests.calibrate.servo_bench import servo_bench
from twinloop.calibrate.patch import Fitted, Provenance, SimpleModel, TwinPatch, Unknown, load_patch, refuse_other_twin
from twinloop.errors import ConfigError, UsageError

PATCH = TwinPatch(
    fitted={"elbow.delay_ms": Fitted(12.3456789, 11.0, 13.0, "ms")},
    unknown={"elbow.sag": Unknown("it hardly changes", "steps")},
    ranges={"action_delay_ms": (11.0, 13.0), "joint_friction_nm": (0.1, 0.1)},
    spread={"q": (-0.5, 0.5)},
    swing={"q": 1.0},
    delay_lag={"q": SimpleModel(1.0, 2.0, 0.1, 0.0, 0.2)},
    samples={"elbow.delay_ms": (12.0, 12.5)},
    provenance=Provenance("arm", "00", {"log": "11"}, {"q": {"rmse": 0.1234567890123}}, "twinloop", 3),
    notes=("a note",),
)


def test_a_patch_is_rounded_once_and_then_comes_back_as_it_is(tmp_path: Path):
    PATCH.write(tmp_path / "patch.yaml")
    once = load_patch(tmp_path / "patch.yaml")
    assert once.fitted["elbow.delay_ms"].value == 12.3457
    assert (once.ranges, once.samples, once.provenance) == (PATCH.ranges, PATCH.samples, PATCH.provenance)
    once.write(tmp_path / "again.yaml")
    assert load_patch(tmp_path / "again.yaml") == once


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("twin_patch: 1", "twin_patch: 2", r"patch.yaml:1: twin_patch: is 2; this Twinloop reads version 1"),
        ("twin_patch: 1\n", "", "twin_patch: is missing.*`twinloop calibrate` writes one"),
        ("action_delay_ms", "action_dely_ms", "action_dely_ms: is not a key.*did you mean action_delay_ms"),
        ("    value: 12.3457\n", "", "fitted.elbow.delay_ms.value: is missing"),
        ("    low: 11.0", "    low: eleven", "fitted.elbow.delay_ms.low: is 'eleven'; a number"),
        ("  seed: 3", "  seed: 3.5", "provenance.seed: is 3.5; a whole number"),
    ],
)
def test_invalid_patches_are_refused_by_key(tmp_path: Path, old: str, new: str, message: str):
    text = PATCH.to_yaml()
    assert old in text
    (tmp_path / "patch.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_patch(tmp_path / "patch.yaml")


def test_a_patch_of_another_bench_or_of_a_changed_bench_is_refused(tmp_path: Path):
    bench = servo_bench(tmp_path, "stiffness_nm_rad: 5", "stiffness_nm_rad")
    other = TwinPatch(fitted={"elbow.delay_ms": Fitted(12.0, 11.0, 13.0, "ms")}, provenance=Provenance("arm", "00"))
    with pytest.raises(UsageError, match=r"p.yaml: fitted: is a patch of arm and sets 'elbow.delay_ms', which .*thing"):
        refuse_other_twin(other, bench, name="p.yaml")
    fitted = {"swing.stiffness_nm_rad": Fitted(5.0, 4.0, 6.0, "N·m/rad")}
    patch = TwinPatch(fitted=fitted, provenance=Provenance(bench.name, bench.digest))
    refuse_other_twin(patch, servo_bench(tmp_path, "stiffness_nm_rad: 5", "stiffness_nm_rad, delay_ms"))
    changed = servo_bench(tmp_path, "stiffness_nm_rad: 6", "stiffness_nm_rad")
    with pytest.raises(UsageError, match=r"p.yaml: provenance.twin_digest: .*has changed since.*twinloop calibrate"):
        refuse_other_twin(patch, changed, name="p.yaml")
