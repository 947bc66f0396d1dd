"""The cameras section: round trip, digest, and invalid values."""

from pathlib import Path

import pytest

from twinloop.errors import ConfigError, UsageError
from twinloop.observe.camera import CameraConfig
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of

TWO = """\
cameras:
  top:
    position_m: [0.4, 0, 1.2]
    look_at_m: [0.4, 0, 0]
  hand:
    mount: wrist
    position_m: [0.08, 0, -0.05]
    look_at_m: [0, 0, 0.03]
    fov_deg: 70
    width: 160
    height: 120
    rate_hz: 5
"""


def read(text: str) -> RunConfig:
    return config_from_text(text, name="cell.yaml", folder=Path())


def camera(row: str) -> str:
    lines = {"position_m": "[1, 0, 1]", "look_at_m": "[0, 0, 0]"}
    key, _, value = row.partition(": ")
    lines[key] = value
    return "cameras:\n  top:\n" + "".join(f"    {key}: {value}\n" for key, value in lines.items() if value != "none")


def test_cameras_are_read_with_their_defaults():
    cameras = read(TWO).cameras
    assert cameras["top"] == CameraConfig(
        mount="fixed", position_m=(0.4, 0, 1.2), look_at_m=(0.4, 0, 0), fov_deg=45.0, width=128, height=128, rate_hz=25
    )
    assert cameras["hand"] == CameraConfig(
        mount="wrist",
        position_m=(0.08, 0, -0.05),
        look_at_m=(0, 0, 0.03),
        fov_deg=70.0,
        width=160,
        height=120,
        rate_hz=5,
    )


def test_the_rate_follows_the_control_rate():
    assert read(TWO.replace("rate_hz: 5", "rate_hz: 10") + "rollout: {control_hz: 50}\n").cameras["top"].rate_hz == 50


def test_labels_are_each_switched_on_alone():
    (camera_,) = read(camera("labels: [keypoints, instances]")).cameras.values()
    assert camera_.labels == ("instances", "keypoints")
    assert camera_.needs_masks
    (bare,) = read(camera("labels: []")).cameras.values()
    assert (bare.labels, bare.rgb, bare.needs_masks) == ((), True, False)
    (posed,) = read(camera("labels: [poses]\n    rgb: false")).cameras.values()
    assert (posed.labels, posed.rgb, posed.needs_masks) == (("poses",), False, False)


def test_a_default_that_is_written_out_leaves_the_digest():
    plain = read(camera("rate_hz: 5"))
    same = read(camera("rate_hz: 5.0\n    rgb: true\n    labels: []"))
    assert same.digest == plain.digest
    digests = {plain.digest}
    for change in ("labels: [poses]", "labels: [boxes]", "depth: true", "rgb: false\n    depth: true"):
        digests.add(read(camera(f"rate_hz: 5\n    {change}")).digest)
    assert len(digests) == 5


@pytest.mark.parametrize("rate", ["10", "24", "12.5", "0.5", "25"])
def test_any_rate_up_to_the_control_rate_is_taken(rate: str):
    config = read(camera(f"rate_hz: {rate}"))
    assert config.cameras["top"].rate_hz == float(rate)
    assert read(config.to_yaml()).digest == config.digest


@pytest.mark.parametrize("extra", ["", "    labels: [boxes, poses]\n    rgb: false\n"])
def test_cameras_read_back_as_themselves(extra: str):
    config = read(TWO + extra)
    again = read(config.to_yaml())
    assert again.cameras == config.cameras
    assert again.resolved() == config.resolved()
    assert again.digest == config.digest


def test_cameras_are_part_of_the_digest():
    bare = read("scene: {}")
    assert bare.resolved()["cameras"] == {}
    assert bare.digest == read("cameras: {}").digest
    assert bare.digest != read(TWO).digest
    assert read(TWO).digest != read(TWO.replace("70", "71")).digest


BAD = {
    "an unknown mount": (camera("mount: ceiling"), ["cell.yaml:5", "cameras.top.mount", "ceiling", "fixed, wrist"]),
    "an unknown key": (camera("fov: 40"), ["cameras.top.fov", "did you mean fov_deg"]),
    "a list": ("cameras: [front]\n", ["cameras", "mapping"]),
    "a name with a dot": ("cameras: {a.b: {}}\n", ["a.b", "small letters"]),
    "no position": (camera("position_m: none"), ["cell.yaml:2", "cameras.top.position_m", "missing", "3 numbers (m)"]),
    "two numbers": (camera("look_at_m: [0, 1]"), ["cameras.top.look_at_m", "[0, 1]", "3 numbers"]),
    "millimetres": (camera("position_m: [400, 0, 1200]"), ["position_m", "(m) from -3 to 3"]),
    "a look at itself": (camera("look_at_m: [1, 0, 1]"), ["look_at_m", "own position"]),
    "a zero size": (camera("width: 0"), ["cameras.top.width", "0", "from 2 to 2048"]),
    "an odd size": (camera("height: 127"), ["cameras.top.height", "127", "even", "128"]),
    "a huge size": (camera("width: 4096"), ["cameras.top.width", "2048"]),
    "half a pixel": (camera("width: 64.5"), ["cameras.top.width", "whole number"]),
    "a narrow view": (camera("fov_deg: 2"), ["cameras.top.fov_deg", "from 5 to 150"]),
    "a wide view": (camera("fov_deg: 170"), ["cameras.top.fov_deg", "from 5 to 150"]),
    "too fast": (camera("rate_hz: 60"), ["cameras.top.rate_hz", "25"]),
    "too slow": (camera("rate_hz: 0"), ["cameras.top.rate_hz", "from 0.1 to"]),
    "an unknown label": (camera("labels: [boxs]"), ["cell.yaml:5", "cameras.top.labels", "boxs", "did you mean boxes"]),
    "any other word": (
        camera("labels: [normals]"),
        ["normals", "boxes, boxes_3d, classes, instances, keypoints"],
    ),
    "depth as a label": (camera("labels: [depth]"), ["cameras.top.labels", "write depth: true"]),
    "a label twice": (camera("labels: [poses, poses]"), ["cameras.top.labels", "each name once"]),
    "a word for labels": (camera("labels: boxes"), ["cameras.top.labels", "list of names"]),
    "nothing to store": (camera("rgb: false"), ["cameras.top.rgb", "stores nothing"]),
    "a word for rgb": (camera("rgb: no thanks"), ["cameras.top.rgb", "true or false"]),
    "too many": ("cameras:\n" + "".join(f"  c{i}: {{}}\n" for i in range(17)), ["cell.yaml:18", "c16", "16 at most"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_cameras_are_refused_by_name(name: str):
    text, words = BAD[name]
    with pytest.raises(UsageError) as error:
        read(text)
    assert str(error.value).startswith("cell.yaml")
    assert all(word in str(error.value) for word in words), error.value


def test_a_camera_inside_a_body_is_refused_when_the_twin_is_made():
    config = read(camera("position_m: [0.4, 0, -0.02]"))
    with pytest.raises(ConfigError, match=r"cameras\.top\.position_m.*geom 'table'"):
        twin_of(config)
