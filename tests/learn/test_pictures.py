"""Pictures for learning: decoded once, the same on disk, in training and on a robot."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.dataset.synthetic import PICTURED, header, run
from tests.learn.fork_and_spot import CAMERA
from twinloop.errors import DatasetError
from twinloop.learn import pictures
from twinloop.learn.demonstrations import Demonstrations, load_demonstrations
from twinloop.learn.pictures import as_read, open_pictures, shrink
from twinloop.learn.policy import to_tensor

WRIST = "observation.images.wrist"
DEPTH = "observation.images.depth"
SIDE = 16


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Demonstrations:
    pytest.importorskip("av", reason="needs twinloop[video]")
    path = tmp_path_factory.mktemp("data") / "pictured"
    # Rejected episodes are stored too: accepted ones must still get their own images.
    run(path, header(features=PICTURED, keep_rejected=True))
    return load_demonstrations(path, ("observation.state", CAMERA, WRIST))


def slow_shrink(picture: np.ndarray, side: int) -> np.ndarray:
    """Reference implementation: split every pixel into side × side parts, then take the mean of blocks."""
    height, width, _ = picture.shape
    fine = picture.repeat(side, axis=0).repeat(side, axis=1).astype(np.float64)
    return fine.reshape(side, height, side, width, 3).mean(axis=(1, 3))


@pytest.mark.parametrize("shape", [(32, 48), (33, 50), (16, 16), (7, 9), (120, 64)])
def test_a_shrunk_pixel_is_the_mean_of_its_area(shape: tuple[int, int], rng: np.random.Generator):
    picture = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
    small = shrink(picture[None], SIDE)
    assert small.shape == (1, SIDE, SIDE, 3)
    assert small.dtype == np.uint8
    assert np.abs(small[0] - slow_shrink(picture, SIDE)).max() <= 0.5 + 1e-9


def test_one_colour_stays_that_colour():
    for level in (0, 1, 127, 254, 255):
        assert (shrink(np.full((1, 480, 640, 3), level, np.uint8), 96) == level).all()


def test_a_live_picture_and_a_stored_one_are_the_same_input(seen: Demonstrations, tmp_path: Path):
    store = open_pictures([seen], SIDE, cache=tmp_path)
    frames = np.random.default_rng(0).integers(0, seen.frames, 40)
    gathered = store.gather([(seen, frames)])
    live: dict[str, list[np.ndarray]] = {CAMERA: [], WRIST: []}
    for frame in frames:
        episode = seen.episode_of_frame[frame]
        for name, pixels in live.items():
            whole = seen.dataset.pictures(int(seen.episode_index[episode]), name)[frame - seen.starts[episode]]
            observation = {"observation.state": np.zeros((1, 3)), CAMERA: whole[None], WRIST: whole[None]}
            pixels.append(as_read(seen.space, observation, SIDE, [""])[name][0])
    for name, pixels in live.items():
        np.testing.assert_array_equal(gathered[name], np.stack(pixels))
        tensor = to_tensor(gathered[name])
        assert tensor.shape == (40, 3, SIDE, SIDE)
        assert 0 <= tensor.min() <= tensor.max() <= 1


def test_a_selection_of_episodes_has_their_pictures(seen: Demonstrations, tmp_path: Path):
    store = open_pictures([seen], SIDE, cache=tmp_path)
    some = seen.take(np.array([4, 1]))
    frames = np.concatenate([seen.starts[4] + np.arange(seen.lengths[4]), seen.starts[1] + np.arange(seen.lengths[1])])
    whole = store.gather([(seen, frames)])
    picked = store.gather([(some, np.arange(some.frames))])
    both = store.gather([(seen, frames[:3]), (some, np.arange(2))])
    for name in (CAMERA, WRIST):
        np.testing.assert_array_equal(whole[name], picked[name])
        np.testing.assert_array_equal(both[name], np.concatenate([whole[name][:3], whole[name][:2]]))


def test_decoded_videos_are_cached(seen: Demonstrations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text: list[tuple[int, int]] = []
    first = open_pictures([seen], SIDE, cache=tmp_path, progress=lambda *now: text.append(now))
    assert text[-1][0] == text[-1][1] == 2 * seen.dataset.frame_count
    assert [done for done, _ in text] == sorted(done for done, _ in text)
    (broken, *_) = files = sorted(tmp_path.iterdir())
    assert len(files) == 2 * len(seen.dataset.entries)
    frames = np.arange(seen.frames)
    wanted = first.gather([(seen, frames)])
    # A damaged file is made again, the others are kept.
    broken.write_bytes(broken.read_bytes()[:200])
    decoded = []
    real = pictures.read_frames
    monkeypatch.setattr(
        pictures, "read_frames", lambda path, *rest, **more: decoded.append(path) or real(path, *rest, **more)
    )
    again = open_pictures([seen], SIDE, cache=tmp_path).gather([(seen, frames)])
    assert len(set(decoded)) == 1
    assert sorted(tmp_path.iterdir()) == files
    for name in (CAMERA, WRIST):
        np.testing.assert_array_equal(again[name], wanted[name])


def test_only_shards_that_are_needed_are_decoded(seen: Demonstrations, tmp_path: Path):
    few = seen.take(np.array([0]))
    store = open_pictures([few], SIDE, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(DatasetError, match="were not decoded"):
        store.gather([(seen, np.array([seen.frames - 1]))])


def test_a_failed_decoding_leaves_nothing_behind(seen: Demonstrations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_, **__) -> None:
        raise DatasetError("no such luck")

    monkeypatch.setattr(pictures, "read_frames", fail)
    with pytest.raises(DatasetError, match="no such luck"):
        open_pictures([seen], SIDE, cache=tmp_path, workers=1)
    assert not list(tmp_path.iterdir())


def test_depth_is_read_in_metres_at_the_nearest_pixel(seen: Demonstrations, tmp_path: Path):
    deep = load_demonstrations(seen.dataset.path, (CAMERA, DEPTH))
    gathered = open_pictures([deep], SIDE, cache=tmp_path).gather([(deep, np.arange(3))])[DEPTH]
    assert gathered.shape == (3, SIDE, SIDE, 1)
    whole = seen.dataset.pictures(int(deep.episode_index[0]), DEPTH)[:3]
    live = as_read(deep.space, {CAMERA: np.zeros((3, 8, 8, 3), np.uint8), DEPTH: whole}, SIDE, [""] * 3)[DEPTH]
    np.testing.assert_array_equal(gathered.astype(np.float32), live)
    assert set(np.unique(live)) <= set(np.unique(whole.astype(np.float16).astype(np.float32)))
    scaled = to_tensor(gathered)
    assert scaled.shape == (3, 1, SIDE, SIDE)
    assert 0 <= scaled.min() <= scaled.max() <= 1


def test_only_every_nth_frame_is_decoded_and_found_again(seen: Demonstrations, tmp_path: Path):
    thin = replace(seen, stride=3)
    frames = thin.drawn_frames
    assert set(frames) == {
        start + k for start, length in zip(seen.starts, seen.lengths, strict=True) for k in range(0, length, 3)
    }
    some = open_pictures([thin], SIDE, cache=tmp_path / "thin").gather([(thin, frames)])
    whole = open_pictures([seen], SIDE, cache=tmp_path / "all").gather([(seen, frames)])
    for name in (CAMERA, WRIST):
        np.testing.assert_array_equal(some[name], whole[name])
    sizes = [sum(file.stat().st_size for file in (tmp_path / name).iterdir()) for name in ("thin", "all")]
    assert sizes[0] < 0.5 * sizes[1]
