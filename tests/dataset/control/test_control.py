"""Control videos agree with the episode they show, and a restyled film changes the images of one camera only."""

import json
from pathlib import Path

import av
import numpy as np
import pytest

import twinloop as tl
from twinloop.cli import main
from twinloop.dataset import Dataset
from twinloop.dataset.control.signals import blurred, depth_range, edges, grey_depth, id_colours
from twinloop.dataset.ingest.films import VideoFilm, can_copy
from twinloop.dataset.ingest.source import PictureFormat
from twinloop.dataset.video_check import check_film
from twinloop.errors import DatasetError, RenderError
from twinloop.observe.gl import context

CONFIG = """
scene: {robot: franka_panda, task: pick_and_place}
randomization: {visual: {lighting_intensity: [0.5, 1.5], lens_distortion: [-0.05, 0.05]}}
cameras:
  front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, -0.03, 0.12], width: 48, height: 32, labels: [classes]}
rollout: {parallel_envs: 2, episodes_per_env: 1}
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    folder = tmp_path_factory.mktemp("control")
    (folder / "cell.yaml").write_text(CONFIG)
    return tl.generate(folder / "cell.yaml", folder / "cell", episodes=2)


@pytest.fixture(scope="module")
def exported(dataset: Dataset) -> Path:
    out = dataset.path.parent / "exported"
    assert main(["export-control", str(dataset.path), "--episode", "1", "--out", str(out), "--scale", "2"]) == 0
    return out


def frames_of(path: Path) -> np.ndarray:
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


def write_film(path: Path, frames: np.ndarray, *, rate: int, pixels: str = "yuv420p") -> Path:
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx265" if "10" in pixels or "gray" in pixels else "mpeg4", rate=rate)
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], pixels
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def test_edges_are_thin_and_lie_on_the_border_of_a_square():
    picture = np.zeros((40, 40, 3), np.uint8)
    picture[10:30, 10:30] = 200
    seen = edges(picture)[..., 0] > 0
    assert seen[:, 20].sum() == 2  # one pixel above and one below
    assert not seen[12:28, 12:28].any()
    assert not edges(np.full((40, 40, 3), 90, np.uint8)).any()


def test_depth_is_white_near_and_black_far_and_colours_differ():
    depth = np.linspace(0.5, 2.0, 64).reshape(8, 8)
    grey = grey_depth(depth, *depth_range(depth))[..., 0].ravel()
    assert grey[0] == 255
    assert grey[-1] == 0
    assert (np.diff(grey.astype(int)) <= 0).all()
    colours = id_colours(24).astype(int)
    gaps = np.abs(colours[:, None] - colours[None]).sum(axis=2) + 999 * np.eye(24, dtype=int)
    assert gaps.min() > 20
    assert (colours[0] == 0).all()


def test_blur_keeps_the_mean_and_removes_detail():
    picture = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    soft = blurred(picture).astype(float)
    assert abs(soft.mean() - picture.mean()) < 2
    assert soft.std() < picture.std() / 3


def test_the_videos_have_the_frames_rate_and_size_of_the_episode(dataset: Dataset, exported: Path):
    rows = len(dataset.episode(1)["timestamp"])
    for control in ("input", "edge", "vis", "depth", "seg", "mask"):
        film = check_film(exported / f"{control}.mp4", count=True)
        assert (film.frames, film.width, film.height, film.rate_hz) == (rows, 96, 64, dataset.header.fps), control
    stored = dataset.pictures(1, "observation.images.front").astype(int)
    assert np.abs(frames_of(exported / "input.mp4")[:, ::2, ::2] - stored).mean() < 4


def test_depth_and_masks_that_are_not_stored_are_rendered_at_the_same_moments(dataset: Dataset, exported: Path):
    classes = dataset.pictures(1, "observation.images.front_classes")
    robot = dataset.header.feature("observation.images.front_classes").names.index("robot")
    white = frames_of(exported / "mask.mp4")[:, ::2, ::2, 0] > 127
    assert white[classes == robot].mean() > 0.97


def test_the_parameter_files_name_the_videos(exported: Path):
    spec = json.loads((exported / "transfer2.json").read_text())
    assert set(spec) == {"name", "prompt_path", "video_path", "depth", "edge", "seg", "vis"}
    for control in ("depth", "edge", "seg", "vis"):
        assert (exported / spec[control]["control_path"]).is_file()
        assert 0 <= spec[control]["control_weight"] <= 1
    older = json.loads((exported / "transfer1.json").read_text())
    assert older["prompt"] == (exported / "prompt.txt").read_text().strip()
    assert (exported / older["depth"]["input_control"]).is_file()


def test_a_restyled_film_replaces_one_camera_and_keeps_actions(dataset: Dataset, exported: Path, capsys):
    look = 255 - frames_of(exported / "input.mp4")
    film = write_film(exported.parent / "night.mp4", look, rate=int(dataset.header.fps))
    out = exported.parent / "night"
    words = ["ingest", str(film), "--of", f"{dataset.path}:1", "--camera", "front", "--as", "night", "--out", str(out)]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert answer["looks"] == ["night"]
    assert answer["resized"] == ["night"]
    restyled, before = Dataset.open(out), dataset.episode(1)
    after = restyled.episode(0)
    for name in before:
        if name != "attempt":
            np.testing.assert_array_equal(after[name], before[name])
    classes = "observation.images.front_classes"
    np.testing.assert_array_equal(restyled.pictures(0, classes), dataset.pictures(1, classes))
    seen = restyled.pictures(0, "observation.images.front").astype(int)
    assert np.abs(seen - (255 - dataset.pictures(1, "observation.images.front").astype(int))).mean() < 8
    (row,) = restyled.attempts().to_pylist()
    assert (row["look"], row["origin_attempt"], row["origin"]) == ("night", before["attempt"][0], dataset.digest())
    assert main(["merge", str(dataset.path), str(out), "--out", str(out.parent / "both")]) == 0
    assert Dataset.open(out.parent / "both").stored == dataset.stored + 1
    assert main(["verify", str(out)]) == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [("short", "frames, and episode"), ("rate", "frames a second"), ("shape", "shape differs"), ("ten_bit", "10 bits"),
     ("grey", "is grey"), ("colourless", "is grey"), ("cut", "cannot be decoded"), ("text", "cannot be decoded")],
)  # fmt: skip
def test_a_film_that_does_not_fit_is_refused(dataset: Dataset, exported: Path, tmp_path: Path, capsys, change, problem):
    frames, rate, path = frames_of(exported / "input.mp4"), int(dataset.header.fps), tmp_path / "film.mp4"
    if change == "short":
        write_film(path, frames[:-3], rate=rate)
    elif change == "rate":
        write_film(path, frames, rate=2 * rate)
    elif change == "shape":
        write_film(path, np.ascontiguousarray(frames[:, :, :64]), rate=rate)
    elif change == "ten_bit":
        write_film(path, frames, rate=rate, pixels="yuv420p10le")
    elif change == "grey":
        write_film(path, frames, rate=rate, pixels="gray")
    elif change == "colourless":
        write_film(path, np.ascontiguousarray(frames[..., :1].repeat(3, axis=3)), rate=rate)
    elif change == "cut":
        path.write_bytes((exported / "input.mp4").read_bytes()[:-2000])
    else:
        path.write_text("not a film")
    words = ["ingest", str(path), "--of", f"{dataset.path}:1", "--as", "bad", "--out", str(tmp_path / "bad")]
    assert main(words) != 0
    message = capsys.readouterr().err
    assert problem in message
    assert str(path) in message
    assert not (tmp_path / "bad").exists()


def test_a_film_without_its_end_is_refused(exported: Path, tmp_path: Path):
    # The index stays and the last packets are overwritten, as by a download that stopped.
    whole = (exported / "input.mp4").read_bytes()
    place = whole.index(b"mdat")
    damaged = tmp_path / "film.mp4"
    damaged.write_bytes(whole[: place + 400] + bytes(len(whole) - place - 400))
    with pytest.raises(DatasetError, match=r"can be decoded|cannot be decoded|is damaged"):
        check_film(damaged, count=True)


@pytest.mark.parametrize(("pixels", "copied"), [("yuv420p", True), ("yuv420p10le", False), ("gray", False)])
def test_unusual_films_of_a_colour_camera_are_encoded_again(tmp_path: Path, pixels: str, copied: bool):
    path = tmp_path / "film.mp4"
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx265", rate=25, options={"x265-params": "keyint=2:bframes=0:log-level=error"})
        stream.height, stream.width, stream.pix_fmt = 64, 64, pixels
        for level in range(6):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 40 * level, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert can_copy(VideoFilm(path), PictureFormat("video", 64, 64)) == copied
