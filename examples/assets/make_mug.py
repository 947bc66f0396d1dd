"""Write mug.obj, mug.mtl and mug.png: a mug with a handle, in millimetres, with a striped glaze."""

from pathlib import Path

import numpy as np
from PIL import Image

SIDES = 32
PROFILE_MM = ((0, 0), (30, 0), (33, 3), (33, 80), (29, 80), (29, 6), (0, 6))
"""(radius, height) of the cup, from the middle of the bottom over the outside to the inside."""
GLAZED = (2, 3)  # the ring of faces between these two points of the profile has the image
HANDLE_MM, HANDLE_RADIUS_MM, HANDLE_POINTS, HANDLE_SIDES = (40.0, 22.0), 4.5, 12, 10
"""Height of the handle's middle and radius of its arc; radius of its section."""


def cup() -> tuple[list, list, list]:
    """Vertices, plain faces and glazed faces; a glazed face has (vertex, texture coordinate) pairs."""
    vertices, rows = [], []
    for radius, height in PROFILE_MM:
        if radius == 0:
            rows.append([len(vertices)] * SIDES)
            vertices.append((0.0, 0.0, float(height)))
            continue
        rows.append(list(range(len(vertices), len(vertices) + SIDES)))
        angles = 2 * np.pi * np.arange(SIDES) / SIDES
        vertices += [(radius * np.cos(angle), radius * np.sin(angle), float(height)) for angle in angles]
    plain, glazed = [], []
    for level in range(len(PROFILE_MM) - 1):
        for side in range(SIDES):
            after = (side + 1) % SIDES
            a, b, c, d = rows[level][side], rows[level][after], rows[level + 1][after], rows[level + 1][side]
            if (level, level + 1) == GLAZED:
                low, high = 2 * side, 2 * side + 1
                glazed.append([(a, low), (b, low + 2), (c, high + 2), (d, high)])
            elif a == b:
                plain.append([a, c, d])
            elif c == d:
                plain.append([a, b, c])
            else:
                plain.append([a, b, c, d])
    return vertices, plain, glazed


def handle() -> tuple[list, list]:
    """A bent rod with closed ends, which reach into the wall of the cup."""
    middle, arc = HANDLE_MM
    ring = 2 * np.pi * np.arange(HANDLE_SIDES) / HANDLE_SIDES
    vertices, faces = [], []
    for angle in np.linspace(-np.pi / 2, np.pi / 2, HANDLE_POINTS):
        out, up = np.cos(angle), np.sin(angle)
        for turn in ring:
            reach = arc + HANDLE_RADIUS_MM * np.cos(turn)
            vertices.append((31.0 + reach * out, HANDLE_RADIUS_MM * np.sin(turn), middle + reach * up))
    for point in range(HANDLE_POINTS - 1):
        for side in range(HANDLE_SIDES):
            a, b = point * HANDLE_SIDES + side, point * HANDLE_SIDES + (side + 1) % HANDLE_SIDES
            faces.append([a, b, b + HANDLE_SIDES, a + HANDLE_SIDES])
    last = (HANDLE_POINTS - 1) * HANDLE_SIDES
    faces += [list(reversed(range(HANDLE_SIDES))), [last + side for side in range(HANDLE_SIDES)]]
    return vertices, faces


def main() -> None:
    folder = Path(__file__).parent
    vertices, plain, glazed = cup()
    rod, rod_faces = handle()
    plain += [[len(vertices) + corner for corner in face] for face in rod_faces]
    lines = ["# A mug, in millimetres. Made by make_mug.py.", "mtllib mug.mtl"]
    lines += [f"v {x:.4f} {y:.4f} {z:.4f}" for x, y, z in (*vertices, *rod)]
    lines += [f"vt {side / SIDES:.5f} {height}" for side in range(SIDES + 1) for height in (0, 1)]
    lines += ["usemtl white", *("f " + " ".join(str(corner + 1) for corner in face) for face in plain)]
    lines += ["usemtl glaze", *("f " + " ".join(f"{v + 1}/{t + 1}" for v, t in face) for face in glazed)]
    (folder / "mug.obj").write_text("\n".join(lines) + "\n")
    (folder / "mug.mtl").write_text("newmtl white\nKd 0.93 0.92 0.88\nnewmtl glaze\nKd 1 1 1\nmap_Kd mug.png\n")
    pixels = np.full((64, 64, 3), (238, 234, 224), np.uint8)
    pixels[18:26], pixels[30:34], pixels[44:46] = (30, 84, 140), (30, 84, 140), (196, 70, 48)
    Image.fromarray(pixels).save(folder / "mug.png")


if __name__ == "__main__":
    main()
