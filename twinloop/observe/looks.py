"""Looks: the stage of a twin with the appearance that an episode has drawn, as a model of its own."""

from collections.abc import Mapping

import mujoco

from twinloop.observe.appearance import dress, paint_textures
from twinloop.observe.camera import CameraConfig
from twinloop.observe.image_settings import Values
from twinloop.observe.stage import build_stage
from twinloop.twin.twin import Twin


def dressed_model(twin: Twin, cameras: Mapping[str, CameraConfig], values: Values) -> mujoco.MjModel:
    """Model with the room, lights, materials and cameras of one draw. It needs no OpenGL.

    Args:
        values: column of the parameter table -> the episode's value.
    """
    stage = build_stage(twin, cameras)
    dress(stage, values)
    paint_textures(stage, values)
    for name, camera in cameras.items():
        stage.model.cam_resolution[stage.model.camera(name).id] = camera.width, camera.height
    return stage.model
