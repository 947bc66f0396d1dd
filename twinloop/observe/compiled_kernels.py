"""Numba functions for the camera model; see `kernels`. Import it only if Numba is installed.

The functions that `kernels` names are called from Python, once for all images of a clip. They allocate no memory: what
they need for intermediate results comes with the arguments (see `machine_code`). Where the channels of an image do
not matter it has (h, 3 w) numbers, and as `flat_...` all of them in one row: changing a shape in Numba may allocate.

All numbers are float32: a literal would make Numba compute in float64, unlike NumPy. Indices from arithmetic are
unsigned: Numba tests whether a signed one is negative, which costs as much as the rest of a pixel.
"""

import numpy as np
from numba import njit

from twinloop.observe.noise import FIRST_FACTOR, LEVELS, SECOND_FACTOR, STEP

F, U = np.float32, np.uintp
ZERO, HALF, ONE = F(0), F(0.5), F(1)
TINY = F(1e-12)
BEFORE = F(1e-6)

kernel = njit(nogil=True, error_model="numpy")

MIX, FIRST, SECOND = STEP, FIRST_FACTOR, SECOND_FACTOR
LOW, HIGH = np.uint32(LEVELS - 1), np.uint32(20)


@kernel
def _bits(position, key, other_key):
    """Random bits at a position of a stream; see `noise.NormalStream`."""
    bits = np.uint32(np.uint32(position) * MIX) + key
    bits = np.uint32(bits)
    bits = np.uint32((bits ^ (bits >> np.uint32(16))) * FIRST)
    bits = np.uint32(bits + other_key)
    bits = np.uint32((bits ^ (bits >> np.uint32(15))) * SECOND)
    return np.uint32(bits ^ (bits >> np.uint32(16)))


@kernel
def _square(vector):
    return vector[0] * vector[0] + vector[1] * vector[1]


