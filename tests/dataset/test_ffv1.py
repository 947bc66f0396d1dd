"""Our FFV1 encoder writes the packets of FFmpeg to the bit, or is not used."""

from fractions import Fraction

import numpy as np
import pytest
from av import CodecContext, VideoFrame

from tests.dataset.synthetic import CAMERAS, episode_pictures
from twinloop.dataset import ffv1, video
from twinloop.dataset.ffv1 import proven_encoder, read_configuration
from twinloop.dataset.video import VideoWriter
from twinloop.durable import digest_file
from twinloop.observe import kernels
from twinloop.observe.recording import HeldFrames

OPTIONS = dict(video.CODECS["depth"][0].options)
DEPTH = CAMERAS[2]
LARGEST = 4095

needs_numba = pytest.mark.skipif(
    kernels.compiled_functions("twinloop.dataset.compiled_ffv1", ffv1.KINDS) is None, reason="needs twinloop[fast]"
)


def by_ffmpeg(codes: np.ndarray, **options: str) -> tuple[bytes, list[bytes]]:
    """Configuration record and packets."""
    context = CodecContext.create("ffv1", "w")
    context.height, context.width = codes.shape[1:]
    context.pix_fmt, context.time_base, context.options = "gray12le", Fraction(1, 25), {**OPTIONS, **options}
    packets = []
    for number, image in enumerate(codes):
        frame = VideoFrame.from_ndarray(image, format="gray12le")
        frame.pts = number
        packets += [bytes(packet) for packet in context.encode(frame)]
    return bytes(context.extradata or b""), packets


def images(height: int, width: int) -> np.ndarray:
    """Flat, smooth, noisy and extreme images; differences of every length occur."""
    rng, (row, column) = np.random.default_rng(1), np.indices((height, width))
    spread = [rng.normal(2000, deviation, (height, width)) for deviation in (0.5, 3, 20, 150, 700)]
    edges = np.where((row // 3 + column // 5) % 2, LARGEST, 0)
    holes = np.where(rng.random((height, width)) < 0.1, 0, 900 + row + column // 2)
    flat = [np.zeros((height, width)), np.full((height, width), LARGEST)]
    return np.clip(np.stack([*flat, *spread, edges, holes, 40 * column]), 0, LARGEST).astype(np.uint16)


@needs_numba
@pytest.mark.parametrize(("height", "width"), [(128, 128), (97, 33), (2, 2), (480, 640), (5, 300)])
def test_packets_are_those_of_ffmpeg(height: int, width: int):
    codes = images(height, width)
    record, expected = by_ffmpeg(codes)
    encoder = proven_encoder(record, width, height, tuple(OPTIONS.items()))
    assert encoder is not None
    assert encoder.packets(codes) == expected
    # Slices are coded in turns; the bytes do not depend on their neighbours.
    assert [encoder.packets(codes[number : number + 1])[0] for number in range(len(codes))] == expected
    assert encoder.packets(codes[:0]) == []


@needs_numba
@pytest.mark.parametrize("option", [{"context": "1"}, {"slicecrc": "1"}, {"g": "5"}, {"level": "1"}], ids=str)
def test_streams_with_other_settings_are_left_to_ffmpeg(option: dict[str, str]):
    codes = images(32, 32)
    record, _ = by_ffmpeg(codes, **option)
    assert proven_encoder(record, 32, 32, tuple({**OPTIONS, **option}.items())) is None


@needs_numba
@pytest.mark.parametrize("option", [{"coder": "range_def"}, {"slices": "6"}], ids=str)
def test_states_and_slices_are_read_from_the_stream(option: dict[str, str]):
    codes = images(64, 96)
    record, expected = by_ffmpeg(codes, **option)
    encoder = proven_encoder(record, 96, 64, tuple({**OPTIONS, **option}.items()))
    assert encoder is not None
    assert encoder.packets(codes) == expected


@needs_numba
def test_an_encoder_that_differs_from_ffmpeg_is_not_used(monkeypatch: pytest.MonkeyPatch):
    record, _ = by_ffmpeg(images(24, 24))
    assert proven_encoder(record, 24, 24, tuple(OPTIONS.items())) is not None
    ffv1._writes_the_same.cache_clear()
    monkeypatch.setattr(ffv1, "PROGRESSIVE", 1)
    assert proven_encoder(record, 24, 24, tuple(OPTIONS.items())) is None
    ffv1._writes_the_same.cache_clear()


@pytest.mark.parametrize("record", [b"", b"\0" * 40, b"\xff" * 40, bytes(range(200))], ids=["", "0", "1", "count"])
def test_a_broken_record_is_refused(record: bytes):
    assert proven_encoder(record, 32, 32, tuple(OPTIONS.items())) is None


def test_the_record_names_bits_slices_and_contexts():
    record, _ = by_ffmpeg(images(48, 48))
    configuration = read_configuration(record)
    assert (configuration.version, configuration.bits, configuration.plain) == (3, 12, True)
    assert (configuration.columns, configuration.rows) == (2, 2)
    # Opposite differences of neighbours belong to opposite contexts.
    table = configuration.contexts[0]
    assert np.array_equal(table[:, 129:], -table[:, 127:0:-1])
    assert configuration.counts[0] == (np.abs(table[:, :128]).max(axis=1).sum() * 2 + 1 + 1) // 2


def test_a_video_is_the_same_file_without_numba(tmp_path, monkeypatch: pytest.MonkeyPatch):
    frames = np.concatenate([episode_pictures(attempt, 7)[DEPTH.name] for attempt in range(3)])
    shown = np.repeat(np.arange(len(frames)), 3)
    for name in ("own", "ffmpeg"):
        if name == "ffmpeg":
            monkeypatch.setattr(video, "proven_encoder", lambda *_: None)
        with VideoWriter(tmp_path / f"{name}.mp4", DEPTH, 25) as writer:
            writer.write(HeldFrames(frames, shown))
            writer.write(frames[:1])
            writer.finish(len(shown) + 1)
    assert digest_file(tmp_path / "own.mp4") == digest_file(tmp_path / "ffmpeg.mp4")
