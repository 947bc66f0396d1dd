"""A camera with a background shows real pictures where its mask shows the room, and changes nothing else."""

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from tests.observe.conftest import values_of
from twinloop.errors import ConfigError, UsageError
from twinloop.observe.background import background_picture
from twinloop.observe.background_config import BackgroundConfig, Replaced
from twinloop.observe.camera import CameraConfig
from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.image import sensed
from twinloop.run.config import RunConfig, load_config
from twinloop.simulate.episodes import Episodes

COLOURS = ((200, 40, 40), (40, 200, 40), (40, 40, 200))


def write_picture(path: Path, colour: tuple[int, int, int], *, width: int = 120, height: int = 90) -> Path:
    with av.open(str(path), "w", format="image2", options={"update": "1"}) as container:
        stream = container.add_stream("png")
        stream.height, stream.width, stream.pix_fmt = height, width, "rgb24"
        pixels = np.full((height, width, 3), colour, np.uint8)
        container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backgrounds")
    for number, colour in enumerate(COLOURS):
        write_picture(folder / f"{number}.png", colour)
    return folder


def behind(clip: Clip, folder: Path, replaces: Replaced = "room") -> Clip:
    return replace(clip, camera=replace(clip.camera, background=BackgroundConfig(str(folder), replaces)))


@pytest.mark.parametrize(("replaces", "kinds"), [("room", ("background",)), ("table", ("background", "table"))])
def test_exactly_the_background_is_replaced(clips, few: Episodes, folder: Path, replaces: Replaced, kinds):
    clip, values = clips["front"], values_of(few, 2)
    plain = sensed(clip, values, seed=0, attempt=2, name="front").rgb
    image = sensed(behind(clip, folder, replaces), values, seed=0, attempt=2, name="front").rgb
    room = np.isin(clip.class_ids, [CLASSES.index(kind) for kind in kinds])
    assert room.any()
    np.testing.assert_array_equal(image[~room], plain[~room])
    assert tuple(np.unique(image[room], axis=0)[0]) in COLOURS
    assert len(np.unique(image[room], axis=0)) == 1


def test_an_episode_has_one_background_and_episodes_have_different_ones(clips, few: Episodes, folder: Path):
    clip, values = behind(clips["front"], folder), values_of(few, 2)
    room = clip.class_ids == CLASSES.index("background")

    def colour(attempt: int, name: str) -> tuple[int, ...]:
        return tuple(sensed(clip, values, seed=0, attempt=attempt, name=name).rgb[room][0])

    # A live camera names its images by tick.
    assert colour(2, "front") == colour(2, "front/7.0") == colour(2, "front")
    assert {colour(attempt, "front") for attempt in range(12)} == set(COLOURS)


def test_the_shade_of_the_room_scales_the_picture(clips, few: Episodes, folder: Path):
    clip = behind(clips["front"], folder)
    room = clip.class_ids == CLASSES.index("background")
    light, dark = (
        sensed(clip, values_of(few, 2, background_shade=shade), seed=0, attempt=2, name="front").rgb[room]
        for shade in (1.0, 0.5)
    )
    np.testing.assert_allclose(dark / light, 0.5 ** (1 / 2.2), atol=0.02)


def config_of(tmp_path: Path, background: str) -> RunConfig:
    (tmp_path / "cell.yaml").write_text(
        "scene: {robot: franka_panda, task: pick_and_place}\n"
        "cameras: {front: {position_m: [1, 0, 1], look_at_m: [0.4, 0, 0], background: " + background + "}}\n"
    )
    return load_config(tmp_path / "cell.yaml")


def test_the_digest_follows_the_pictures_and_not_their_place(tmp_path: Path):
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        write_picture(tmp_path / place / "lab.png", (10, 20, 30))
    first, second = (config_of(tmp_path, f"{place}/lab.png") for place in ("one", "other"))
    assert first.digest == second.digest
    assert first.cameras["front"].needs_masks
    write_picture(tmp_path / "other" / "lab.png", (10, 20, 31))
    assert config_of(tmp_path, "other").digest != first.digest
    assert config_of(tmp_path, "{pictures: one, replaces: table}").digest != first.digest


@pytest.mark.parametrize(
    ("background", "problem"),
    [("nowhere", "does not exist"), ("empty", "contains no picture"), ("{pictures: lab.png, replaces: robot}", "room"),
     ("{replaces: room}", "is missing")],
)  # fmt: skip
def test_a_background_that_cannot_be_used_is_refused(tmp_path: Path, background: str, problem: str):
    (tmp_path / "empty").mkdir()
    write_picture(tmp_path / "lab.png", (10, 20, 30))
    with pytest.raises(ConfigError, match=problem):
        config_of(tmp_path, background)


def test_a_picture_that_is_too_small_or_damaged_is_refused(tmp_path: Path):
    small = write_picture(tmp_path / "small.png", (1, 2, 3), width=20, height=20)
    with pytest.raises(UsageError, match="larger picture"):
        background_picture(small, 96, 128)
    (tmp_path / "damaged.png").write_bytes(small.read_bytes()[:40])
    with pytest.raises(UsageError, match="cannot be read"):
        background_picture(tmp_path / "damaged.png", 16, 16)


def test_a_camera_rolls_about_its_view():
    level = CameraConfig("fixed", (1, 0, 1), (0, 0, 0))
    rolled = replace(level, roll_deg=30.0)
    np.testing.assert_allclose(rolled.axes[:, 2], level.axes[:, 2])
    np.testing.assert_allclose(rolled.axes[:, 0] @ level.axes[:, 0], np.cos(np.deg2rad(30)))
    np.testing.assert_allclose(np.linalg.det(rolled.axes), 1)
    assert rolled.axes[:, 0] @ level.axes[:, 1] > 0  # its right side points down: the image turns left
