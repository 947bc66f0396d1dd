"""Clip: rendered images of one camera in one episode, with ground truth."""

from dataclasses import dataclass

import numpy as np

from twinloop.observe.camera import CameraConfig, Intrinsics
from twinloop.observe.drawn_frames import look_up
from twinloop.observe.label_ids import CLASSES, LabelIds

__all__ = ["CLASSES", "Clip"]


@dataclass(frozen=True)
class Clip:
    """f images of h × w pixels. Poses are 4 × 4; camera frames have x right, y down, z forward.

    Attributes:
        ticks: (f,) times of the images in control periods of the episode; fractional if the rates do not divide.
        rgb: (f, h, w, 3) uint8.
        depth_m: (f, h, w) float32, along the camera's z axis.
        geom_ids: (f, h, w) int16 geoms of the stage, -1 for none; None if masks were not requested.
        camera_to_world, tool_to_world: (f, 4, 4).
        things_to_world: (f, things, 4, 4) the movable things of the scene.
        pixel_velocity: (f, h, w, 2) float32 pixels per second, u and v; None unless the draw has a shutter.
        light_px: (f, 3) pixel u, v of the brightest lamp, and 1 if it is in front of the camera, else 0.
        half_extents_m: (things, 3) as drawn.
        things: ids and names of the bodies that geoms belong to.
    """

    camera: CameraConfig
    intrinsics: Intrinsics
    ticks: np.ndarray
    rgb: np.ndarray
    depth_m: np.ndarray
    geom_ids: np.ndarray | None
    camera_to_world: np.ndarray
    things_to_world: np.ndarray
    tool_to_world: np.ndarray
    pixel_velocity: np.ndarray | None
    light_px: np.ndarray
    half_extents_m: np.ndarray
    things: LabelIds

    @property
    def names(self) -> tuple[str, ...]:
        return self.things.names

    @property
    def instance_ids(self) -> np.ndarray:
        """(f, h, w) id of the body in each pixel, 0 for the background; `names` gives the names."""
        return look_up(self.things.instances, self.geoms)

    @property
    def class_ids(self) -> np.ndarray:
        """(f, h, w) uint8: index into CLASSES."""
        return look_up(self.things.classes, self.geoms)

    @property
    def geoms(self) -> np.ndarray:
        """`geom_ids` of a clip with masks."""
        if self.geom_ids is None:
            raise ValueError("this clip was filmed without masks; film it with masks=True")
        return self.geom_ids
