"""Numba functions for the camera model; see `kernels`. Import it only if Numba is installed.

All numbers are float32: a literal would make Numba compute in float64, unlike NumPy. Indices from arithmetic are
unsigned: Numba tests whether a signed one is negative, which costs as much as the rest of a pixel.
"""

import numpy as np
from numba import njit

F, U = np.float32, np.uintp
ZERO, HALF, ONE = F(0), F(0.5), F(1)
TINY = F(1e-12)
BEFORE = F(1e-6)
PART = 3 * 512
"""Numbers that are processed together; they fit into the fastest cache."""

kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def bilinear(image, first, width, across, down, out):
    """Fixed-point interpolation of (3 · pixels,) bytes at n places; see `sampling.Between`."""
    full, half, eight = np.uint32(256), np.uint32(128), np.uint32(8)
    right, below = U(3), U(3 * width)
    for i in range(first.size):
        start, end = U(3) * U(first[i]), U(3 * i)
        share, deep = np.uint32(across[i]), np.uint32(down[i])
        for channel in range(U(3)):
            place = start + channel
            upper = (image[place] * (full - share) + image[place + right] * share + half) >> eight
            lower = (image[place + below] * (full - share) + image[place + below + right] * share + half) >> eight
            out[end + channel] = np.uint8((upper * (full - deep) + lower * deep + half) >> eight)


