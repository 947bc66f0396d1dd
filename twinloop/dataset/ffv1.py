"""FFV1 (RFC 9043) for depth: the packets that FFmpeg writes, to the bit, in about half the time.

The encoder reads its tables from the header of the stream, which FFmpeg made. Before it is used, it encodes two images
of the same size, and its packets must equal those of FFmpeg. Otherwise, or without Numba, FFmpeg encodes.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np

from twinloop.observe.kernels import compiled_functions

if TYPE_CHECKING:
    from av import VideoCodecContext

KINDS = {"encode": "u2:3 i8:2 u2:2 i2:1 u2:1 u1:1 u1:1 u2 i8 u1:2 u2:2 i8:2 u8:1 u1:2 i8:1"}
BITS, PIXELS = 12, "gray12le"
STATES = 32
"""States of a context, one for each bit of a symbol."""
MOST_WORDS = 25
"""Bits of the longest symbol of 12 bits."""
HEADER, KEY, TAIL = range(3)
"""Contexts after those of pixels: the header of a slice, the mark of a key frame, the end of a slice."""
PROGRESSIVE = 3
LANES = 3
LISTED_ROWS = 8
"""Rows whose bits are listed together; they fit into the fastest cache."""
BATCH_BYTES = 1 << 25
"""Bytes of memory for encoded slices. They are for the worst case; most of them are never touched."""


@dataclass(frozen=True)
class Configuration:
    """Header of a stream, as far as the encoder needs it.

    Attributes:
        after_one: (256,) state of the range coder after a one.
        contexts: (tables, 5, 256) part of the context for each difference of neighbours.
        counts: number of contexts of each table.
    """

    version: int
    coder: int
    bits: int
    after_one: np.ndarray
    columns: int
    rows: int
    contexts: np.ndarray
    counts: tuple[int, ...]
    plain: bool
    """Grey, without other planes, first states, or checksums; every frame is a key frame."""


class _RangeDecoder:
    """Decodes bits with adaptive probabilities, see section 3.8.1 of RFC 9043."""

    def __init__(self, data: bytes):
        self._data, self._place = data, 2
        self._low, self._range = int.from_bytes(data[:2], "big"), 0xFF00
        self.after_one = _default_states()
        self._after_zero = _after_zero(self.after_one)

    def bit(self, states: list[int], place: int) -> int:
        state = states[place]
        upper = (self._range * state) >> 8
        self._range -= upper
        bit = self._low >= self._range
        if bit:
            self._low, self._range = self._low - self._range, upper
        states[place] = int((self.after_one if bit else self._after_zero)[state])
        if self._range < 0x100:
            following = self._data[self._place] if self._place < len(self._data) else 0
            self._low, self._range, self._place = self._low << 8 | following, self._range << 8, self._place + 1
        return int(bit)

    def symbol(self, states: list[int], *, signed: bool = False) -> int:
        if self.bit(states, 0):
            return 0
        exponent = 0
        while self.bit(states, 1 + min(exponent, 9)):
            exponent += 1
            if exponent > 31:
                raise ValueError("a symbol has more than 32 bits")
        value = 1
        for power in reversed(range(exponent)):
            value = 2 * value + self.bit(states, 22 + min(power, 9))
        return -value if signed and self.bit(states, 11 + min(exponent, 10)) else value


def _default_states() -> np.ndarray:
    """State after a one: the probability of a one rises by a twentieth of what it lacks. 256 stands for 1."""
    one, factor, largest = 1 << 32, (1 << 32) // 20, 248
    after = np.zeros(256, np.int64)

    def raised(probability: int) -> int:
        return probability + (((one - probability) * factor + one // 2) >> 32)

    def rounded(probability: int) -> int:
        return (256 * probability + one // 2) >> 32

    last, probability = 0, one // 2
    for _ in range(128):
        state = max(rounded(probability), last + 1)
        if last and state <= largest:
            after[last] = state
        last, probability = state, raised(probability)
    for state in range(256 - largest, largest + 1):
        if not after[state]:
            after[state] = min(max(rounded(raised((state * one + 128) >> 8)), state + 1), largest)
    return after


def _after_zero(after_one: np.ndarray) -> np.ndarray:
    """A zero is a one with the opposite probabilities."""
    after = np.zeros(256, np.int64)
    after[1:] = np.where(after_one[:0:-1] > 0, 256 - after_one[:0:-1], 0)
    return after


def read_configuration(record: bytes) -> Configuration:
    """Read the configuration record of a stream, section 4.3 of RFC 9043.

    Raises:
        ValueError: it is none.
    """
    decoder, states = _RangeDecoder(record), [128] * STATES
    version, _, coder = (decoder.symbol(states) for _ in range(3))
    after_one = decoder.after_one.copy()
    if coder > 1:
        for state in range(1, 256):
            after_one[state] += decoder.symbol(states, signed=True)
    colours, bits = decoder.symbol(states), decoder.symbol(states)
    chroma = decoder.bit(states, 0)
    shifts = [decoder.symbol(states) for _ in range(2)]
    alpha = decoder.bit(states, 0)
    columns, rows, tables = 1 + decoder.symbol(states), 1 + decoder.symbol(states), decoder.symbol(states)
    if tables > 8:
        raise ValueError(f"{tables} tables of contexts; at most 8 are allowed")
    contexts, counts = zip(*(_read_contexts(decoder) for _ in range(tables)), strict=True)
    first_states = [decoder.bit(states, 0) for _ in range(tables)]
    checksums, intra = decoder.symbol(states), decoder.symbol(states)
    others = (colours, chroma, *shifts, alpha, *first_states, checksums)
    plain = not any(others) and intra == 1
    return Configuration(version, coder, bits, after_one, columns, rows, np.array(contexts), counts, plain)


def _read_contexts(decoder: _RangeDecoder) -> tuple[np.ndarray, int]:
    """(5, 256) parts of the context, and the number of contexts."""
    parts, scale = np.zeros((5, 256), np.int64), 1
    for part in parts:
        states, place, level = [128] * STATES, 0, 0
        while place < 128:
            after = place + 1 + decoder.symbol(states)
            if after > 128:
                raise ValueError("a table of contexts is too long")
            part[place:after] = scale * level
            place, level = after, level + 1
        part[129:], part[128] = -part[127:0:-1], -part[127]
        scale *= 2 * level - 1
    return parts, (scale + 1) // 2


def _symbol(value: int, *, signed: bool) -> list[int]:
    """Words of a symbol: the state of each bit, times two, plus the bit."""
    if value == 0:
        return [1]
    size = abs(value)
    exponent = size.bit_length() - 1
    bits = [(0, 0), *((1 + min(i, 9), 1) for i in range(exponent)), (1 + min(exponent, 9), 0)]
    bits += [(22 + min(i, 9), (size >> i) & 1) for i in reversed(range(exponent))]
    if signed:
        bits.append((11 + min(exponent, 10), int(value < 0)))
    return [2 * state + bit for state, bit in bits]


@cache
def _words_of_differences() -> tuple[np.ndarray, np.ndarray]:
    """(4096 · 32,) words of each difference, modulo 4096, and (4096,) their number."""
    words, counts = np.zeros((1 << BITS, 32), np.uint16), np.zeros(1 << BITS, np.uint8)
    for place in range(1 << BITS):
        value = place if place < 1 << (BITS - 1) else place - (1 << BITS)
        symbol = _symbol(value, signed=True)
        words[place, : len(symbol)], counts[place] = symbol, len(symbol)
    return words.reshape(-1), counts


class Ffv1Encoder:
    """Encodes images of 12 bits and one size. Every image is a key frame.

    Raises:
        ValueError: the stream needs something that this encoder has not.
    """

    def __init__(self, configuration: Configuration, width: int, height: int, functions: SimpleNamespace):
        contexts = configuration.contexts[0] if len(configuration.contexts) else np.ones((5, 256), np.int64)
        if (
            (configuration.version, configuration.bits) != (3, BITS)
            or not configuration.plain
            or configuration.coder not in (1, 2)
            or contexts[3:].any()
            or STATES * 2 * (configuration.counts[0] + 3) > 1 << 16
        ):
            raise ValueError("not a stream of grey images with 12 bits, version 3")
        self._encode, self._own = functions.encode, configuration.counts[0]
        self._contexts = contexts[:3].astype(np.int16).reshape(-1)
        self._moves = np.concatenate([_after_zero(configuration.after_one), configuration.after_one]).astype(np.uint8)
        self._slices, self._heads = self._layout(configuration, width, height)
        widest, tallest = int(self._slices[:, 2].max()), int(self._slices[:, 3].max())
        head = self._heads.shape[1]
        self._states = np.zeros((LANES, STATES * (self._own + 3)), np.uint8)
        self._words = np.zeros((LANES, head + MOST_WORDS * widest * LISTED_ROWS + 64), np.uint16)
        # A bit takes one byte at most.
        self._room = head + MOST_WORDS * widest * tallest + 16
        self.together = max(1, BATCH_BYTES // (self._room * len(self._slices)))
        self._out = np.empty((0, self._room), np.uint8)

    def _layout(self, configuration: Configuration, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """(s, 5) left, top, width, height and header words of each slice; and (s, n) the words."""
        areas, heads = [], []
        for row in range(configuration.rows):
            top, bottom = (height * number // configuration.rows for number in (row, row + 1))
            for column in range(configuration.columns):
                left, right = (width * number // configuration.columns for number in (column, column + 1))
                if min(right - left, bottom - top) < 1:
                    raise ValueError("a slice has no pixels")
                # Place and size of the slice, its tables for two kinds of planes, and no shape of pixels (0 : 1).
                header = (column, row, 0, 0, 0, 0, PROGRESSIVE, 0, 1)
                words = [self._word(KEY, 1)] if not heads else []
                words += [self._word(HEADER, word) for value in header for word in _symbol(value, signed=False)]
                areas.append((left, top, right - left, bottom - top, len(words)))
                heads.append(words)
        longest = max(map(len, heads))
        padded = [words + [0] * (longest - len(words)) for words in heads]
        return np.array(areas, np.int64), np.array(padded, np.uint16)

    def _word(self, context: int, word: int) -> int:
        return 2 * STATES * (self._own + context) + word

    def packets(self, codes: np.ndarray) -> list[bytes]:
        """Encode (n, height, width) uint16 codes. More than `together` at a time need more memory."""
        codes = np.ascontiguousarray(codes)
        count, (words_of, counts) = len(self._slices), _words_of_differences()
        if len(self._out) < len(codes) * count:
            self._out = np.empty((len(codes) * count, self._room), np.uint8)
        out, sizes = self._out[: len(codes) * count], np.empty(len(codes) * count, np.int64)
        self._encode(
            codes, self._slices, self._heads, self._contexts, words_of, counts, self._moves,
            self._word(TAIL, 2 * (STATES - 1)), LISTED_ROWS, self._states, self._words,
            np.zeros((5, LANES), np.int64), np.zeros(LANES, np.uint64), out, sizes,
        )  # fmt: skip
        slices = [row[:size].tobytes() for row, size in zip(out, sizes.tolist(), strict=True)]
        return [b"".join(slices[first : first + count]) for first in range(0, len(slices), count)]


def proven_encoder(record: bytes, width: int, height: int, options: tuple[tuple[str, str], ...]) -> Ffv1Encoder | None:
    """An encoder for the stream with this configuration record; None if it would write other packets than FFmpeg.

    Args:
        options: FFmpeg's options of the stream.
    """
    functions = compiled_functions("twinloop.dataset.compiled_ffv1", KINDS)
    if functions is None or not _writes_the_same(record, width, height, options):
        return None
    return Ffv1Encoder(read_configuration(record), width, height, functions)


@cache
def _writes_the_same(record: bytes, width: int, height: int, options: tuple[tuple[str, str], ...]) -> bool:
    """Encode a noisy and a smooth image with both encoders, and compare."""
    functions = compiled_functions("twinloop.dataset.compiled_ffv1", KINDS)
    if functions is None:
        return False
    try:
        encoder = Ffv1Encoder(read_configuration(record), width, height, functions)
    except ValueError:
        return False
    from av import CodecContext, VideoFrame

    rng = np.random.default_rng(0)
    noise = rng.integers(0, 1 << BITS, (height, width))
    slope = np.add.outer(np.arange(height), np.arange(width)) + rng.integers(0, 6, (height, width))
    trial = np.stack([noise, slope % (1 << BITS)]).astype(np.uint16)
    reference = cast("VideoCodecContext", CodecContext.create("ffv1", "w"))
    reference.width, reference.height, reference.pix_fmt = width, height, PIXELS
    reference.time_base, reference.options = Fraction(1, 25), dict(options)
    expected = []
    for number, codes in enumerate(trial):
        frame = VideoFrame.from_ndarray(codes, format=PIXELS)
        frame.pts = number
        expected += [bytes(packet) for packet in reference.encode(frame)]
    return bytes(reference.extradata or b"") == record and encoder.packets(trial) == expected
