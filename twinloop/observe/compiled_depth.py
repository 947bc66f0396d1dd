"""Numba functions for depth images and for the motion of pixels; see `compiled_kernels`."""

import numpy as np

from twinloop.observe.compiled_kernels import BEFORE, HALF, HIGH, LOW, ONE, TINY, ZERO, F, U, _bits, kernel


@kernel
def jitter(depth_m, spread_px, farthest_m, normal, keys, step, quantises, out):
    """Read each depth of (f, h, w) images beside its pixel, and quantise it."""
    frames, height, width = depth_m.shape
    for frame in range(frames):
        image = depth_m[frame]
        for row in range(height):
            position = (frame * height + row) * width
            line = out[frame, row]
            for column in range(width):
                value = image[row, column]
                if spread_px > ZERO:
                    reach = spread_px * min(value, farthest_m)
                    bits = _bits(position + column, keys[0], keys[1])
                    across = np.rint(normal[U(bits & LOW)] * reach + F(column))
                    down = np.rint(normal[U(bits >> HIGH)] * reach + F(row))
                    value = image[
                        U(min(max(down, ZERO), F(height - 1))), U(min(max(across, ZERO), F(width - 1)))
                    ]  # fmt: skip
                line[column] = value
            if quantises:
                for column in range(width):
                    disparity = max(np.rint(ONE / (step * line[column])), ONE)
                    line[column] = ONE / (disparity * step)


@kernel
def holes(
    truth_m, u, v, z, along, blots, normal, keys, patch_px, mirrored, geom_ids, shine, kept, lines, score, flat_score,
    counts, flat_depth_m,
):  # fmt: skip
    """Remove the depth of those pixels of (f, h, w) images whose score is at least that of rank `kept`, from 0.

    Args:
        blots: (f, rows, columns) noise of patches.
        lines, score, counts: scratch memory, (2, w), (h, w) and (2048,).
        flat_depth_m: (f, h w), changed in place.
    """
    for frame in range(len(truth_m)):
        _hole_scores(
            truth_m[frame], u, v, z, along, blots[frame], normal, frame * score.size, keys, patch_px, mirrored,
            geom_ids[frame if mirrored else 0], shine, lines[0], lines[1], score,
        )  # fmt: skip
        _punch(flat_depth_m[frame], flat_score, kept, counts)


@kernel
def _hole_scores(
    depth_m, u, v, z, along, blots, normal, first, keys, patch_px, mirrored, geom_ids, shine, across, down, out
):  # fmt: skip
    """How likely each pixel has no depth: its slant, noise in patches, and the shine of its geom."""
    height, width = depth_m.shape
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
        patches, position = blots[row // patch_px], first + row * width
        for column in range(width):
            across[column] = normal[U(_bits(position + column, keys[0], keys[1]) & LOW)]
        for patch in range(len(patches)):
            for column in range(patch * patch_px, min((patch + 1) * patch_px, width)):
                noise = across[column] * F(0.3) + patches[patch]
                scores[column] = scores[column] + noise * F(0.35)
        if mirrored:
            for column in range(width):
                scores[column] = scores[column] + shine[geom_ids[row, column]]


@kernel
def _punch(depth_m, scores, kept, counts):
    """Remove the depth of (n,) pixels whose score is at least that of rank `kept`, from 0.

    The score of that rank is found by its bits: 11, then 11, then 10 of them. counts: scratch memory, (2048,).
    """
    sign = np.uint32(0x80000000)
    bits = scores.view(np.uint32)
    prefix, rank = np.uint32(0), kept
    for shift, width in ((21, 11), (10, 11), (0, 10)):
        for place in range(counts.size):
            counts[place] = 0
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
    """(f, n, 2) velocities of the pixels; motion: (f, geoms + 1) number of the matrix of each geom, 0 for none."""
    for frame in range(len(depth_m)):
        _flow(
            depth_m[frame], geom_ids[frame], motion[frame], matrices[frame], ray_x, ray_y, scale, out[frame]
        )  # fmt: skip


@kernel
def _flow(depth_m, geom_ids, motion, matrices, ray_x, ray_y, scale, out):
    """(n, 2) velocities of the pixels of one image."""
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
