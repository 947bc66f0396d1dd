import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.dataset.synthetic import CAMERAS, episode_pictures
from twinloop.dataset import video
from twinloop.dataset.ffv1 import Ffv1Encoder
from twinloop.dataset.video import VideoWriter, count_frames, facts_of, read_frames
from twinloop.durable import digest_file
from twinloop.errors import CorruptError, DatasetError, UsageError
from twinloop.observe.recording import Feature

FPS = 50
FRONT, _, DEPTH = CAMERAS
MASK = Feature("observation.images.front_instances", "mask", (48, 64, 1), ("world", "arm", "cube", "table", "zone"))


def pictures(feature, count: int = 24) -> np.ndarray:
    parts, attempt = [], 0
    while sum(map(len, parts)) < count:
        parts.append(episode_pictures(attempt, 7)[feature.name])
        attempt += 1
    return np.concatenate(parts)[:count]


def write(path: Path, feature, count: int = 24, fps: float = FPS):
    with VideoWriter(path, feature, fps) as writer:
        writer.write(pictures(feature, count))
        return writer.finish(count)


def psnr_db(decoded: np.ndarray, expected: np.ndarray) -> float:
    return float(10 * np.log10(255**2 / np.mean((decoded.astype(float) - expected) ** 2)))


@pytest.fixture(params=["first choice", "fallback"])
def encoders(request, monkeypatch):
    if request.param == "fallback":
        monkeypatch.setattr(video, "CODECS", {kind: codecs[1:] for kind, codecs in video.CODECS.items()})


@pytest.mark.usefixtures("encoders")
def test_pictures_come_back_as_they_were_seen(tmp_path):
    write(tmp_path / "v.mp4", FRONT)
    result = read_frames(tmp_path / "v.mp4", FRONT, 0, 24, fps=FPS)
    assert (result.dtype, result.shape) == (np.uint8, (24, *FRONT.shape))
    assert min(psnr_db(*pair) for pair in zip(result, pictures(FRONT), strict=True)) > 30


@pytest.mark.usefixtures("encoders")
def test_depth_loses_its_quantisation_and_no_more(tmp_path):
    write(tmp_path / "v.mp4", DEPTH)
    wanted = pictures(DEPTH)
    result = read_frames(tmp_path / "v.mp4", DEPTH, 0, 24, fps=FPS)
    assert (result.dtype, result.shape) == (np.float32, wanted.shape)
    assert np.array_equal(result, video.depth.to_metres(video.depth.to_codes(wanted)))
    assert np.abs(result - wanted).max() < 0.0011  # half of a step, at 2.5 m


@pytest.mark.usefixtures("encoders")
@pytest.mark.parametrize("feature", [FRONT, DEPTH], ids=lambda feature: feature.dtype)
@pytest.mark.parametrize("fps", [50, 30, 12.5, 100 / 3])
def test_any_range_is_those_frames_and_no_others(tmp_path, feature, fps):
    write(tmp_path / "v.mp4", feature, fps=fps)
    whole = read_frames(tmp_path / "v.mp4", feature, 0, 24, fps=fps)
    for start in range(24):
        for stop in {start + 1, min(start + 5, 24), 24}:
            result = read_frames(tmp_path / "v.mp4", feature, start, stop, fps=fps)
            assert np.array_equal(result, whole[start:stop]), (start, stop)


@pytest.mark.usefixtures("encoders")
@pytest.mark.parametrize("feature", [FRONT, DEPTH], ids=lambda feature: feature.dtype)
def test_the_same_pictures_are_the_same_bytes(tmp_path, feature):
    digests = {write(tmp_path / f"{name}.mp4", feature).sha256 for name in "abc"}
    assert digests == {digest_file(tmp_path / "a.mp4").sha256}


@pytest.mark.parametrize("feature", [FRONT, DEPTH], ids=lambda feature: feature.dtype)
def test_another_process_writes_the_same_bytes(tmp_path, feature):
    code = (
        "import sys; from pathlib import Path; from tests.dataset import test_video as t;"
        "t.write(Path(sys.argv[1]), next(f for f in t.CAMERAS if f.name == sys.argv[2]))"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "other.mp4", feature.name], check=True)
    assert write(tmp_path / "here.mp4", feature) == digest_file(tmp_path / "other.mp4")


def test_the_formats_are_readable_by_lerobot(tmp_path):
    write(tmp_path / "rgb.mp4", FRONT)
    write(tmp_path / "depth.mp4", DEPTH)
    assert facts_of(tmp_path / "rgb.mp4") == video.VideoFacts("h264", "yuv420p")
    assert facts_of(tmp_path / "depth.mp4") == video.VideoFacts("ffv1", "gray12le")


@pytest.mark.usefixtures("encoders")
@pytest.mark.parametrize("feature", [FRONT, DEPTH], ids=lambda feature: feature.dtype)
@pytest.mark.parametrize("times", [1, 2.5, 9])
def test_pictures_of_a_slow_camera_are_near_a_key_frame(tmp_path, feature, times):
    held = pictures(feature)[(np.arange(24) / times).astype(int)]
    with VideoWriter(tmp_path / "v.mp4", feature, FPS) as writer:
        writer.write(held)
        writer.finish(24)
    with video.require_av().open(str(tmp_path / "v.mp4")) as container:
        keys = np.flatnonzero([packet.is_keyframe for packet in container.demux(video=0) if packet.size])
    assert keys[0] == 0
    assert np.diff(np.append(keys, 24)).max() <= (video.HELD_FRAMES if times > 2 else 2)
    result = read_frames(tmp_path / "v.mp4", feature, 0, 24, fps=FPS)
    for frame in range(24):
        np.testing.assert_array_equal(
            read_frames(tmp_path / "v.mp4", feature, frame, frame + 1, fps=FPS)[0], result[frame]
        )
    if feature is DEPTH:
        np.testing.assert_array_equal(result, video.depth.to_metres(video.depth.to_codes(held)))
    else:
        assert min(psnr_db(*pair) for pair in zip(result, held, strict=True)) > 30


