"""The Description of the robot in a twin: the manufacturer's limits, with the feature names of datasets."""

import numpy as np

from twinloop.deploy.robot import Description, Limits
from twinloop.observe.features import features_of
from twinloop.observe.sensors import ObserveConfig
from twinloop.twin.twin import Twin

WORKSPACE_M = ((0.1, 0.75), (-0.5, 0.5), (0.005, 0.75))
"""Box above the table and in front of the base. The finger tips are 8 mm below the tool."""
FULL_SPEED_AFTER_S = 0.2
"""Time to full speed, for robots without acceleration limits from the manufacturer."""


def description_of(twin: Twin, *, id: str, lockstep: bool) -> Description:
    features = {feature.name: feature for feature in features_of(twin, ObserveConfig())}
    observed = tuple(feature for name, feature in features.items() if name.startswith("observation."))
    return Description(
        robot=twin.robot.name,
        id=id,
        rate_hz=float(twin.control_hz),
        observed=observed,
        action=features["action"],
        limits=_limits(twin),
        home=twin.robot.home,
        lockstep=lockstep,
        simulated=True,
    )


def _limits(twin: Twin) -> Limits:
    robot, arms = twin.robot, twin.robot.arms
    velocity = np.array(robot.velocity_limits_rad_s)
    acceleration = np.array(robot.acceleration_limits_rad_s2 or velocity / FULL_SPEED_AFTER_S)
    openings = [sorted((arm.gripper.closed, arm.gripper.open)) for arm in arms]
    grip_n = np.abs(twin.model.actuator_forcerange[twin.gripper_controls]).max(axis=1)
    unlimited = np.full(len(arms), np.inf)
    return Limits(
        position=np.vstack([twin.arm_limits_rad, *openings]),
        velocity=np.append(velocity, unlimited),
        acceleration=np.append(acceleration, unlimited),
        effort=np.append(robot.torque_limits_nm, np.where(grip_n > 0, grip_n, np.inf)),
        workspace_m=np.array(WORKSPACE_M),
    )
