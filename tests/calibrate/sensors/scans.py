"""Scans as the twin's own depth camera would make them of a slanted plane, and how they are written."""

from pathlib import Path

import numpy as np

from twinloop.calibrate.sensors.pcd import Scan
from twinloop.observe.depth import jittered, quantised
from twinloop.observe.noise import NormalStream

HEIGHT, WIDTH, FOCAL = 240, 320, 262.5


def plane_scan(spread_px: float, step_mm: float, rng: np.random.Generator) -> Scan:
    x = (np.arange(WIDTH) - WIDTH / 2) / FOCAL
    y = (np.arange(HEIGHT) - HEIGHT / 2) / FOCAL
    truth = (1 / (1.2 + 0.9 * y[:, None] + 0.1 * x[None, :])).astype(np.float32)
    noise = NormalStream(rng).normals(2, HEIGHT, WIDTH)
    z = quantised(jittered(truth, spread_px, noise), step_mm).astype(float)
    return Scan("plane", np.stack([z * x[None, :], z * y[:, None], z], axis=-1))


def write_pcd(path: Path, scan: Scan, form: str) -> None:
    height, width, _ = scan.points_m.shape
    head = (
        "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
        f"WIDTH {width}\nHEIGHT {height}\nPOINTS {width * height}\nDATA {form}\n"
    ).encode()
    rows = scan.points_m.reshape(-1, 3).astype("<f4")
    match form:
        case "ascii":
            body = "\n".join(" ".join(map(repr, map(float, row))) for row in rows).encode()
        case "binary":
            body = rows.tobytes()
        case _:
            plain = rows.T.tobytes()
            packed = _packed(plain)
            body = np.array([len(packed), len(plain)], "<u4").tobytes() + packed
    path.write_bytes(head + body)


def _packed(plain: bytes) -> bytes:
    """LZF without a search: a run of one byte is a repeat that runs into itself, all else is plain."""
    out, place = bytearray(), 0
    while place < len(plain):
        run = 1
        while run < 200 and place + run < len(plain) and plain[place + run] == plain[place]:
            run += 1
        if run >= 12:
            out += bytes([0, plain[place], 7 << 5, run - 1 - 9, 0])
            place += run
        else:
            out += bytes([0, plain[place]])
            place += 1
    return bytes(out)
