"""Packets that repeat the frame before them, so that the image of a slow camera is encoded once.

An H.264 frame in which every block is skipped depends on its place after the key frame and on the settings of the
encoder, and not on the image. So the encoder makes it once, from a plain or a noisy image, and it serves every video
with these settings. It is decoded after another image before it is used: every pixel must stay. FFV1 frames are
independent of each other; there the packet of the image itself is written again.
"""

import io
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import cast

import numpy as np
from av import Packet, VideoFrame, VideoStream
from av import open as open_container

HELD_FRAMES = 5
"""Frames from one key frame to the next, at most."""
TICK = Fraction(1, 25)


def skipped_frames(
    encoder: str, pixels: str, options: Mapping[str, str], width: int, height: int
) -> tuple[bytes, ...] | None:
    """Packets of the frames 1, 2, ... after a key frame. None if the encoder cannot make such packets."""
    return _skipped_frames(encoder, pixels, tuple(sorted(options.items())), width, height)


@cache
def _skipped_frames(
    encoder: str, pixels: str, options: tuple[tuple[str, str], ...], width: int, height: int
) -> tuple[bytes, ...] | None:
    rng = np.random.default_rng(0)
    plain, noisy, other = np.full((height, width), 128), *rng.integers(16, 235, (2, height, width))
    # A lossless encoder predicts a plain image from nothing, and a lossy one refines a noisy one.
    for image in (plain, noisy):
        packets = _encoded(encoder, pixels, options, [image] * HELD_FRAMES, ())
        if packets is None:
            return None
        trial = _encoded(encoder, pixels, options, [other], packets[1:])
        if trial is not None:
            return tuple(packets[1:])
    return None


def _encoded(
    encoder: str, pixels: str, options: tuple[tuple[str, str], ...], images: list[np.ndarray], repeats: Sequence[bytes]
) -> list[bytes] | None:
    """One packet per image, and `repeats` after them. None if a packet is late or a repeat changes a pixel."""
    packets, memory = [], io.BytesIO()
    height, width = images[0].shape
    with open_container(memory, "w", format="mp4") as container:
        stream = cast("VideoStream", container.add_stream(encoder, rate=25, options=dict(options)))
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        for number, image in enumerate(images):
            frame = VideoFrame.from_ndarray(image.astype(np.uint8), format="gray").reformat(format=pixels)
            frame.pts, frame.time_base, frame.pict_type = number, TICK, 1 if number == 0 else 0
            encoded = stream.encode(frame)
            if len(encoded) != 1:
                return None
            packets.append(bytes(encoded[0]))
            container.mux(encoded)
        for number, content in enumerate(repeats, start=len(images)):
            packet = Packet(content)
            packet.stream, packet.time_base, packet.duration = stream, TICK, 1
            packet.pts = packet.dts = number
            container.mux(packet)
        container.mux(stream.encode(None))
    memory.seek(0)
    with open_container(memory, "r", format="mp4") as container:
        frames = [frame.to_ndarray() for frame in container.decode(video=0)]
    held = all(np.array_equal(frame, frames[0]) for frame in frames) or not repeats
    return packets if held and len(frames) == len(images) + len(repeats) else None
