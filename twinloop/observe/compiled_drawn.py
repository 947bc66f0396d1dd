"""Numba functions for drawn frames and masks; see `compiled_kernels`."""

from twinloop.observe.compiled_kernels import U, kernel


@kernel
def unpack(rgba, stored, near_m, least, geom_of, places, rgb, ids, depth_m):
    """Colours, geoms and depth of (f, 4 n) drawn bytes and (f, n) stored depths; see `drawn_frames.unpack`."""
    one, two, three, four = U(1), U(2), U(3), U(4)
    for frame in range(len(rgba)):
        pixels, depths, place = rgba[frame], stored[frame], places[frame]
        colours, geoms, metres = rgb[place], ids[place], depth_m[place]
        for i in range(U(depths.size)):
            metres[i] = near_m / max(depths[i], least)
        for i in range(U(depths.size)):
            start, end = four * i, three * i
            colours[end], colours[end + one], colours[end + two] = (
                pixels[start], pixels[start + one], pixels[start + two]
            )  # fmt: skip
            geoms[i] = geom_of[U(pixels[start + three])]


@kernel
def look_up(ids, table, out):
    """Entries of a table for (n,) ids from -1; the entry of -1 is the last."""
    last = U(table.size - 1)
    for i in range(U(ids.size)):
        place = ids[i]
        out[i] = table[U(place) if place >= 0 else last]
