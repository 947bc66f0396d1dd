"""Numba functions for the camera model; see `kernels`. Import it only if Numba is installed.

All numbers are float32: a literal would make Numba compute in float64, unlike NumPy.
"""

import numpy as np
from numba import njit

F = np.float32
ZERO, HALF, ONE = F(0), F(0.5), F(1)
TINY = F(1e-12)
BEFORE = F(1e-6)

kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def bilinear(image, first, width, across, down, out):
    """Fixed-point interpolation of (pixels, 3) bytes at n places; see `sampling.Between`."""
    for i in range(first.size):
        left, share, below = first[i], np.uint32(across[i, 0]), np.uint32(down[i, 0])
        for channel in range(3):
            upper = image[left, channel] * (np.uint32(256) - share) + image[left + 1, channel] * share
            upper = (upper + np.uint32(128)) >> np.uint32(8)
            lower = image[left + width, channel] * (np.uint32(256) - share)
            lower = (lower + image[left + width + 1, channel] * share + np.uint32(128)) >> np.uint32(8)
            mixed = upper * (np.uint32(256) - below) + lower * below
            out[i, channel] = np.uint8((mixed + np.uint32(128)) >> np.uint32(8))


@kernel
def fastest_in_blocks(velocity, block_px, square, index):
    """Largest squared velocity in each block, and the number of its last pixel with that velocity."""
    height, width = velocity.shape[:2]
    square[:] = ZERO
    for row in range(height):
        for column in range(width):
            u, v = velocity[row, column, 0], velocity[row, column, 1]
            size = u * u + v * v
            block_row, block_column = row // block_px, column // block_px
            if size >= square[block_row, block_column]:
                square[block_row, block_column] = size
                index[block_row, block_column] = row * width + column


@kernel
def incident(pixels, linear, veil, flared, gain, out):
    """Light on the sensor: (n,) uint8 values to (n,) light."""
    for i in range(pixels.size):
        light = linear[pixels[i]]
        if flared:
            light = light + veil[i]
        out[i] = light * gain[i]


@kernel
def expose(light, blocks, moving, block_px, row_s, moments_s, out):
    """Average (h, w, 3) light along the paths of the moving blocks; the others are copied."""
    height, width = light.shape[:2]
    samples = F(len(moments_s))
    last_x, last_y = F(2 * width - 2), F(2 * height - 2)
    for row in range(height):
        for column in range(width):
            block_row, block_column = row // block_px, column // block_px
            if not moving[block_row, block_column]:
                for channel in range(3):
                    out[row, column, channel] = light[row, column, channel]
                continue
            across = F(2) * blocks[block_row, block_column, 0]
            down = F(2) * blocks[block_row, block_column, 1]
            red, green, blue = ZERO, ZERO, ZERO
            for moment in range(len(moments_s)):
                since = row_s[row] + moments_s[moment]
                x = int(min(max(np.rint(F(2 * column) - across * since), ZERO), last_x))
                y = int(min(max(np.rint(F(2 * row) - down * since), ZERO), last_y))
                left, top = x >> 1, y >> 1
                right, below = left + (x & 1), top + (y & 1)
                for channel in range(3):
                    value = light[top, left, channel]
                    if x & 1:
                        value = (value + light[top, right, channel]) * HALF
                    if y & 1:
                        lower = light[below, left, channel]
                        if x & 1:
                            lower = (lower + light[below, right, channel]) * HALF
                        value = (value + lower) * HALF
                    if channel == 0:
                        red = red + value
                    elif channel == 1:
                        green = green + value
                    else:
                        blue = blue + value
            out[row, column, 0] = red / samples
            out[row, column, 1] = green / samples
            out[row, column, 2] = blue / samples


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
def _level(light, photon_bits, reading_bits, normal, noisy, shot, read, roots, levels):
    """Level of one pixel in one channel: sensor saturation, noise and gamma."""
    value = min(max(light, ZERO), ONE)
    if not noisy:
        return levels[int(np.rint(np.sqrt(value) * roots))]
    photons = normal[photon_bits] * shot
    photons = photons * np.sqrt(value)
    photons = photons + value
    value = min(max(photons, ZERO), ONE)
    return levels[int(np.rint(np.sqrt(value) * roots))] + normal[reading_bits] * read


@kernel
def _byte(level):
    return np.uint8(min(max(np.rint(level), ZERO), F(255)))


@kernel
def read_out(
    light, normal, photons, readings, noisy, shot, read, roots, levels, balance, luma, saturation, out
):  # fmt: skip
    """Stored values of (n, 3) light: levels, white balance, saturation of colours, rounding."""
    for i in range(len(light)):
        j = i if noisy else 0
        red, green, blue = (
            _level(light[i, 0], photons[j, 0], readings[j, 0], normal, noisy, shot, read, roots, levels) * balance[0],
            _level(light[i, 1], photons[j, 1], readings[j, 1], normal, noisy, shot, read, roots, levels) * balance[1],
            _level(light[i, 2], photons[j, 2], readings[j, 2], normal, noisy, shot, read, roots, levels) * balance[2],
        )
        if saturation != ONE:
            grey = red * luma[0] + green * luma[1]
            grey = grey + blue * luma[2]
            red = grey + saturation * (red - grey)
            green = grey + saturation * (green - grey)
            blue = grey + saturation * (blue - grey)
        out[i, 0], out[i, 1], out[i, 2] = _byte(red), _byte(green), _byte(blue)


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
                    int(min(max(down, ZERO), F(height - 1))), int(min(max(across, ZERO), F(width - 1)))
                ]  # fmt: skip
            if quantises:
                disparity = max(np.rint(ONE / (step * value)), ONE)
                value = ONE / (disparity * step)
            out[row, column] = value


@kernel
def hole_scores(depth_m, u, v, z, along, blots, normal, bits, patch_px, out):
    """How likely each pixel has no depth: its slant, and noise in patches."""
    height, width = depth_m.shape
    for row in range(height):
        for column in range(width):
            here = depth_m[row, column]
            if column == 0:
                across = depth_m[row, 1] - here
            elif column == width - 1:
                across = here - depth_m[row, column - 1]
            else:
                across = (depth_m[row, column + 1] - depth_m[row, column - 1]) * HALF
            if row == 0:
                down = depth_m[1, column] - here
            elif row == height - 1:
                down = here - depth_m[row - 1, column]
            else:
                down = (depth_m[row + 1, column] - depth_m[row - 1, column]) * HALF
            square = ZERO
            for axis in range(3):
                part = u[axis, row, column] * across
                part = part + v[axis, row, column] * down
                part = part + z[axis, row, column] * here
                square = square + part * part
            slant = ONE - along[row, column] * here / max(np.sqrt(square), TINY)
            noise = normal[bits[row, column]] * F(0.3) + blots[row // patch_px, column // patch_px]
            out[row, column] = slant + noise * F(0.35)


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
