"""Bench files: invalid content is refused with the valid names."""

from pathlib import Path

import pytest

from tests.calibrate.made import EXAMPLES, xl330
from twinloop.calibrate.bench import expand, load_bench
from twinloop.errors import ConfigError, UsageError

FILE = (EXAMPLES / "xl330_bench.yaml").read_text()


def written(folder: Path, text: str) -> Path:
    (folder / "xl330_bench.xml").write_text((EXAMPLES / "xl330_bench.xml").read_text())
    path = folder / "bench.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["xl330_bench", "so101_cell"])
def test_the_examples_load_and_fit_known_variables(name: str):
    bench = load_bench(EXAMPLES / f"{name}.yaml")
    assert bench.fit
    assert set(bench.fit) <= set(bench.variables)
    assert bench.model.opt.timestep * bench.substeps * bench.logs.rate_hz == pytest.approx(1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("rate_hz: 200", "rate_hz: 200\n  speed: 3", "logs.speed.*is not a key"),
        ("mjcf: xl330_bench.xml", "mjcf: ../xl330_bench.xml", "in the folder of the bench file"),
        ("position: {joint: pendulum, unit: rad}", "position: {joint: pendulam, unit: rad}", "did you mean pendulum"),
        ("model: voltage_servo", "model: voltage_srvo", "did you mean voltage_servo"),
        ("{value: 0.3, low: 0.05, high: 2}", "{value: 0.3, low: 3, high: 2}", "it must be|the smaller one first"),
        ("    sag: ", "    sagg: ", "drive.parameters.sagg.*did you mean sag"),
        ("sag: {value: 0.7, low: 0, high: 3}", "sag: {valu: 0.7}", "drive.parameters.sag.valu.*did you mean value"),
        (
            "sag: {value: 0.7, low: 0, high: 3}",
            "sag: {value: 7, low: 0, high: 3}",
            "sag.value: is 7; it must be from 0",
        ),
        ("supply_v: {constant: vin}", "suply_v: 5", r"drive.inputs.suply_v.*did you mean supply_v"),
        ("mjcf: xl330_bench.xml", "mjcf: xl330_bench.xml\n  robot: so101", "twin: names a robot or an mjcf file"),
        ("compared: false", "late_frames: 1", r"measured.speed.late_frames: belongs to .*linear_velocity"),
        ("compared: false", "at: link", r"measured.speed.at: belongs to a measured torque"),
        ("element: 2", "element: 3", r"constants.length.element: is 3; numbers from 0 to 2"),
        ("field: body_mass, of: bob", "field: body_mess, of: bob", "body_mess"),
        ("fit:\n  [torque", "fit:\n  [torq", "cannot be fitted; did you mean"),
    ],
)
def test_mistakes_are_refused_by_name(tmp_path: Path, old: str, new: str, said: str):
    assert old in FILE
    with pytest.raises((ConfigError, UsageError), match=said):
        load_bench(written(tmp_path, FILE.replace(old, new)))


def test_the_digest_follows_the_file_and_the_model(tmp_path: Path):
    path = written(tmp_path, FILE)
    first = load_bench(path).digest
    assert load_bench(path).digest == first
    model = tmp_path / "xl330_bench.xml"
    model.write_text(model.read_text().replace('size="0.008"', 'size="0.009"'))
    assert load_bench(path).digest != first


def test_a_short_name_selects_all_joints_and_a_joint_all_its_variables():
    bench = load_bench(EXAMPLES / "so101_cell.yaml")
    assert len(expand(("delay_ms",), bench.variables, UsageError)) == 6
    own = expand(("elbow_flex",), bench.variables, UsageError)
    assert own == tuple(name for name in bench.variables if name.startswith("elbow_flex."))
    assert expand(("pendulum.sag",), xl330().variables, UsageError) == ("pendulum.sag",)
