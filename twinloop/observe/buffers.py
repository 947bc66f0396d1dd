"""Buffers: raw images of one camera, as OpenGL returns them."""

import mujoco
import numpy as np

from twinloop.observe.camera import CameraConfig
from twinloop.observe.stage import FAR_M, NEAR_M


class Buffers:
    """Buffers for `count` images. The bottom row comes first, and depth is not in metres yet."""

    def __init__(self, camera: CameraConfig, count: int, masks: bool):
        shape = (count, camera.height, camera.width)
        self.viewport = mujoco.MjrRect(0, 0, camera.width, camera.height)
        self.rgb = np.zeros((*shape, 3), np.uint8)
        self.depth = np.zeros(shape, np.float32)
        self.ids = np.zeros(shape, np.int16) if masks else None
        self.colours = np.zeros((*shape[1:], 3), np.uint8)

    def images(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        # The buffer holds 1 at the near plane and 0 at the far one, in proportion to 1/z.
        near, far = np.float32(NEAR_M), np.float32(FAR_M)
        metres = near * far / (near + self.depth[:, ::-1] * (far - near))
        ids = None if self.ids is None else np.ascontiguousarray(self.ids[:, ::-1])
        return np.ascontiguousarray(self.rgb[:, ::-1]), metres, ids
