"""Numba functions that encode images with FFV1; see `ffv1`. Import it only if Numba is installed.

A range coder is serial: each bit waits for the bit before it. So the bits of three slices are coded in turns, and the
processor works on all three at the same time. First the bits of a few rows are listed, as words: the number of the
coder's state, times two, plus the bit. Then they are coded without branches.

Indices are unsigned, and no memory is allocated, as in the kernels of the camera model.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

S, U = np.int64, np.uintp
ZERO, ONE, BYTE, TWO_BYTES, FOUR_BYTES = U(0), U(1), U(8), U(16), U(32)
WORDS, FEW_WORDS = U(32), U(16)

# A coder is one number. From its lowest bit: range, low (two bytes each), up to three bytes that are not written yet,
# a carry, and a bit that shows where the number ends.
FIRST = (ONE << U(33)) | U(0xFF00)
FULL = ONE << U(57)

kernel = njit(nogil=True, error_model="numpy")


@intrinsic
def _copy_words(_, source, start, own, target, place):  # noqa: ARG001
    """Copy 16 words from source[start:] to target[place:] and add `own` to each, as one vector.

    Numba would copy them one by one, because it cannot know that the arrays do not overlap. `own` is uint16.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = {number: make_array(signature.args[number])(context, builder, arguments[number]) for number in (0, 3)}
        vector, index = ir.VectorType(ir.IntType(16), 16), ir.IntType(32)
        read, write = (
            builder.bitcast(builder.gep(array.data, [arguments[number + 1]]), vector.as_pointer())
            for number, array in arrays.items()
        )
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[2], ir.Constant(index, 0))
        every = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(index, 16), [0] * 16))
        # Words begin at any even address.
        builder.store(builder.add(builder.load(read, align=2), every), write, align=2)
        return context.get_dummy_value()

    return types.void(source, types.uintp, types.uint16, target, types.uintp), emit


