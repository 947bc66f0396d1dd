"""The cameras section: a mapping from a camera's name to where it is and what it sees."""

import re
from dataclasses import asdict
from typing import Any

from twinloop.observe.camera import FOV_DEG, MOST_CAMERAS, MOST_PIXELS, MOUNTS, CameraConfig
from twinloop.pipeline.section import Section

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
FARTHEST_M = 3.0  # the room's walls stand 4 m away


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
        rate_hz=section.integer("rate_hz", control_hz, low=1, high=control_hz),
        depth=section.flag("depth", False),
    )
    if camera.position_m == camera.look_at_m:
        raise section.error("look_at_m", f"is the camera's own position {list(camera.position_m)}; a point before it")
    if control_hz % camera.rate_hz:
        whole = [rate for rate in range(1, control_hz + 1) if control_hz % rate == 0]
        raise section.error(
            "rate_hz",
            f"is {camera.rate_hz}; the control rate of {control_hz} Hz must be a whole multiple of it. "
            f"Valid here: {', '.join(map(str, whole))}",
        )
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


def _pixels(section: Section, key: str) -> int:
    value = section.integer(key, 128, low=2, high=MOST_PIXELS)
    if value % 2:
        raise section.error(key, f"is {value}; video codecs want an even number, e.g. {value + 1}")
    return value


def written_cameras(cameras: dict[str, CameraConfig]) -> dict[str, Any]:
    """As a config file says it."""
    return {
        name: asdict(camera) | {"position_m": list(camera.position_m), "look_at_m": list(camera.look_at_m)}
        for name, camera in cameras.items()
    }
