"""(Episodes, Draws) -> Recording: sensor readings, camera images and labels."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.observe.camera import CameraConfig as CameraConfig
    from twinloop.observe.recording import Feature as Feature
    from twinloop.observe.recording import Recording as Recording
    from twinloop.observe.renderer import Renderer as Renderer
    from twinloop.observe.sensors import ObserveConfig as ObserveConfig

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Recording": "recording",
        "Feature": "recording",
        "ObserveConfig": "sensors",
        "CameraConfig": "camera",
        "Renderer": "renderer",
    },
)