@pytest.mark.parametrize("feature", [FRONT, DEPTH, MASK], ids=lambda feature: feature.dtype)
def test_a_repeated_image_is_not_encoded_again_and_decodes_to_the_same_pixels(tmp_path, monkeypatch, feature):
    rng = np.random.default_rng(3)
    distinct = rng.integers(0, 5, (6, *feature.shape[: 3 if feature.dtype == "video" else 2])).astype(
        np.float32 if feature.dtype == "depth" else np.uint8
    )
    images = np.repeat(np.arange(6), [1, 4, 2, 5, 1, 3])
    encoded = []
    encode = VideoWriter._encode

    def counted(writer, picture, fresh):
        encoded.append(fresh)
        encode(writer, picture, fresh)

    packets = Ffv1Encoder.packets

    def counted_together(encoder, codes):
        encoded.extend([True] * len(codes))
        return packets(encoder, codes)

    monkeypatch.setattr(VideoWriter, "_encode", counted)
    with VideoWriter(tmp_path / "v.mp4", feature, FPS) as writer:
        monkeypatch.setattr(Ffv1Encoder, "packets", counted_together)
        writer.write(distinct[images])
        writer.finish(len(images))
    assert encoded == [True] * 6
    result = read_frames(tmp_path / "v.mp4", feature, 0, len(images), fps=FPS)
    for first in np.flatnonzero(np.diff(images, prepend=-1)):
        for same in np.flatnonzero(images == images[first]):
            np.testing.assert_array_equal(result[same], result[first])
    if feature.dtype == "mask":
        np.testing.assert_array_equal(result, distinct[images])


def test_a_finished_file_is_read_only(tmp_path):
    write(tmp_path / "v.mp4", FRONT)
    assert (tmp_path / "v.mp4").stat().st_mode & 0o222 == 0
    write(tmp_path / "v.mp4", FRONT)  # a repeated attempt replaces it


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="scheduling classes are Linux's")
def test_an_encoder_takes_no_real_time_priority(tmp_path):
    with VideoWriter(tmp_path / "file.mp4", FRONT, FPS) as writer:
        writer.write(pictures(FRONT))
        threads = [int(thread) for thread in os.listdir("/proc/self/task")]
        assert {os.sched_getscheduler(thread) for thread in threads} <= {os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_IDLE}


def test_a_frame_too_few_or_too_many_is_an_error(tmp_path):
    for rows in (23, 25):
        with VideoWriter(tmp_path / "v.mp4", FRONT, FPS) as writer:
            writer.write(pictures(FRONT))
            with pytest.raises(DatasetError, match=rf"v\.mp4: {rows} frames expected, but 24 were given"):
                writer.finish(rows)


def test_a_frame_the_encoder_lost_is_an_error(tmp_path, monkeypatch):
    with VideoWriter(tmp_path / "v.mp4", FRONT, FPS) as writer:
        writer.write(pictures(FRONT))
        monkeypatch.setattr(video, "indexed_frames", lambda path: count_frames(path) - 1)
        with pytest.raises(DatasetError, match="24 were given and 23 are in the file"):
            writer.finish(24)


@pytest.mark.parametrize("writes", [1, 2, 5])
def test_a_full_disk_stays_the_error_it_is(tmp_path, monkeypatch, writes):
    real, left = os.write, writes

    def fill(fd, data):
        nonlocal left
        left -= 1
        if left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(os, "write", fill)
    with pytest.raises(OSError, match="No space left") as caught:
        write(tmp_path / "v.mp4", FRONT, count=400)
    assert caught.value.errno == errno.ENOSPC


def test_an_unreadable_video_is_named(tmp_path):
    path = tmp_path / "v.mp4"
    write(path, FRONT)
    with pytest.raises(CorruptError, match=r"v\.mp4: has 4 of the frames 20 to 29"):
        read_frames(path, FRONT, 20, 30, fps=FPS)
    data = path.read_bytes()
    path.unlink()
    with pytest.raises(CorruptError, match=r"v\.mp4: is missing"):
        count_frames(path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CorruptError, match=r"v\.mp4: cannot be read as video"):
        count_frames(path)


def test_a_playlist_in_place_of_a_video_is_not_followed(tmp_path):
    write(tmp_path / "other.mp4", FRONT)
    (tmp_path / "v.mp4").write_text("ffconcat version 1.0\nfile other.mp4\n")
    with pytest.raises(CorruptError, match=r"v\.mp4: cannot be read as video"):
        count_frames(tmp_path / "v.mp4")


def test_without_pyav_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UsageError, match=r"pip install 'twinloop\[video\]'"):
        write(tmp_path / "v.mp4", FRONT)


def test_a_build_without_encoders_is_reported(tmp_path, monkeypatch):
    codec = video.Codec("libnothing", "yuv420p", {})
    monkeypatch.setattr(video, "CODECS", {"video": (codec,)})
    with pytest.raises(UsageError, match=r"observation\.images\.front: this PyAV has no encoder libnothing"):
        write(tmp_path / "v.mp4", FRONT)


def test_without_pictures_pyav_is_not_imported(tmp_path):
    code = (
        "import sys; from pathlib import Path; from tests.dataset.synthetic import header, run;"
        "from twinloop.dataset import Dataset, verify; path = Path(sys.argv[1]);"
        "run(path, header()); verify(path).require(); Dataset.open(path).episode(0); assert 'av' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "d"], check=True)