@kernel
def fastest_around(velocity, block_px, reach_s, widest_px, still_px, blocks, moving):
    """The fastest velocity within reach of each block, and whether the block moves; see `shutter._spread`.

    Args:
        reach_s: time between the middle and the ends of the exposure.
        blocks: output, (rows, columns, 2). moving: output, (rows, columns).

    Returns:
        The largest component of all velocities.
    """
    height, width = velocity.shape[:2]
    rows, columns = moving.shape
    # The largest square of a velocity in each block, and the number of its last pixel with that velocity.
    squares, places = np.zeros((rows, columns), np.float32), np.zeros((rows, columns), np.uint64)
    fastest = ZERO
    for row in range(height):
        largest, last, line = squares[row // block_px], places[row // block_px], velocity[row]
        for block in range(columns):
            for column in range(block * block_px, min((block + 1) * block_px, width)):
                u, v = line[column, 0], line[column, 1]
                fastest = max(fastest, abs(u), abs(v))
                size = u * u + v * v
                if size >= largest[block]:
                    largest[block], last[block] = size, row * width + column
    # A square is not negative, so its bits sort as the number does.
    # Loops and copies, because array expressions take Numba several times as long to compile.
    bits, packed = squares.view(np.uint32), places
    for row in range(rows):
        for column in range(columns):
            packed[row, column] |= np.uint64(bits[row, column]) << np.uint64(32)
    for _ in range(int(np.ceil(min(np.float64(fastest) * reach_s, widest_px) / block_px))):
        before = packed.copy()
        for row in range(rows):
            for column in range(columns):
                upper, lower = before[max(row - 1, 0), column], before[min(row + 1, rows - 1), column]
                packed[row, column] = max(packed[row, column], upper, lower)
        before = packed.copy()
        for row in range(rows):
            for column in range(columns):
                left, right = before[row, max(column - 1, 0)], before[row, min(column + 1, columns - 1)]
                packed[row, column] = max(packed[row, column], left, right)
    for row in range(rows):
        for column in range(columns):
            place = int(packed[row, column] & np.uint64(0xFFFFFFFF))
            u, v = velocity[place // width, place % width]
            blocks[row, column, 0], blocks[row, column, 1] = u, v
            moving[row, column] = max(abs(u), abs(v)) * F(reach_s) > F(still_px)
    return fastest


@kernel
def incident(pixels, linear, veil, flared, gain, out):
    """Light on the sensor: (n,) uint8 values to (n,) light."""
    for i in range(pixels.size):
        light = linear[pixels[i]]
        if flared:
            light = light + veil[i]
        out[i] = light * gain[i]


@kernel
def _add_run(light, upper, lower, x, between_rows, count, sums, start):
    """Add `count` numbers at half pixel x to the sums from `start` on: means of neighbours between pixels and rows.

    upper, lower: where the two rows begin in the flat light.
    """
    left = U(3) * (x >> U(1))
    above, below, step = upper + left, lower + left, U(3)
    if x & U(1) and between_rows:
        for i in range(count):
            mean = (light[above + i] + light[above + step + i]) * HALF
            sums[start + i] += (mean + (light[below + i] + light[below + step + i]) * HALF) * HALF
    elif x & U(1):
        for i in range(count):
            sums[start + i] += (light[above + i] + light[above + step + i]) * HALF
    elif between_rows:
        for i in range(count):
            sums[start + i] += (light[above + i] + light[below + i]) * HALF
    else:
        for i in range(count):
            sums[start + i] += light[above + i]


@kernel
def expose(light, blocks, moving, block_px, row_s, moments_s, out):
    """Average (h, w, 3) light along the paths of the moving blocks; the others are copied."""
    height, width = light.shape[:2]
    flat, line, step = light.reshape(-1), U(3 * width), U(3)
    samples = F(len(moments_s))
    last_x, last_y = F(2 * width - 2), F(2 * height - 2)
    sums = np.empty(3 * block_px, np.float32)
    for row in range(height):
        for start in range(0, width, block_px):
            stop = min(start + block_px, width)
            block_row, block_column = row // block_px, start // block_px
            if not moving[block_row, block_column]:
                # Assigning slices takes Numba several times as long to compile.
                for column in range(start, stop):
                    for channel in range(3):
                        out[row, column, channel] = light[row, column, channel]
                continue
            across = F(2) * blocks[block_row, block_column, 0]
            down = F(2) * blocks[block_row, block_column, 1]
            sums[:] = ZERO
            for moment in range(len(moments_s)):
                since = row_s[row] + moments_s[moment]
                y = U(min(max(np.rint(F(2 * row) - down * since), ZERO), last_y))
                upper, between_rows = line * (y >> U(1)), y & U(1)
                lower = upper + line * between_rows
                first, whole = np.rint(F(2 * start) - across * since), True
                for column in range(start + 1, stop):
                    whole &= np.rint(F(2 * column) - across * since) == first + F(2 * (column - start))
                if whole and first >= ZERO and first + F(2 * (stop - 1 - start)) <= last_x:
                    _add_run(flat, upper, lower, U(first), between_rows, step * U(stop - start), sums, U(0))
                    continue
                # At the edge of the image the pixels of a block are not next to each other.
                for column in range(start, stop):
                    x = U(min(max(np.rint(F(2 * column) - across * since), ZERO), last_x))
                    _add_run(flat, upper, lower, x, between_rows, step, sums, step * U(column - start))
            for column in range(start, stop):
                for channel in range(3):
                    out[row, column, channel] = sums[3 * (column - start) + channel] / samples


@kernel
def defocus(light, shares, padded, vertical, out):
    """Blur (h, w, 3) light along both axes with these shares; the edge is repeated.

    padded: scratch memory, (3 * (w + places - 1),). vertical: of the shape of the light.
    """
    height, width = light.shape[:2]
    reach = len(shares) // 2
    for row in range(height):
        vertical[row] = ZERO
        for place in range(len(shares)):
            source = min(max(row + place - reach, 0), height - 1)
            for column in range(width):
                for channel in range(3):
                    vertical[row, column, channel] += shares[place] * light[source, column, channel]
    for row in range(height):
        for column in range(-reach, width + reach):
            source = min(max(column, 0), width - 1)
            for channel in range(3):
                padded[3 * (column + reach) + channel] = vertical[row, source, channel]
        line = out[row].reshape(-1)
        line[:] = ZERO
        for place in range(len(shares)):
            for i in range(line.size):
                line[i] += shares[place] * padded[3 * place + i]


@kernel
def _levels(light, photons, readings, normal, noisy, shot, read, roots, levels, out):
    """Levels of (n,) light: sensor saturation, noise and gamma.

    Loops that look up a table are apart from those that compute, which then process several numbers at once.
    """
    count = len(light)
    if noisy:
        for i in range(count):
            out[i] = normal[photons[i]]
        for i in range(count):
            value = min(max(light[i], ZERO), ONE)
            spread = out[i] * shot
            spread = spread * np.sqrt(value)
            value = min(max(spread + value, ZERO), ONE)
            out[i] = np.rint(np.sqrt(value) * roots)
        for i in range(count):
            out[i] = levels[U(out[i])] + normal[readings[i]] * read
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
    light, normal, photons, readings, noisy, shot, read, roots, levels, balance, luma, saturation, out
):  # fmt: skip
    """Stored values of (n,) light, three per pixel: levels, white balance, saturation of colours, rounding."""
    part = np.empty(PART, np.float32)
    for start in range(0, light.size, PART):
        stop = min(start + PART, light.size)
        numbers = slice(start, stop) if noisy else slice(0, 0)
        _levels(
            light[start:stop], photons[numbers], readings[numbers], normal, noisy, shot, read, roots, levels, part
        )  # fmt: skip
        for i in range(0, stop - start, 3):
            red, green, blue = part[i] * balance[0], part[i + 1] * balance[1], part[i + 2] * balance[2]
            if saturation != ONE:
                grey = red * luma[0] + green * luma[1]
                grey = grey + blue * luma[2]
                red = grey + saturation * (red - grey)
                green = grey + saturation * (green - grey)
                blue = grey + saturation * (blue - grey)
            place = start + i
            out[place], out[place + 1], out[place + 2] = _byte(red), _byte(green), _byte(blue)


@kernel
def jitter(depth_m, spread_px, farthest_m, normal, bits, step, quantises, out):
    """Read each depth beside its pixel, and quantise it."""
    height, width = depth_m.shape
    for row in range(height):
        for column in range(width):
            value = depth_m[row, column]
            if spread_px > ZERO:
                reach = spread_px * min(value, farthest_m)
                across = np.rint(normal[bits[0, row, column]] * reach + F(column))
                down = np.rint(normal[bits[1, row, column]] * reach + F(row))
                value = depth_m[
                    U(min(max(down, ZERO), F(height - 1))), U(min(max(across, ZERO), F(width - 1)))
                ]  # fmt: skip
            if quantises:
                disparity = max(np.rint(ONE / (step * value)), ONE)
                value = ONE / (disparity * step)
            out[row, column] = value


@kernel
def hole_scores(depth_m, u, v, z, along, blots, normal, bits, patch_px, geom_ids, shine, out):
    """How likely each pixel has no depth: its slant, noise in patches, and the shine of its geom."""
    height, width = depth_m.shape
    across, down = np.empty(width, np.float32), np.empty(width, np.float32)
    # One loop per step: loops without branches and tables process several pixels at once.
    for row in range(height):
        here = depth_m[row]
        for column in range(1, width - 1):
            across[column] = (here[column + 1] - here[column - 1]) * HALF
        across[0], across[width - 1] = here[1] - here[0], here[width - 1] - here[width - 2]
        before, after = depth_m[max(row - 1, 0)], depth_m[min(row + 1, height - 1)]
        share = ONE if row in (0, height - 1) else HALF
        for column in range(width):
            down[column] = (after[column] - before[column]) * share
        scores = out[row]
        for column in range(width):
            square = ZERO
            for axis in range(3):
                part = u[axis, row, column] * across[column]
                part = part + v[axis, row, column] * down[column]
                part = part + z[axis, row, column] * here[column]
                square = square + part * part
            scores[column] = ONE - along[row, column] * here[column] / max(np.sqrt(square), TINY)
        patches = blots[row // patch_px]
        for patch in range(len(patches)):
            for column in range(patch * patch_px, min((patch + 1) * patch_px, width)):
                noise = normal[bits[row, column]] * F(0.3) + patches[patch]
                scores[column] = scores[column] + noise * F(0.35) + shine[geom_ids[row, column]]


@kernel
def punch(depth_m, scores, kept, counts):
    """Remove the depth of (n,) pixels whose score is at least that of rank `kept`, from 0.

    The score of that rank is found by its bits: 11, then 11, then 10 of them. counts: scratch memory, (2048,).
    """
    sign = np.uint32(0x80000000)
    bits = scores.view(np.uint32)
    prefix, rank = np.uint32(0), kept
    for shift, width in ((21, 11), (10, 11), (0, 10)):
        counts[:] = 0
        size = np.uint32(1 << width)
        for i in range(bits.size):
            # Bits that sort as the numbers do.
            key = ~bits[i] if bits[i] & sign else bits[i] | sign
            key = key >> np.uint32(shift)
            if key >> np.uint32(width) == prefix:
                counts[key & (size - np.uint32(1))] += 1
        place = 0
        while counts[place] <= rank:
            rank -= counts[place]
            place += 1
        prefix = (prefix << np.uint32(width)) | np.uint32(place)
    for i in range(bits.size):
        key = ~bits[i] if bits[i] & sign else bits[i] | sign
        if key >= prefix:
            depth_m[i] = ZERO


@kernel
def flow(depth_m, geom_ids, motion, matrices, ray_x, ray_y, scale, out):
    """(n, 2) velocities of the pixels of one image; motion: number of the matrix of each geom, 0 for none."""
    for i in range(depth_m.size):
        which = motion[geom_ids[i]]
        if which == 0:
            out[i, 0] = out[i, 1] = ZERO
            continue
        x, y, nearer = ray_x[i], ray_y[i], ONE / depth_m[i]
        right = matrices[2, which] + matrices[0, which] * x
        right = right + matrices[1, which] * y
        right = right + matrices[3, which] * nearer
        below = matrices[6, which] + matrices[4, which] * x
        below = below + matrices[5, which] * y
        below = below + matrices[7, which] * nearer
        ahead = matrices[10, which] + matrices[8, which] * x
        ahead = ahead + matrices[9, which] * y
        ahead = ahead + matrices[11, which] * nearer
        if ahead > BEFORE:
            out[i, 0] = scale * (right / ahead - x)
            out[i, 1] = scale * (below / ahead - y)
        else:
            out[i, 0] = out[i, 1] = ZERO
