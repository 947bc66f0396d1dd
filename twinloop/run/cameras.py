"""The cameras section: a mapping from a camera's name to where it is and what it sees."""

import re
from dataclasses import asdict
from typing import Any

from twinloop.config.section import Section
from twinloop.errors import nearest
from twinloop.observe.camera import FOV_DEG, LABELS, MOST_CAMERAS, MOST_PIXELS, MOUNTS, CameraConfig, Label

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
FARTHEST_M = 3.0  # the room's walls stand 4 m away
SLOWEST_HZ = 0.1


def read_cameras(section: Section, *, control_hz: int) -> dict[str, CameraConfig]:
    names = list(section)
    if len(names) > MOST_CAMERAS:
        raise section.error(names[MOST_CAMERAS], f"is camera number {len(names)}; {MOST_CAMERAS} at most")
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise section.error(str(name), "is not a camera's name; small letters, digits and _ were expected")
    return {name: _read_camera(section.section(name), control_hz) for name in names}


def _read_camera(section: Section, control_hz: int) -> CameraConfig:
    camera = CameraConfig(
        mount=section.one_of("mount", "fixed", {mount: mount for mount in MOUNTS}),
        position_m=_point(section, "position_m"),
        look_at_m=_point(section, "look_at_m"),
        fov_deg=section.number("fov_deg", 45.0, low=FOV_DEG[0], high=FOV_DEG[1]),
        width=_pixels(section, "width"),
        height=_pixels(section, "height"),
        rate_hz=_whole(section.number("rate_hz", control_hz, low=SLOWEST_HZ, high=control_hz)),
        depth=section.flag("depth", False),
        rgb=section.flag("rgb", True),
        labels=_labels(section),
    )
    if camera.position_m == camera.look_at_m:
        raise section.error("look_at_m", f"is the camera's own position {list(camera.position_m)}; a point before it")
    if not (camera.rgb or camera.depth or camera.labels):
        raise section.error("rgb", "is false, and neither depth nor labels are asked for: this camera stores nothing")
    section.finish()
    return camera


def _point(section: Section, key: str) -> tuple[float, float, float]:
    if key not in section:
        raise section.error(key, "is missing; [x, y, z] in metres was expected")
    point = section.numbers(key)
    if len(point) != 3:
        raise section.error(key, f"has {len(point)} numbers; [x, y, z] in metres was expected")
    if max(map(abs, point)) > FARTHEST_M:
        raise section.error(key, f"is {list(point)}; metres from -{FARTHEST_M:g} to {FARTHEST_M:g} were expected")
    return point[0], point[1], point[2]


def _labels(section: Section) -> tuple[Label, ...]:
    if "labels" not in section or section.raw("labels") == []:
        return ()
    given = section.texts("labels")
    for name in given:
        if name in ("rgb", "depth"):
            raise section.error("labels", f"has {name!r}, which is a key of its own: write {name}: true")
        if name not in LABELS:
            raise section.error("labels", f"has {name!r}; {nearest(name, LABELS)}")
    if len(set(given)) < len(given):
        raise section.error("labels", f"is {list(given)}; each name once was expected")
    return tuple(label for label in LABELS if label in given)


def _whole(rate_hz: float) -> float:
    """5.0 and 5 are one rate and must be one digest."""
    return int(rate_hz) if rate_hz == int(rate_hz) else rate_hz


def _pixels(section: Section, key: str) -> int:
    value = section.integer(key, 128, low=2, high=MOST_PIXELS)
    if value % 2:
        raise section.error(key, f"is {value}; video codecs want an even number, e.g. {value + 1}")
    return value


def written_cameras(cameras: dict[str, CameraConfig]) -> dict[str, Any]:
    """As a config file says it. What came later is written only where it says something, so that digests stay."""
    return {name: _written(camera) for name, camera in cameras.items()}


def _written(camera: CameraConfig) -> dict[str, Any]:
    values = asdict(camera) | {"position_m": list(camera.position_m), "look_at_m": list(camera.look_at_m)}
    rgb, labels = values.pop("rgb"), values.pop("labels")
    return values | ({} if rgb else {"rgb": False}) | ({"labels": list(labels)} if labels else {})
