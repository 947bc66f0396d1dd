"""`twinloop gallery`: a sheet of draws, labels, a sweep, and a machine without OpenGL."""

import ctypes.util
import json
from pathlib import Path

import pytest

from twinloop.cli import main
from twinloop.errors import RenderError
from twinloop.observe import gl, renderer

CELL = """\
randomization:
  visual: {texture_pool: 20, lighting_intensity: [0.5, 1.5], read_noise: [0, 3]}
  physics: {object_position_noise_cm: [-2, 2]}
cameras:
  side: {position_m: [0.4, -1.0, 0.5], look_at_m: [0.4, 0, 0.1], width: 64, height: 48}
  hand: {mount: wrist, position_m: [0.085, 0, -0.05], look_at_m: [0, 0, 0.035], width: 48, height: 48}
"""


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    path = tmp_path / "cell.yaml"
    path.write_text(CELL)
    return path


@pytest.fixture
def pictures() -> None:
    try:
        gl.context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")


def json_output(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.usefixtures("pictures")
def test_a_sheet_of_draws(cell: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    for out in (first, second):
        assert main(["gallery", str(cell), "--out", str(out), "--count", "3", "--json"]) == 0
    output = json_output(capsys)
    assert [(entry["attempt"], entry["camera"]) for entry in output["pictures"]] == [
        (attempt, name) for attempt in range(3) for name in ("side", "hand")
    ]
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("pictures")
def test_labels_and_one_camera(cell: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plain, labelled = tmp_path / "a.png", tmp_path / "b.png"
    common = ["gallery", str(cell), "--count", "2", "--camera", "side", "--json"]
    assert main([*common, "--out", str(plain)]) == 0
    assert main([*common, "--out", str(labelled), "--labels"]) == 0
    assert {entry["camera"] for entry in json_output(capsys)["pictures"]} == {"side"}
    assert plain.read_bytes() != labelled.read_bytes()


@pytest.mark.usefixtures("pictures")
@pytest.mark.parametrize(
    ("parameter", "low", "high"),
    [
        ("lighting_intensity", 0.5, 1.5),
        ("friction_coefficient", 0.2, 1.1),
        ("camera_jitter_deg.yaw", -5, 5),
        ("texture_pool", 0, 19),
    ],
)
def test_a_sweep_goes_from_end_to_end(cell: Path, tmp_path: Path, capsys, parameter: str, low: float, high: float):
    out = tmp_path / "sweep.png"
    words = [
        "gallery",
        str(cell),
        "--out",
        str(out),
        "--count",
        "3",
        "--camera",
        "side",
        "--sweep",
        parameter,
        "--json",
    ]
    assert main(words) == 0
    pictures = json_output(capsys)["pictures"]
    drawn = [picture["drawn"][parameter] for picture in pictures]
    assert (drawn[0], drawn[-1]) == (low, high)
    others = [{key: value for key, value in picture["drawn"].items() if key != parameter} for picture in pictures]
    assert others[0] == others[1] == others[2]


@pytest.mark.usefixtures("pictures")
def test_a_config_without_cameras_gets_two_default_cameras(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["gallery", "--out", str(tmp_path / "a.png"), "--count", "1", "--json"]) == 0
    assert [entry["camera"] for entry in json_output(capsys)["pictures"]] == ["front", "wrist"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--camera", "sid"], ["'sid'", "did you mean side"]),
        (["--sweep", "lightning_intensity"], ["lightning_intensity", "did you mean lighting_intensity"]),
        (["--sweep", "camera_jitter_deg.jaw"], ["camera_jitter_deg.jaw", "camera_jitter_deg"]),
    ],
)
def test_unknown_names_are_refused(cell: Path, tmp_path: Path, capsys, words: list[str], expected: list[str]):
    assert main(["gallery", str(cell), "--out", str(tmp_path / "a.png"), *words]) == 2
    message = capsys.readouterr().err
    assert all(word in message for word in expected), message


def test_without_opengl_the_message_names_the_command_to_run(cell: Path, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(ctypes.util, "find_library", lambda _: None)
    # As in a fresh process, where no context has been made yet.
    monkeypatch.setattr(renderer, "context", gl.context.__wrapped__)
    assert main(["gallery", str(cell), "--out", str(tmp_path / "a.png"), "--count", "1"]) == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "apt-get install -y libegl1 libosmesa6 libgl1-mesa-dri" in message
    # A run with cameras fails too; a run without cameras works.
    assert main(["generate", str(cell), "--episodes", "2", "--out", str(tmp_path / "film"), "--workers", "1"]) == 1
    assert "apt-get install" in capsys.readouterr().err
    out = tmp_path / "dataset"
    assert main(["generate", "--episodes", "2", "--out", str(out), "--workers", "1"]) == 0
    assert main(["verify", str(out)]) == 0


def test_an_unknown_backend_is_refused_before_the_engine_is_imported(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "vulkan")
    assert main(["generate", "--episodes", "1", "--out", str(tmp_path / "dataset")]) == 2
    assert "MUJOCO_GL=vulkan: egl, osmesa or disable was expected" in capsys.readouterr().err