@kernel
def _fastest_around(
    velocity, block_px, reach_s, widest_px, still_px, squares, packed, before, lines, blocks, moving
):  # fmt: skip
    """The fastest velocity within reach of each block, and whether the block moves; see `shutter._spread`.

    Args:
        reach_s: time between the middle and the ends of the exposure.
        squares, packed, before: scratch memory, (rows, columns) float32, uint64 and uint64.
        lines: scratch memory, at least two rows of numbers.
        blocks: output, (rows, columns, 2). moving: output, (rows, columns).

    Returns:
        The largest component of all velocities.
    """
    height, width = velocity.shape[:2]
    rows, columns = moving.shape
    peaks, tops = lines[:width], lines[width : 2 * width]
    for column in range(width):
        peaks[column] = ZERO
    # The largest square of a velocity in each block, and the number of its last pixel with that velocity. Columns are
    # compared first, because the compiler processes several of them at once.
    for row in range(rows):
        first, after = row * block_px, min((row + 1) * block_px, height)
        for column in range(width):
            tops[column] = ZERO
        for below in range(first, after):
            line = velocity[below]
            for column in range(U(width)):
                u, v = line[column, 0], line[column, 1]
                peaks[column] = max(peaks[column], max(abs(u), abs(v)))
                tops[column] = max(tops[column], u * u + v * v)
        for block in range(columns):
            left, right = block * block_px, min((block + 1) * block_px, width)
            largest = ZERO
            for column in range(left, right):
                largest = max(largest, tops[column])
            last = (after - 1) * width + right - 1 if largest == ZERO else 0
            if largest > ZERO:
                for column in range(left, right):
                    if tops[column] == largest:
                        below = after - 1
                        while _square(velocity[below, column]) != largest:
                            below -= 1
                        last = max(last, below * width + column)
            squares[row, block], packed[row, block] = largest, np.uint64(last)
    fastest = ZERO
    for column in range(width):
        fastest = max(fastest, peaks[column])
    # A square is not negative, so its bits sort as the number does.
    bits = squares.view(np.uint32)
    for row in range(rows):
        for column in range(columns):
            packed[row, column] |= np.uint64(bits[row, column]) << np.uint64(32)
    for _ in range(int(np.ceil(min(np.float64(fastest) * reach_s, np.float64(widest_px)) / block_px))):
        for row in range(rows):
            for column in range(columns):
                before[row, column] = packed[row, column]
        for row in range(rows):
            for column in range(columns):
                upper, lower = before[max(row - 1, 0), column], before[min(row + 1, rows - 1), column]
                packed[row, column] = max(packed[row, column], upper, lower)
        for row in range(rows):
            for column in range(columns):
                before[row, column] = packed[row, column]
        for row in range(rows):
            for column in range(columns):
                left, right = before[row, max(column - 1, 0)], before[row, min(column + 1, columns - 1)]
                packed[row, column] = max(packed[row, column], left, right)
    for row in range(rows):
        for column in range(columns):
            place = int(packed[row, column] & np.uint64(0xFFFFFFFF))
            u, v = velocity[place // width, place % width, 0], velocity[place // width, place % width, 1]
            blocks[row, column, 0], blocks[row, column, 1] = u, v
            moving[row, column] = max(abs(u), abs(v)) * F(reach_s) > F(still_px)
    return fastest


@kernel
def expose(
    flat_light, velocity, open_s, reach_s, block_px, widest_px, still_px, most_samples, row_s, squares, packed, before,
    blocks, moving, moments_s, phases, moved, out,
):  # fmt: skip
    """Light after the exposure; `moved` is 1 if that is in `out`, and 0 if nothing moves. See `shutter.Shutter`."""
    fastest = np.float64(
        _fastest_around(
            velocity, block_px, reach_s, widest_px, still_px, squares, packed, before, phases, blocks, moving
        )
    )
    moved[0] = fastest * reach_s >= still_px
    if not moved[0]:
        return
    blur_px = fastest * open_s
    samples = 1 if blur_px < 0.5 else int(min(max(np.ceil(blur_px) + 1, 3), most_samples))
    for sample in range(samples):
        moments_s[sample] = F(((sample + 0.5) / samples - 0.5) * open_s)
    _shift(flat_light, out.shape[1] // 3, phases)
    _average(phases, blocks, moving, block_px, row_s, moments_s[:samples], out)


@kernel
def flare(x, y, lamp_x, lamp_y, strength, ghosts, tints, count, flat_out):
    """Veil and ghosts of a lamp; see `lens.Flare`."""
    for row in range(y.size):
        start = U(3 * row * x.size)
        for column in range(U(x.size)):
            across, down = (x[column] - lamp_x) / HALF, (y[row] - lamp_y) / HALF
            veil = strength / (ONE + (across * across + down * down))
            red, green, blue = veil * tints[0, 0], veil * tints[0, 1], veil * tints[0, 2]
            for ghost in range(count):
                across = (x[column] - ghosts[ghost, 0]) / ghosts[ghost, 2]
                down = (y[row] - ghosts[ghost, 1]) / ghosts[ghost, 2]
                square = across * across + down * down
                square = square * square
                light = ONE / (ONE + square * square)
                red = red + tints[1 + ghost, 0] * light
                green = green + tints[1 + ghost, 1] * light
                blue = blue + tints[1 + ghost, 2] * light
            place = start + U(3) * column
            flat_out[place], flat_out[place + U(1)], flat_out[place + U(2)] = red, green, blue


@kernel
def incident(pixels, linear, flat_veil, flared, gain, flat_out):
    """Light on the sensor: (3 n,) uint8 values to (3 n,) light."""
    for i in range(U(gain.size)):
        for channel in range(U(3)):
            place = U(3) * i + channel
            light = linear[pixels[place]]
            if flared:
                light = light + flat_veil[place]
            flat_out[place] = light * gain[i]


@kernel
def _shift(flat_light, width, phases):
    """Four images: the light, and the means of neighbours half a pixel to the right, below, and both."""
    size, line, step = U(flat_light.size), U(3 * width), U(3)
    right, below, both = size, U(2) * size, U(3) * size
    for i in range(size):
        phases[i] = flat_light[i]
    for i in range(size - step):
        phases[right + i] = (flat_light[i] + flat_light[i + step]) * HALF
    for i in range(size - line):
        phases[below + i] = (flat_light[i] + flat_light[i + line]) * HALF
    for i in range(size - line - step):
        phases[both + i] = (phases[right + i] + phases[right + line + i]) * HALF


@kernel
def _average(phases, blocks, moving, block_px, row_s, moments_s, out):
    """Average the light along the paths of the moving blocks of four columns; the others are copied."""
    height, width = len(out), out.shape[1] // 3
    line, step, size = U(3 * width), U(3), U(3 * width * height)
    samples = F(len(moments_s))
    last_x, last_y = F(2 * width - 2), F(2 * height - 2)
    for row in range(height):
        numbers, middle_s = out[row], row_s[row]
        for start in range(0, width, block_px):
            stop = min(start + block_px, width)
            block_row, block_column = row // block_px, start // block_px
            if not moving[block_row, block_column]:
                # Assigning slices takes Numba several times as long to compile.
                first_of_row = line * U(row)
                for i in range(step * U(start), step * U(stop)):
                    numbers[i] = phases[first_of_row + i]
                continue
            across = F(2) * blocks[block_row, block_column, 0]
            down = F(2) * blocks[block_row, block_column, 1]
            first = np.rint(F(2 * start) - across * (middle_s + moments_s[0]))
            last = np.rint(F(2 * start) - across * (middle_s + moments_s[-1]))
            if stop - start == 4 and min(first, last) >= ZERO and max(first, last) + F(6) <= last_x:
                # Sums are variables, so that the compiler adds several numbers at once.
                a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = ZERO
                for moment in range(len(moments_s)):
                    since = middle_s + moments_s[moment]
                    y = U(min(max(np.rint(F(2 * row) - down * since), ZERO), last_y))
                    x = U(np.rint(F(2 * start) - across * since))
                    place = line * (y >> U(1)) + step * (x >> U(1)) + size * (U(2) * (y & U(1)) + (x & U(1)))
                    a0, a1, a2 = a0 + phases[place], a1 + phases[place + U(1)], a2 + phases[place + U(2)]
                    b0, b1, b2 = b0 + phases[place + U(3)], b1 + phases[place + U(4)], b2 + phases[place + U(5)]
                    c0, c1, c2 = c0 + phases[place + U(6)], c1 + phases[place + U(7)], c2 + phases[place + U(8)]
                    d0, d1, d2 = d0 + phases[place + U(9)], d1 + phases[place + U(10)], d2 + phases[place + U(11)]
                i = step * U(start)
                numbers[i], numbers[i + U(1)], numbers[i + U(2)] = a0 / samples, a1 / samples, a2 / samples
                numbers[i + U(3)], numbers[i + U(4)], numbers[i + U(5)] = b0 / samples, b1 / samples, b2 / samples
                numbers[i + U(6)], numbers[i + U(7)], numbers[i + U(8)] = c0 / samples, c1 / samples, c2 / samples
                numbers[i + U(9)], numbers[i + U(10)], numbers[i + U(11)] = d0 / samples, d1 / samples, d2 / samples
                continue
            # At the edge of the image the pixels of a block are not next to each other.
            for column in range(start, stop):
                red = green = blue = ZERO
                for moment in range(len(moments_s)):
                    since = middle_s + moments_s[moment]
                    y = U(min(max(np.rint(F(2 * row) - down * since), ZERO), last_y))
                    moved = np.rint(F(2 * start) - across * since) + F(2 * (column - start))
                    x = U(min(max(moved, ZERO), last_x))
                    place = line * (y >> U(1)) + step * (x >> U(1)) + size * (U(2) * (y & U(1)) + (x & U(1)))
                    red, green, blue = red + phases[place], green + phases[place + U(1)], blue + phases[place + U(2)]
                i = step * U(column)
                numbers[i], numbers[i + U(1)], numbers[i + U(2)] = red / samples, green / samples, blue / samples


@kernel
def defocus(light, shares, padded, vertical, out):
    """Blur (h, 3 w) light along both axes with these shares; the edge is repeated.

    padded: scratch memory, (3 * (w + places - 1),). vertical: of the shape of the light.
    """
    height, length = light.shape
    width, reach = length // 3, len(shares) // 2
    for row in range(height):
        line = vertical[row]
        for i in range(U(length)):
            line[i] = ZERO
        for place in range(len(shares)):
            source, share = light[min(max(row + place - reach, 0), height - 1)], shares[place]
            for i in range(U(length)):
                line[i] += share * source[i]
    for row in range(height):
        source, line = vertical[row], out[row]
        for column in range(-reach, width + reach):
            nearest = min(max(column, 0), width - 1)
            for channel in range(3):
                padded[U(3 * (column + reach) + channel)] = source[U(3 * nearest + channel)]
        for i in range(U(length)):
            line[i] = ZERO
        for place in range(len(shares)):
            start, share = U(3 * place), shares[place]
            for i in range(U(length)):
                line[i] += share * padded[start + i]


@kernel
def _levels(light, position, key, other_key, normal, noisy, shot, read, roots, levels, second, out):
    """Levels of (n,) light: sensor saturation, noise and gamma.

    Loops that look up a table are apart from those that compute, which then process several numbers at once.
    """
    count = len(light)
    if noisy:
        bits = second.view(np.uint32)
        for i in range(U(count)):
            bits[i] = _bits(U(position) + i, key, other_key)
        for i in range(U(count)):
            here = bits[i]
            second[i] = normal[U(here >> HIGH)]
            out[i] = normal[U(here & LOW)]
        for i in range(count):
            value = min(max(light[i], ZERO), ONE)
            spread = out[i] * shot
            spread = spread * np.sqrt(value)
            value = min(max(spread + value, ZERO), ONE)
            out[i] = np.rint(np.sqrt(value) * roots)
        for i in range(count):
            out[i] = levels[U(out[i])] + second[i] * read
    else:
        for i in range(count):
            out[i] = np.rint(np.sqrt(min(max(light[i], ZERO), ONE)) * roots)
        for i in range(count):
            out[i] = levels[U(out[i])]


@kernel
def _byte(level):
    return np.uint8(min(max(np.rint(level), ZERO), F(255)))


@kernel
def read_out(
    light, normal, position, key, other_key, noisy, shot, read, roots, levels, balance, luma, saturation, parts, out
):  # fmt: skip
    """Stored values of (n,) light, three per pixel: levels, white balance, saturation of colours, rounding.

    Args:
        position, key, other_key: where the noise begins, see `noise.NormalStream`.
        parts: scratch memory, (2, 3 n); so many numbers are processed together.
    """
    part, second = parts[0], parts[1]
    # The compiler cannot know that writing to `out` leaves these as they are.
    red_gain, green_gain, blue_gain = balance[0], balance[1], balance[2]
    red_share, green_share, blue_share = luma[0], luma[1], luma[2]
    for start in range(0, light.size, part.size):
        stop = min(start + part.size, light.size)
        _levels(
            light[start:stop], position + start, key, other_key, normal, noisy, shot, read, roots, levels, second, part
        )  # fmt: skip
        place = U(start)
        if saturation == ONE:
            for i in range(U(0), U(stop - start), U(3)):
                out[place + i] = _byte(part[i] * red_gain)
                out[place + i + U(1)] = _byte(part[i + U(1)] * green_gain)
                out[place + i + U(2)] = _byte(part[i + U(2)] * blue_gain)
            continue
        for i in range(U(0), U(stop - start), U(3)):
            red, green, blue = part[i] * red_gain, part[i + U(1)] * green_gain, part[i + U(2)] * blue_gain
            grey = red * red_share + green * green_share
            grey = grey + blue * blue_share
            out[place + i] = _byte(grey + saturation * (red - grey))
            out[place + i + U(1)] = _byte(grey + saturation * (green - grey))
            out[place + i + U(2)] = _byte(grey + saturation * (blue - grey))


@kernel
def develop(
    pictures, linear, flared, x, y, lamps, ghosts, tints, veil, gain, moves, velocity, open_s, reach_s, block_px,
    widest_px, still_px, most_samples, row_s, squares, packed, before, blocks, moving, moments_s, phases, moved,
    blurred, shares, padded, normal, keys, noisy, shot, read, roots, levels, balance, luma, saturation, parts, light,
    flat_light, other, flat_other, vertical, out,
):  # fmt: skip
    """Stored values of (f, 3 n) rendered images; see `image`. The functions above explain the arguments."""
    size = 3 * gain.size
    for frame in range(len(pictures)):
        lamp = lamps[frame]
        # A fixed camera sees the lamp at the same place in every image.
        if flared and (frame == 0 or lamp[0] != lamps[frame - 1, 0] or lamp[1] != lamps[frame - 1, 1]):
            flare(x, y, lamp[0], lamp[1], lamp[2], ghosts[frame], tints, int(lamp[3]), veil)
        incident(pictures[frame], linear, veil, flared, gain, flat_light)
        in_other = False
        if moves:
            expose(
                flat_light, velocity[frame], open_s, reach_s, block_px, widest_px, still_px, most_samples, row_s,
                squares, packed, before, blocks, moving, moments_s, phases, moved, other,
            )  # fmt: skip
            in_other = moved[0] != 0
        if blurred:
            if in_other:
                defocus(other, shares, padded, vertical, light)
            else:
                defocus(light, shares, padded, vertical, other)
            in_other = not in_other
        read_out(
            flat_other if in_other else flat_light, normal, frame * size, keys[0], keys[1], noisy, shot, read, roots,
            levels, balance, luma, saturation, parts, out[frame],
        )  # fmt: skip
