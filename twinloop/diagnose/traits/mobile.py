"""Traces of robots with legs or wheels."""

from collections.abc import Mapping

import numpy as np

from twinloop.diagnose.traits.drive_episode import DriveTrace, WheelsModel
from twinloop.diagnose.traits.walk_episode import LegsModel, WalkTrace
from twinloop.twin.legs.walk_twin import WalkTwin
from twinloop.twin.wheels.wheel_twin import WheelTwin

MobileModel = LegsModel | WheelsModel
MobileTrace = WalkTrace | DriveTrace


def mobile_model(twin: WalkTwin | WheelTwin) -> MobileModel:
    """The kinematics that the traits of a robot need."""
    return LegsModel(twin) if isinstance(twin, WalkTwin) else WheelsModel(twin)


def mobile_trace(frames: Mapping[str, np.ndarray], *, success: bool, robot: MobileModel) -> MobileTrace:
    """The trace of one episode, with the features of a dataset."""
    if isinstance(robot, LegsModel):
        return WalkTrace(frames, success, robot)
    return DriveTrace(frames, success, robot)
