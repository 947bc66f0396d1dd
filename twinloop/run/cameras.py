"""The cameras section: a mapping from a camera's name to its pose, rate and recorded features."""

from dataclasses import replace

from twinloop.config.compound import Mapped
from twinloop.config.record import Nested, read_record
from twinloop.config.section import Section
from twinloop.observe.camera import LABELS, MOST_CAMERAS, CameraConfig

CAMERAS = Mapped(
    item=Nested(record=CameraConfig),
    names="[a-z][a-z0-9_]{0,31}",
    form="small letters, digits and _",
    most=MOST_CAMERAS,
    what="camera",
    help="cameras by name; none by default",
)


def read_cameras(section: Section, *, control_hz: int) -> dict[str, CameraConfig]:
    CAMERAS.check_names(section)
    return {name: _read_camera(section.section(name), control_hz) for name in section}


def _read_camera(section: Section, control_hz: int) -> CameraConfig:
    labels = section.raw("labels")
    for name in labels if isinstance(labels, list) else ():
        if name in ("rgb", "depth"):
            raise section.error("labels", f"has {name!r}, which is a key of its own: write {name}: true")
    camera = read_record(CameraConfig, section)
    rate_hz = control_hz if camera.rate_hz is None else camera.rate_hz
    if rate_hz > control_hz:
        raise section.error("rate_hz", f"is {rate_hz:g}; it must be at most rollout.control_hz, {control_hz}")
    # 5.0 and 5 are the same rate, and the order of labels does not matter, so they must give the same digest.
    rate_hz = int(rate_hz) if rate_hz == int(rate_hz) else rate_hz
    return replace(camera, rate_hz=rate_hz, labels=tuple(label for label in LABELS if label in camera.labels))