@kernel
def encode(
    codes, slices, heads, contexts, words_of, counts, moves, tail, rows, states, words, lanes, coders, out, sizes
):  # fmt: skip
    """Encode (f, h, w) codes of 12 bits.

    Args:
        slices: (s, 5) left, top, width and height of each slice, and the number of words of its header.
        heads: (s, n) words of the headers.
        contexts: (768,) part of the context, for the three differences of neighbours.
        words_of: (4096 · 32,) words of each difference. counts: (4096,) their number.
        moves: (512,) state after each state and bit.
        tail: the last word, which selects the last state.
        rows: rows of a slice whose words are listed together.
        states, words: scratch memory of three coders, (3, states) and (3, words of so many rows).
        lanes: scratch memory, (5, 3): job of each coder, next word, words that are left, bytes written, next row.
        coders: scratch memory, (3,).
        out: (f · s, bytes) each slice with its size, and `sizes` their bytes.
    """
    jobs, begun = len(codes) * len(slices), 0
    job, place, left, written, row = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4]
    for lane in range(3):
        job[lane], left[lane] = -1, 0
    while True:
        active, shortest = 0, S(1) << S(62)
        for lane in range(3):
            if left[lane] == 0:
                if job[lane] >= 0 and row[lane] == slices[job[lane] % len(slices), 3]:
                    sizes[job[lane]] = _end(coders[lane], out[job[lane]], U(written[lane]))
                    job[lane] = -1
                if job[lane] < 0 and begun < jobs:
                    _reset(states[lane])
                    job[lane], row[lane], written[lane], coders[lane] = begun, 0, 0, FIRST
                    begun += 1
                if job[lane] >= 0:
                    number = job[lane] % len(slices)
                    stop = min(row[lane] + rows, slices[number, 3])
                    left[lane] = _list_words(
                        codes[job[lane] // len(slices)], slices[number], row[lane], stop, heads[number], contexts,
                        words_of, counts, tail, words[lane],
                    )  # fmt: skip
                    place[lane], row[lane] = 0, stop
            if job[lane] >= 0:
                active += 1
                shortest = min(shortest, left[lane])
        if active == 0:
            return
        if active == 3:
            _code_three(
                words[0], words[1], words[2], place, U(shortest), states[0], states[1], states[2], moves, coders,
                out[job[0]], out[job[1]], out[job[2]], written,
            )  # fmt: skip
            for lane in range(3):
                place[lane] += shortest
                left[lane] -= shortest
            continue
        for lane in range(3):
            if job[lane] >= 0:
                _code_one(lane, words[lane], place, U(left[lane]), states[lane], moves, coders, out[job[lane]], written)
                left[lane] = 0


@kernel
def _reset(states):
    for state in range(states.size):
        states[state] = np.uint8(128)
    # The state of the bit that ends a slice.
    states[states.size - 1] = np.uint8(129)


@kernel
def _list_words(codes, area, start_row, stop_row, head, contexts, words_of, counts, tail, words):
    """List the bits of some rows of a slice and return their number. The first row begins with the header."""
    count = ZERO
    if start_row == 0:
        count = U(area[4])
        for i in range(count):
            words[i] = head[i]
    first, last, top_row = U(area[0]), U(area[0] + area[2] - 1), area[1]
    for row in range(top_row + start_row, top_row + stop_row):
        line = codes[row]
        # Above the slice all codes are 0.
        above, kept = codes[max(row - 1, top_row)], S(-1) if row > top_row else S(0)
        top = S(above[first]) & kept
        corner = S(codes[max(row - 2, top_row)][first]) if row > top_row + 1 else S(0)
        before = top
        for column in range(first, last + ONE):
            code, right = S(line[column]), S(above[min(column + ONE, last)]) & kept
            context = (
                S(contexts[U(before - corner) & U(255)])
                + S(contexts[U(256) + (U(corner - top) & U(255))])
                + S(contexts[U(512) + (U(top - right) & U(255))])
            )
            guess = min(max(before + top - corner, min(before, top)), max(before, top))
            # A context and its mirror image share their states. A branch would often be predicted wrongly.
            sign = context >> S(63)
            difference = U(((code - guess) ^ sign) - sign) & U(4095)
            own = np.uint16(((context ^ sign) - sign) << S(6))
            start, size = difference * WORDS, U(counts[difference])
            _copy_words(words_of, start, own, words, count)  # pyright: ignore[reportCallIssue]
            if size > FEW_WORDS:
                _copy_words(words_of, start + FEW_WORDS, own, words, count + FEW_WORDS)
            count += size
            before, corner, top = code, top, right
    if stop_row == area[3]:
        words[count] = tail
        count += ONE
    return S(count)


@kernel
def _coded(word, states, moves, coder):
    """The coder after one more bit."""
    bit, place = U(word) & ONE, U(word) >> ONE
    state, whole = U(states[place]), coder & U(0xFFFF)
    upper = (whole * state) >> BYTE
    lower = whole - upper
    # A one adds the lower part of the range to `low` and leaves the upper part; a zero leaves the lower part.
    coder += (lower << TWO_BYTES) - lower if bit else ZERO - upper
    states[place] = moves[(bit << BYTE) + state]
    return coder << (BYTE if (coder & U(0xFF00)) == ZERO else ZERO)


@kernel
def _write(coder, pending, out, written):
    """Write so many bits that are pending, and return the number of bytes written so far."""
    if (coder >> (FOUR_BYTES + pending)) & ONE:
        place = written - ONE
        while out[place] == np.uint8(255):
            out[place] = np.uint8(0)
            place -= ONE
        out[place] += np.uint8(1)
    while pending > ZERO:
        pending -= BYTE
        out[written] = np.uint8((coder >> (FOUR_BYTES + pending)) & U(255))
        written += ONE
    return written


@kernel
def _emptied(coder):
    return (coder & U(0xFFFFFFFF)) | (ONE << U(33))


@kernel
def _code_three(
    words_a, words_b, words_c, place, count, states_a, states_b, states_c, moves, coders, out_a, out_b, out_c, written
):  # fmt: skip
    """Code the next words of three slices in turns."""
    a, b, c = coders[0], coders[1], coders[2]
    start_a, start_b, start_c = U(place[0]), U(place[1]), U(place[2])
    for i in range(count):
        a = _coded(words_a[start_a + i], states_a, moves, a)
        b = _coded(words_b[start_b + i], states_b, moves, b)
        c = _coded(words_c[start_c + i], states_c, moves, c)
        if (a | b | c) >= FULL:
            if a >= FULL:
                written[0] = _write(a, U(24), out_a, U(written[0]))
                a = _emptied(a)
            if b >= FULL:
                written[1] = _write(b, U(24), out_b, U(written[1]))
                b = _emptied(b)
            if c >= FULL:
                written[2] = _write(c, U(24), out_c, U(written[2]))
                c = _emptied(c)
    coders[0], coders[1], coders[2] = a, b, c


@kernel
def _code_one(lane, words, place, count, states, moves, coders, out, written):
    """Code the next words of one slice."""
    coder, start = coders[lane], U(place[lane])
    for i in range(count):
        coder = _coded(words[start + i], states, moves, coder)
        if coder >= FULL:
            written[lane] = _write(coder, U(24), out, U(written[lane]))
            coder = _emptied(coder)
    coders[lane] = coder


@kernel
def _end(coder, out, written):
    """Write the last bytes of a slice and its size; return the bytes of both."""
    coder = (coder + (U(255) << TWO_BYTES)) << BYTE
    pending = ZERO
    while (coder >> (U(33) + pending)) > ONE:
        pending += BYTE
    size = _write(coder, pending, out, written)
    for i in range(U(3)):
        out[size + i] = np.uint8((size >> (TWO_BYTES - BYTE * i)) & U(255))
    return S(size + U(3))
