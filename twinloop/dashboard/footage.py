"""The page of a camera pose from films: held-out frames with the outlines of the filmed robot and of the twin's."""

import base64
from pathlib import Path

import numpy as np

from twinloop.calibrate.footage.alignment import outline
from twinloop.calibrate.footage.film_twin import FilmTwin
from twinloop.dashboard.formatting import interval, number
from twinloop.dashboard.images import png_bytes
from twinloop.dashboard.page import render_page, write_page
from twinloop.durable import replace_file

TWIN_COLOUR, FILM_COLOUR = (40, 230, 60), (250, 220, 40)
TINT = 0.3


def write_footage_page(twin: FilmTwin, target: Path) -> Path:
    return write_page(target, render_footage(twin))


def render_footage(twin: FilmTwin) -> str:
    held, camera, around = twin.held_out, twin.camera, twin.surroundings
    light = "not found" if around.light_deg is None else " and ".join(f"{angle:.0f}°" for angle in around.light_deg)
    return render_page(
        "footage.html",
        title=f"{twin.name} · films",
        heading=f"Camera {twin.name}, from films",
        lead=f"outlines differ by {number(held.error_px)} pixels on {len(held.frames)} held-out frames",
        media=("pictures",),
        overlays=[_base64(overlaid_outlines(*images)) for images in twin.overlays],
        alignment=[
            (name, str(len(side.frames)), number(side.error_px), interval(*side.error_interval_px),
             number(side.worst_px), number(side.iou), str(side.missed))
            for name, side in (("fitted", twin.fitted), ("held out", twin.held_out))
        ],
        facts=[
            ("position", f"{list(camera.position_m)} m"), ("looks at", f"{list(camera.look_at_m)} m"),
            ("field of view", f"{camera.fov_deg:.1f}°"), ("roll", f"{camera.roll_deg:.1f}°"),
            ("table above the robot's base", f"{1000 * around.table_m[0]:.0f} to {1000 * around.table_m[1]:.0f} mm"),
            ("strongest light, azimuth and elevation", light), ("colour of the table", str(list(around.table_rgb))),
        ],
        zeros=[(name, f"{np.rad2deg(zero):.2f}°") for name, zero in zip(twin.joints, twin.fit.zeros_rad, strict=True)],
        backgrounds=[_base64(median) for median in twin.medians],
    )  # fmt: skip


def overlaid_outlines(film: np.ndarray, twin: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(h, w, 3) uint8: the frame with the twin's robot tinted, and both outlines."""
    image = film.astype(float)
    image[twin] = (1 - TINT) * image[twin] + TINT * np.array(TWIN_COLOUR)
    image[outline(mask)] = FILM_COLOUR
    image[outline(twin)] = TWIN_COLOUR
    return np.round(image).astype(np.uint8)


def write_backgrounds(twin: FilmTwin, folder: Path) -> list[Path]:
    """Write one background image per film, without the moving parts, for `background` of a camera."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number_of_film, median in enumerate(twin.medians):
        path = folder / f"{twin.name}-{number_of_film}.png"
        replace_file(path, png_bytes(median), scratch=folder)
        paths.append(path)
    return paths


def _base64(image: np.ndarray) -> str:
    return base64.b64encode(png_bytes(np.ascontiguousarray(image))).decode()
