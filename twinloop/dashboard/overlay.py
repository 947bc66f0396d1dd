"""Draw labels over an image: tinted masks, boxes, the object's 3-D box and keypoints."""

import numpy as np

from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.labels import CORNERS, PER_THING, Labels

COLOURS = {
    "robot": (70, 130, 220), "object": (240, 90, 40), "table": (150, 120, 90), "target": (40, 170, 90),
    "clutter": (200, 170, 40), "person": (220, 120, 180), "fixture": (90, 170, 170), "background": (190, 190, 190),
}  # fmt: skip
UNMARKED = ("table", "background")
SEEN, HIDDEN = (255, 230, 60), (150, 60, 150)
TINT = 0.25
# Corners of a box that share an edge differ in one coordinate.
EDGES = [(a, b) for a in range(8) for b in range(a) if (CORNERS[a] != CORNERS[b]).sum() == 1]


def overlaid(rgb: np.ndarray, clip: Clip, labels: Labels, frame: int) -> np.ndarray:
    """(h, w, 3) uint8: one image with its labels. The table gets no box, because it fills the view."""
    image = rgb.astype(float)
    classes = clip.class_ids[frame]
    for name, colour in COLOURS.items():
        if name not in UNMARKED:
            where = classes == CLASSES.index(name)
            image[where] = (1 - TINT) * image[where] + TINT * np.array(colour)
    drawn = np.round(image).astype(np.uint8)
    for kind, box in zip(clip.things.class_of, labels.boxes_px[frame], strict=True):
        name = CLASSES[kind]
        if name not in UNMARKED and np.isfinite(box).all():
            left, top, right, bottom = box - (0, 0, 1, 1)
            corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
            for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
                _line(drawn, np.array(start), np.array(end), COLOURS[name])
    points, visible = labels.keypoints.px[frame], labels.keypoints.visible[frame]
    for number in range(len(clip.things.tracked)):
        centre = 1 + number * PER_THING
        for a, b in EDGES:
            seen = visible[centre + 1 + a] and visible[centre + 1 + b]
            _line(drawn, points[centre + 1 + a], points[centre + 1 + b], SEEN if seen else HIDDEN)
        _dot(drawn, points[centre], COLOURS["object"] if visible[centre] else HIDDEN)
    _dot(drawn, points[0], SEEN if visible[0] else HIDDEN)
    return drawn


def _line(image: np.ndarray, start: np.ndarray, end: np.ndarray, colour: tuple[int, int, int]) -> None:
    if not (np.isfinite(start).all() and np.isfinite(end).all()):
        return
    steps = int(min(np.abs(end - start).max(), 4096)) + 1
    points = np.floor(start + np.linspace(0, 1, steps + 1)[:, None] * (end - start)).astype(int)
    inside = ((points >= 0) & (points < (image.shape[1], image.shape[0]))).all(axis=1)
    image[points[inside, 1], points[inside, 0]] = colour


def _dot(image: np.ndarray, point: np.ndarray, colour: tuple[int, int, int]) -> None:
    if np.isfinite(point).all():
        for shift in (-1, 0, 1):
            _line(image, np.add(point, (shift, -1)), np.add(point, (shift, 1)), colour)
